"""Carries out the messages about worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.maps.tile_map_layer import NO_OPINION, Placement, read_tiles
from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.service.edits import CellsEdit, MapEdit, RectangleEdit
from navserver.service.world import World
from navserver.sidecar.office import Call, Handler, Office, Result
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.message import Reply

__all__ = ["WORLD_HANDLERS"]

# What may be edited on the thread that owns the sockets: some 0.1 ms.
_INLINE_EDIT = 4096
_INLINE_MAP = 512 * 512


def _create(office: Office, call: Call) -> None:
    fields = call.fields
    name = fields["world"]
    is_replacing = name in office.worlds
    if is_replacing and not fields["replace"]:
        raise WireError(
            "world_exists", "world", name, "is there already",
            "choose another name, or set replace",
        )  # fmt: skip
    if not is_replacing:
        _check_room(office, fields["width"], fields["height"])

    def make() -> tuple[World, list[World]]:
        world = World(name, _grid_of(call))
        return world, office.worlds.replace([world])

    def finish(made: tuple[World, list[World]]) -> Reply:
        world, former = made
        for old in former:
            office.leave_world(old, office.clock())
        if fields["owned"]:
            office.owned[name] = call.session
        office.logbook.note(
            "info", "world_created", world=name, width=fields["width"], height=fields["height"]
        )
        return Reply("ok", {"lineage": world.lineage}, {}, world.version)

    office.run_aside(call, make, finish)


def _check_room(office: Office, width: int, height: int) -> None:
    try:
        office.worlds.check_room(width, height)
    except InputError as error:
        raise WireError(
            "too_large", error.field, error.value, error.problem, error.remedy
        ) from None


def _grid_of(call: Call) -> Grid:
    fields = call.fields
    classes = call.arrays.get("classes")
    if classes is None:
        classes = np.full((fields["height"], fields["width"]), fields["fill"], np.uint8)
    return Grid(
        classes,
        cell_scale=call.arrays.get("cell_scale"),
        region_position=fields["position"],
        transform=np.reshape(fields["transform"], (2, 3)),
    )


def _edit(office: Office, call: Call) -> Result | None:
    world = office.world_of(call)
    base = call.fields["base_version"]
    if base is not None and base != world.version:
        raise WireError(
            "stale", "base_version", base, f"is not the world's version, {world.version}",
            "ask world_info and make the edit anew",
        )  # fmt: skip
    return _apply(office, call, world, _edit_of(call, world))


def _apply(office: Office, call: Call, world: World, edit: MapEdit) -> Result | None:
    grid = world.replicas.grid
    if office.is_warm and edit.size(grid) <= _INLINE_EDIT and grid.size <= _INLINE_MAP:
        return Reply("ok", {}, {}, world.edit(edit).version)
    office.run_aside(
        call, lambda: world.edit(edit), lambda effect: Reply("ok", {}, {}, effect.version)
    )
    return None


def _edit_of(call: Call, world: World) -> MapEdit:
    fields, arrays = call.fields, call.arrays
    cells = arrays.get("cells")
    corner = [fields["position"], fields["width"], fields["height"]]
    if cells is not None and corner != [None] * 3:
        raise _misfit("position", fields["position"], "goes with no cells", "give one of both")
    if None in corner and corner != [None] * 3:
        names = ("position", "width", "height")
        missing = next(name for name, value in zip(names, corner, strict=True) if value is None)
        raise _misfit(missing, None, "is missing", "give position, width and height, or none")
    if cells is not None:
        shape: tuple[int, ...] = (len(cells),)
    elif fields["position"] is not None:
        shape = (fields["height"], fields["width"])
    else:
        grid = world.replicas.grid
        shape = (grid.height, grid.width)
    classes = _one_of(call, "class_id", "class_ids", shape)
    scale = _one_of(call, "scale", "scales", shape)
    values = _one_of(call, "value", "values", shape)
    layers = {} if values is None else {_layer_of(call): values}
    if classes is None and scale is None and values is None:
        raise _misfit("class_id", None, "is missing", "say what to change: class, scale or layer")
    if cells is not None:
        return CellsEdit.of(cells, classes, scale, layers)
    extent = None if fields["position"] is None else (fields["width"], fields["height"])
    return RectangleEdit.of(fields["position"], extent, classes, scale, layers)


def _one_of(call: Call, single: str, many: str, shape: tuple[int, ...]) -> Any:
    """Return what an edit writes: one value for all cells, one for each, or None."""
    value, array = call.fields[single], call.arrays.get(many)
    if array is None:
        return value
    if value is not None:
        raise _misfit(single, value, f"goes with no {many}", "give one of both")
    return _shaped(many, array, shape)


def _shaped(field: str, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if array.size != np.prod(shape):
        raise _misfit(
            field, array.size, "is not the number of cells", f"give {int(np.prod(shape))} entries"
        )
    return array.reshape(shape)


def _layer_of(call: Call) -> str:
    layer: str | None = call.fields["layer"]
    if layer is None:
        raise _misfit("layer", None, "is missing", "say which layer the value belongs to")
    return layer


def _misfit(field: str, value: object, problem: str, remedy: str) -> WireError:
    return WireError("bad_field", field, value, problem, remedy)


def _tiles(office: Office, call: Call) -> None:
    world = office.world_of(call)
    blobs = _blobs_of(call)
    grid = world.replicas.grid
    table, position, shape = call.arrays["table"], grid.region_position, (grid.height, grid.width)
    empty = call.fields["empty_class"]

    def place() -> tuple[Placement, int]:
        placement = read_tiles(blobs, table, position, shape)
        return placement, world.edit(_placed(world, placement, empty)).version

    def finish(done: tuple[Placement, int]) -> Reply:
        placement, version = done
        fields = {
            "placed": int(np.count_nonzero(placement.classes != NO_OPINION)),
            "outside": placement.outside,
            "unknown": placement.unknown,
        }
        return Reply("ok", fields, {}, version)

    office.run_aside(call, place, finish)


def _blobs_of(call: Call) -> list[NDArray[np.uint8]]:
    tiles, sizes = call.arrays["tiles"], call.arrays["sizes"].astype(np.int64)
    if int(sizes.sum()) != tiles.size:
        raise _misfit(
            "sizes", sizes.tolist(), f"do not sum up to the {tiles.size} bytes of the tiles",
            "give the bytes of each layer's blob",
        )  # fmt: skip
    return np.split(tiles, np.cumsum(sizes)[:-1]) if sizes.size else []


def _placed(world: World, placement: Placement, empty: int) -> MapEdit:
    """Return the edit that leaves what a placement says."""
    classes = placement.classes
    silent = classes == NO_OPINION
    if empty != NO_OPINION:
        return RectangleEdit.of(None, None, np.where(silent, empty, classes).astype(np.uint8))
    rows, columns = np.nonzero(~silent)
    x, y = world.replicas.grid.region_position
    cells = np.column_stack((columns + x, rows + y)).astype(np.int32)
    return CellsEdit.of(cells, classes[rows, columns].astype(np.uint8))


def _info(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    info = world.info()
    fields = {
        "lineage": world.lineage,
        "width": info["width"],
        "height": info["height"],
        "position": info["region_position"],
        "transform": info["transform"],
        "layers": info["layers"],
        "profiles": info["profiles"],
        "memory_bytes": info["memory_bytes"],
    }
    return Reply("ok", fields, {}, info["version"])


def _hash(office: Office, call: Call) -> None:
    world = office.world_of(call)
    office.run_aside(
        call, world.map_hash, lambda found: Reply("ok", {"hash": found[1]}, {}, found[0])
    )


def _list(office: Office, call: Call) -> Reply:  # noqa: ARG001 - all handlers are called alike
    names = {world.name for world in office.worlds} | office.coming
    return Reply("ok", {"worlds": sorted(names)}, {})


def _delete(office: Office, call: Call) -> Reply:
    name = office.world_of(call).name
    office.remove_world(name, call.now)
    office.logbook.note("info", "world_deleted", world=name)
    return Reply("ok", {}, {})


def _set_profile(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    world.set_profile(call.fields["profile"], Profile(call.arrays["costs"]))
    return Reply("ok", {}, {}, world.version)


WORLD_HANDLERS: dict[str, Handler] = {
    "world_create": _create,
    "world_edit": _edit,
    "world_tiles": _tiles,
    "world_info": _info,
    "world_hash": _hash,
    "world_list": _list,
    "world_delete": _delete,
    "profile_set": _set_profile,
}
"""Who carries out which message."""
