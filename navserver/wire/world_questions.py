"""Questions about worlds: making, changing and describing them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.wire.question import (
    Question,
    as_array,
    as_cells,
    as_pair,
    read_nothing,
    read_version,
)

__all__ = [
    "create_world",
    "delete_world",
    "edit_world",
    "list_worlds",
    "set_profile",
    "set_tiles",
    "world_hash",
    "world_info",
]


def create_world(
    world: str,
    classes: ArrayLike | None = None,
    *,
    width: int | None = None,
    height: int | None = None,
    fill: int = 0,
    cell_scale: ArrayLike | None = None,
    position: tuple[int, int] = (0, 0),
    transform: ArrayLike | None = None,
    replace: bool = False,
    owned: bool = False,
) -> Question[int]:
    """Make a world.

    Parameters
    ----------
    world : str
        Its name.
    classes : array-like of uint8, shape (height, width), optional
        Class of each cell; without it give `width` and `height`.
    width, height : int, optional
        Size in cells.
    fill : int
        Class of every cell where there are no `classes`.
    cell_scale : array-like of float32, shape (height, width), optional
        Factor of each cell's cost.
    position : (int, int)
        The top left cell.
    transform : array-like of float, shape (2, 3), optional
        From a cell to the world position of its centre.
    replace : bool
        Take the place of a world of the same name.
    owned : bool
        Delete the world when the session ends.

    Returns
    -------
    Question of int
        The version.

    Raises
    ------
    InputError
        If an argument cannot be sent.
    """
    arrays: dict[str, NDArray[Any]] = {}
    if classes is not None:
        arrays["classes"] = as_array("classes", classes, np.uint8, (None, None))
        height, width = arrays["classes"].shape
    if cell_scale is not None:
        arrays["cell_scale"] = as_array("cell_scale", cell_scale, np.float32, (None, None))
    fields = {
        "world": world,
        "width": width,
        "height": height,
        "fill": fill,
        "position": as_pair("position", position),
        "transform": None
        if transform is None
        else as_array("transform", transform, np.float64, (2, 3)).reshape(-1).tolist(),
        "replace": replace,
        "owned": owned,
    }
    return Question("world_create", fields, read_version, arrays)


def edit_world(
    world: str,
    *,
    cells: ArrayLike | None = None,
    position: tuple[int, int] | None = None,
    size: tuple[int, int] | None = None,
    class_ids: ArrayLike | None = None,
    cell_scale: ArrayLike | None = None,
    layer: str | None = None,
    values: ArrayLike | None = None,
    base_version: int | None = None,
) -> Question[int]:
    """Change cells, a rectangle or the whole map.

    Parameters
    ----------
    world : str
        Its name.
    cells : array-like of int, shape (n, 2), optional
        The cells to change.
    position, size : (int, int), optional
        Top left cell, and width and height, of the rectangle to change.
    class_ids : int or array-like, optional
        New class, one for all or one for each cell.
    cell_scale : float or array-like, optional
        New factor, likewise.
    layer : str, optional
        The overlay that `values` go to.
    values : float or array-like, optional
        The layer's new value, likewise.
    base_version : int, optional
        Refuse the edit if the world is at another version.

    Returns
    -------
    Question of int
        The new version.

    Raises
    ------
    InputError
        If an argument cannot be sent.
    """
    fields: dict[str, Any] = {"world": world, "layer": layer, "base_version": base_version}
    arrays: dict[str, NDArray[Any]] = {}
    if cells is not None:
        arrays["cells"] = as_cells("cells", cells)
    if position is not None:
        fields["position"] = as_pair("position", position)
    if size is not None:
        fields["width"], fields["height"] = as_pair("size", size)
    for given, single, many, dtype in (
        (class_ids, "class_id", "class_ids", np.uint8),
        (cell_scale, "scale", "scales", np.float32),
        (values, "value", "values", np.float32),
    ):
        if given is None:
            continue
        if np.ndim(given) == 0:
            array = as_array(many, np.atleast_1d(given), dtype, (None,))
            fields[single] = array[0].item()
        else:
            arrays[many] = as_array(many, np.reshape(given, -1), dtype, (None,))
    return Question("world_edit", fields, read_version, arrays)


def set_tiles(
    world: str, layers: list[bytes], table: ArrayLike, *, empty_class: int = 255
) -> Question[dict[str, int]]:
    """Set cells from Godot's TileMapLayers.

    Parameters
    ----------
    world : str
        Its name.
    layers : list of bytes
        ``tile_map_data`` of each layer, the bottom one first.
    table : array-like of uint16, shape (k, 6)
        Columns layer, source, atlas x, atlas y, alternative, class.
    empty_class : int
        Class of cells that no tile has an opinion on; 256 leaves them.

    Returns
    -------
    Question of dict of str to int
        ``placed``, ``outside``, ``unknown`` and ``version``.
    """
    arrays = {
        "tiles": np.frombuffer(b"".join(layers), np.uint8),
        "sizes": np.array([len(layer) for layer in layers], np.uint32),
        "table": as_array("table", table, np.uint16, (None, 6)),
    }
    fields = {"world": world, "empty_class": empty_class}
    return Question(
        "world_tiles", fields, lambda answer: {**answer.fields, "version": answer.version}, arrays
    )


def world_info(world: str) -> Question[dict[str, Any]]:
    """Ask what a world is.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of dict of str to object
        As ``world_info`` in PROTOCOL.md, and ``version``.
    """
    return Question(
        "world_info", {"world": world}, lambda answer: {**answer.fields, "version": answer.version}
    )


def world_hash(world: str) -> Question[str]:
    """Ask for the digest of a world's map.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of str
        That of `Grid.map_hash`.
    """
    return Question("world_hash", {"world": world}, lambda answer: str(answer.fields["hash"]))


def list_worlds() -> Question[list[str]]:
    """Ask for the names of all worlds.

    Returns
    -------
    Question of list of str
        In order.
    """
    return Question("world_list", {}, lambda answer: list(answer.fields["worlds"]))


def delete_world(world: str) -> Question[None]:
    """End a world.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of None
        Answered when it is gone.
    """
    return Question("world_delete", {"world": world}, read_nothing)


def set_profile(world: str, profile: str, costs: ArrayLike) -> Question[int]:
    """Define who walks.

    Parameters
    ----------
    world : str
        Its name.
    profile : str
        The profile's name.
    costs : array-like of float32, shape (256,)
        Cost of each class; ``inf`` blocks.

    Returns
    -------
    Question of int
        The map's version.
    """
    arrays = {"costs": as_array("costs", costs, np.float32, (256,))}
    return Question("profile_set", {"world": world, "profile": profile}, read_version, arrays)
