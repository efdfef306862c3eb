"""A path tried at once, in the thread that asks: most are so short that to queue takes longer."""

from __future__ import annotations

from typing import NamedTuple

from navserver.search.results import PathResult
from navserver.service.path_tickets import TRIAL_EXPANSIONS, is_cut_short
from navserver.service.requests import SearchOptions
from navserver.service.world import World
from navserver.status import InputError

__all__ = ["Trial", "try_path"]


class Trial(NamedTuple):
    """What came of a first try."""

    result: PathResult | None
    """None if it takes longer than a first try to find it."""


def try_path(
    world: World, options: SearchOptions, start: tuple[int, int], goal: tuple[int, int]
) -> Trial:
    """Search for a path on the newest version of the map, but not for long.

    Parameters
    ----------
    world : World
        Where.
    options : SearchOptions
        How.
    start, goal : (int, int)
        Cells.

    Returns
    -------
    Trial
        Its result is kept for others if it is worth that.

    Raises
    ------
    InputError
        If a cell lies outside the map.
    """
    replica = world.replicas.pin()
    try:
        searcher = replica.borrow(options, TRIAL_EXPANSIONS)
        try:
            result = searcher.search.find_path(start, goal)
        except InputError:
            replica.give_back(searcher)
            raise
        replica.give_back(searcher)
    finally:
        world.replicas.unpin(replica)
    expanded = result.metrics.expanded
    limit = min(options.max_expansions or TRIAL_EXPANSIONS, TRIAL_EXPANSIONS)
    if expanded >= limit and is_cut_short(int(result.detail), expanded, options):
        return Trial(None)
    world.cache.put(options, result)
    return Trial(result)
