"""A world: a named map with profiles, edits and versions."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from navserver.search.grid import Grid
from navserver.search.movement import Movement, MovementOptions
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.service.edits import CellsEdit, Effect, LayerRemoval, MapEdit, RectangleEdit
from navserver.service.path_cache import PathCache
from navserver.service.rates import Rates
from navserver.service.replicas import Replicas
from navserver.service.watches import Watches
from navserver.service.world_movers import WorldMovers
from navserver.status import InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["World"]

MAX_NAME = 200
MAX_PROFILES = 256
# So many are named to whoever asks for one that is not there.
_MOST_NAMES = 8


class World:
    """A map under a name, which may be searched by many threads while it is edited.

    Parameters
    ----------
    name : str
        What clients call it.
    grid : Grid
        The map; from now on nobody else may edit it.
    lineage : str, optional
        Names this life of the world, within which versions compare; a random one by default.

    Examples
    --------
    >>> world = World("cave", Grid.filled(8, 8))
    >>> world.set_cells([(1, 1)], 255).version
    2
    >>> world.info()["version"]
    2
    """

    def __init__(self, name: str, grid: Grid, lineage: str | None = None) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
            raise InputError(
                "name", name, "is not a world's name", f"give 1 to {MAX_NAME} characters"
            )
        if not isinstance(grid, Grid):
            raise InputError("grid", type(grid), "is not a Grid", "make one of the map first")
        self.name = name
        self.lineage = secrets.token_hex(8) if lineage is None else lineage
        """Names this life of the world: another world of its name has another one."""
        self.replicas = Replicas(grid)
        """The map in as many versions as are being searched."""
        self.rates = Rates()
        """What searches take here; the scheduler's."""
        self.cache = PathCache(grid.version)
        """Paths that were found."""
        self.watches = Watches(grid)
        """Delivered paths that edits may break."""
        self._movers: WorldMovers | None = None
        self._profiles: dict[str, Profile] = {"default": DEFAULT_PROFILE}
        self._hash: tuple[int, str] = (0, "")
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Return name and grid."""
        return f"<World {self.name!r}: {self.replicas.grid!r}>"

    @property
    def version(self) -> int:
        """Version of the map as the next search will see it."""
        return self.replicas.version

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """Profiles by name; ``default`` is always there."""
        return dict(self._profiles)

    def set_profile(self, name: str, profile: Profile) -> None:
        """Give a profile a name, or the name another profile.

        Parameters
        ----------
        name : str
            What requests call it.
        profile : Profile
            Costs of the classes; requests that wait keep the one they were made with.

        Raises
        ------
        InputError
            If there are too many, or an argument is out of its bounds.
        """
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
            raise InputError(
                "name", name, "is not a profile's name", f"give 1 to {MAX_NAME} characters"
            )
        if not isinstance(profile, Profile):
            raise InputError("profile", profile, "is not a Profile", "make one of class costs")
        with self._lock:
            if name not in self._profiles and len(self._profiles) >= MAX_PROFILES:
                raise InputError(
                    "name", name, "is one profile too many", f"keep at most {MAX_PROFILES}"
                )
            self._profiles[name] = profile

    def profile(self, name: str) -> Profile:
        """Return the profile of a name.

        Parameters
        ----------
        name : str
            As `set_profile` was told.

        Returns
        -------
        Profile
            Its costs.

        Raises
        ------
        InputError
            If there is none.
        """
        found = self._profiles.get(name) if isinstance(name, str) else None
        if found is None:
            names = sorted(self._profiles)
            known = ", ".join(names[:_MOST_NAMES])
            more = f" and {len(names) - _MOST_NAMES} others" if len(names) > _MOST_NAMES else ""
            raise InputError(
                "profile", name, "is not known in this world", f"use one of {known}{more}"
            )
        return found

    def prepare(self, *, islands: bool = True, **movement: Unpack[MovementOptions]) -> None:
        """Build what searches of a body need, and keep it built after edits.

        The first search of a body would otherwise take the time, some ns a cell.

        Parameters
        ----------
        islands : bool
            Whether to label the islands too.
        **movement
            Keywords of `Movement`.

        Raises
        ------
        InputError
            If an option is out of its bounds.
        """
        self.replicas.prepare(Movement(**movement), islands=islands)

    @property
    def movers(self) -> WorldMovers:
        """The movers, made at first use with a copy of the map of their own."""
        with self._lock:
            if self._movers is None:
                self._movers = WorldMovers(self.replicas)
            return self._movers

    def make_movers(self, **options: Any) -> WorldMovers:
        """Make an empty table of movers, in the place of the one there is.

        Parameters
        ----------
        **options
            Keywords of `Stepper`.

        Returns
        -------
        WorldMovers
            What `movers` is from now on.

        Raises
        ------
        InputError
            If an option is out of its bounds; nothing has changed then.
        """
        made = WorldMovers(self.replicas, **options)
        with self._lock:
            former, self._movers = self._movers, made
        if former is not None:
            former.close()
        return made

    @property
    def has_movers(self) -> bool:
        """Whether `movers` has been used."""
        return self._movers is not None

    # Edits: each returns its effect, whose version later requests will see at least

    def set_cells(
        self,
        cells: ArrayLike,
        class_ids: ArrayLike | None = None,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> Effect:
        """Change a list of cells.

        Parameters
        ----------
        cells, class_ids, cell_scale, layers
            As for `Grid.set_cells`.

        Returns
        -------
        Effect
            With the new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        return self.edit(CellsEdit.of(cells, class_ids, cell_scale, layers))

    def set_rectangle(
        self,
        position: tuple[int, int],
        size: tuple[int, int],
        class_id: ArrayLike | None = None,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> Effect:
        """Change a rectangle of cells.

        Parameters
        ----------
        position, size, class_id, cell_scale, layers
            As for `Grid.set_rectangle`.

        Returns
        -------
        Effect
            With the new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        return self.edit(RectangleEdit.of(position, size, class_id, cell_scale, layers))

    def set_all(
        self,
        classes: ArrayLike | None = None,
        *,
        cell_scale: ArrayLike | None = None,
        layers: Mapping[str, ArrayLike] | None = None,
    ) -> Effect:
        """Change the whole map; its size stays.

        Parameters
        ----------
        classes, cell_scale, layers
            As for `Grid.set_all`.

        Returns
        -------
        Effect
            With the new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        return self.edit(RectangleEdit.of(None, None, classes, cell_scale, layers))

    def remove_layer(self, name: str) -> Effect:
        """Remove an overlay layer.

        Parameters
        ----------
        name : str
            The layer.

        Returns
        -------
        Effect
            With the new version.

        Raises
        ------
        InputError
            If there is no such layer.
        """
        return self.edit(LayerRemoval(name))

    def edit(self, edit: MapEdit) -> Effect:
        """Apply an edit; searches at work keep the version they began with.

        Parameters
        ----------
        edit : MapEdit
            What to change.

        Returns
        -------
        Effect
            With the new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        effect = self.replicas.edit(edit)
        self.cache.note(effect)
        with self.watches.lock, self.pinned() as grid:
            self.watches.check(grid, effect)
        return effect

    @contextmanager
    def pinned(self) -> Iterator[Grid]:
        """Lend the map as it is; edits make a newer version meanwhile.

        Yields
        ------
        Grid
            Not to be edited.
        """
        replica = self.replicas.pin()
        try:
            yield replica.grid
        finally:
            self.replicas.unpin(replica)

    # What is known of it

    def map_hash(self) -> tuple[int, str]:
        """Return the version, and the digest that `Grid.map_hash` gives of it.

        Returns
        -------
        (int, str)
            Computed once a version.
        """
        with self.pinned() as grid:
            version, digest = self._hash
            if version != grid.version:
                version, digest = grid.version, grid.map_hash()
                self._hash = (version, digest)
            return version, digest

    def info(self) -> dict[str, Any]:
        """Return size, region, transform, layers, profiles, version and bytes.

        Returns
        -------
        dict of str to object
            Plain numbers, strings and lists.
        """
        with self.pinned() as grid:
            return {
                "name": self.name,
                "version": grid.version,
                "width": grid.width,
                "height": grid.height,
                "region_position": list(grid.region_position),
                "transform": grid.transform.reshape(-1).tolist(),
                "has_cell_scale": grid.cell_scale is not None,
                "layers": sorted(grid.layers),
                "profiles": sorted(self._profiles),
                "memory_bytes": self.memory_bytes()["total"],
            }

    def memory_bytes(self) -> dict[str, int]:
        """Return the bytes held, by part.

        Returns
        -------
        dict of str to int
            With ``total``.
        """
        parts = {**self.replicas.memory_bytes(), "path_cache": self.cache.nbytes}
        del parts["total"]
        return {**parts, "total": sum(parts.values())}
