extends RefCounted
## What agents share that ask the same map in the same way: the batch that their questions go to.
##
## An agent takes the kind of the batch that it joined; from then on one look at it tells where the
## next question belongs.

const AgentBatch := preload("agent_batch.gd")

## The batch that is being gathered; null between frames. The batch refers to its kind, so
## AgentBatch.close() ends the cycle.
var batch: AgentBatch = null
