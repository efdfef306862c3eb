"""Pathfinding over flat arrays for games: the core of a sidecar for Godot and other engines."""

from navserver._jit import warm_up
from navserver.movers.columns import MoverState, StuckReason
from navserver.movers.events import Events
from navserver.movers.movers import Movers
from navserver.movers.orca import Avoidance
from navserver.movers.proximity import ProximityIndex
from navserver.movers.saving import hash_movers, load_movers, save_movers
from navserver.movers.stepper import Stepper
from navserver.search.astar import AStar, find_path
from navserver.search.batch import BatchSearch, PathBatch, find_paths
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.costs import CostModel
from navserver.search.distance_map import DistanceMap, distance_map
from navserver.search.flow_field import FlowField, FlowFieldBuild, FlowFields
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic
from navserver.search.islands import connected, island_labels
from navserver.search.line_of_sight import RayHit, RayHits, line_of_sight, raycast, raycasts
from navserver.search.many import (
    NearestGoal,
    OneToMany,
    Reachable,
    cost_matrix,
    nearest_goal,
    reachable,
)
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.search.nodes import CancelFlag, SearchMetrics, SearchTrace
from navserver.search.openings import what_opens
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
    KeywordError,
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
    "Avoidance",
    "BatchSearch",
    "CancelFlag",
    "CellError",
    "CostModel",
    "Detail",
    "DiagonalMode",
    "DistanceMap",
    "Events",
    "FlowField",
    "FlowFieldBuild",
    "FlowFields",
    "Grid",
    "GridChangedError",
    "Heuristic",
    "InputError",
    "KeywordError",
    "MapFileError",
    "Movement",
    "MoverState",
    "Movers",
    "NavserverError",
    "NearestGoal",
    "NoPathError",
    "OneToMany",
    "PathBatch",
    "PathResult",
    "Profile",
    "ProximityIndex",
    "RayHit",
    "RayHits",
    "Reachable",
    "SearchMetrics",
    "SearchTrace",
    "Status",
    "Stepper",
    "StuckReason",
    "connected",
    "cost_matrix",
    "distance_map",
    "distance_to_wall",
    "find_path",
    "find_paths",
    "fits",
    "hash_movers",
    "island_labels",
    "line_of_sight",
    "load_movers",
    "nearest_goal",
    "nearest_reachable",
    "nearest_walkable",
    "pull_string",
    "pull_strings",
    "random_reachable",
    "raycast",
    "raycasts",
    "reachable",
    "round_path",
    "round_paths",
    "save_movers",
    "simplify_path",
    "simplify_paths",
    "warm_up",
    "what_opens",
]
