"""The map of a run as a world of a sidecar."""

from __future__ import annotations

import secrets
from os import PathLike

from navserver.client import Client
from navserver.search.movement import Movement
from navserver.sim.scenarios import MapEdit
from navserver.sim.setup import Setup
from navserver.wire.questions import create_world, delete_world, edit_world, set_profile

__all__ = ["RemoteMap"]


class RemoteMap:
    """A map in a sidecar, under a name of its own, for as long as the run lasts.

    Parameters
    ----------
    setup : Setup
        The map, and who walks on it.
    connection_file : path-like
        What the sidecar has written.
    timeout : float
        Seconds to wait for each answer.

    Raises
    ------
    ServerUnavailableError
        If there is no server, or it refuses the token.
    """

    def __init__(
        self, setup: Setup, connection_file: str | PathLike[str], timeout: float = 60.0
    ) -> None:
        self.client = Client.connect(connection_file=connection_file, timeout=timeout)
        """Who has made the world; it goes with this client's session."""
        self.name = f"bots-{secrets.token_hex(8)}"
        """Of the world."""
        grid = setup.grid
        try:
            self.client.ask(
                create_world(
                    self.name,
                    grid.classes,
                    cell_scale=grid.cell_scale,
                    position=grid.region_position,
                    transform=grid.transform,
                    owned=True,
                )
            )
        except BaseException:
            self.client.close()
            raise

    def define(self, profile: str, movement: Movement) -> None:
        """Tell the sidecar who walks.

        Parameters
        ----------
        profile : str
            What requests call it.
        movement : Movement
            Its profile says what each class costs.
        """
        self.client.ask(set_profile(self.name, profile, movement.profile.costs))

    def edit(self, edit: MapEdit) -> None:
        """Change the map; requests that are sent afterwards see it changed.

        Parameters
        ----------
        edit : MapEdit
            Its tick does not count.
        """
        x, y, width, height = edit.area
        question = edit_world(
            self.name, position=(x, y), size=(width, height), class_ids=edit.class_id
        )
        self.client.ask(question)

    def close(self) -> None:
        """Delete the world, where the sidecar is still there."""
        try:
            self.client.ask(delete_world(self.name), timeout=2.0)
        except (ConnectionError, TimeoutError, RuntimeError, ValueError):
            # It goes with the session anyway.
            pass
        finally:
            self.client.close()
