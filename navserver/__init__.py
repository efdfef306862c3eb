"""Pathfinding over flat arrays for games: the core of a sidecar for Godot and other engines."""

from navserver._jit import warm_up
from navserver.search.astar import AStar, find_path
from navserver.search.costs import CostModel
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic
from navserver.search.line_of_sight import RayHit, RayHits, line_of_sight, raycast, raycasts
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.nodes import CancelFlag, SearchMetrics, SearchTrace
from navserver.search.profile import DEFAULT_PROFILE, SOLID, Profile
from navserver.search.results import PathResult
from navserver.search.smoothing import (
    pull_string,
    pull_strings,
    round_path,
    round_paths,
    simplify_path,
    simplify_paths,
)
from navserver.status import (
    CellError,
    Detail,
    GridChangedError,
    InputError,
    MapFileError,
    NavserverError,
    NoPathError,
    Status,
)

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_PROFILE",
    "SOLID",
    "AStar",
    "CancelFlag",
    "CellError",
    "CostModel",
    "Detail",
    "DiagonalMode",
    "Grid",
    "GridChangedError",
    "Heuristic",
    "InputError",
    "MapFileError",
    "Movement",
    "NavserverError",
    "NoPathError",
    "PathResult",
    "Profile",
    "RayHit",
    "RayHits",
    "SearchMetrics",
    "SearchTrace",
    "Status",
    "find_path",
    "line_of_sight",
    "pull_string",
    "pull_strings",
    "raycast",
    "raycasts",
    "round_path",
    "round_paths",
    "simplify_path",
    "simplify_paths",
    "warm_up",
]
