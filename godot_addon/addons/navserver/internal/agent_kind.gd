extends RefCounted
## What agents share that ask the same map in the same way: the batch that their questions go to.
##
## Each finds it by its batch once; from then on one look tells where a question belongs.

const AgentBatch := preload("agent_batch.gd")

## The batch that is being gathered; null between frames. It has the kind too, so whoever sends it
## takes it out.
var batch: AgentBatch = null
