from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.status import InputError
from navserver.wire import questions
from navserver.wire.client_session import Notice
from navserver.wire.codec import decode_message
from navserver.wire.messages import MESSAGES, encode_request, read_request
from navserver.wire.questions import Question

EVERY: list[Question[Any]] = [
    questions.ping(),
    questions.stats(),
    questions.shut_down(),
    questions.listen_to_log("info"),
    questions.snapshot(),
    questions.save_snapshot("w"),
    questions.restore(b"x"),
    questions.watch_path("w", [(0, 0), (1, 0)], size=2),
    questions.unwatch([1, 2]),
    questions.create_world("w", [[0, 255]], cell_scale=[[1.0, 2.0]], transform=np.eye(2, 3)),
    questions.create_world("w", width=2, height=1),
    questions.edit_world("w", cells=[(0, 0)], class_ids=1, cell_scale=[2.0]),
    questions.edit_world("w", position=(0, 0), size=(1, 1), layer="x", values=1.0),
    questions.set_tiles("w", [b"\0\0"], np.zeros((0, 6), int)),
    questions.world_info("w"),
    questions.world_hash("w"),
    questions.list_worlds(),
    questions.delete_world("w"),
    questions.set_profile("w", "p", np.ones(256)),
    questions.find_path("w", (0, 0), (1, 1), blocked_cells=[(3, 3)], agent=np.int64(4)),
    questions.find_paths("w", [(0, 0)], (1, 1), profiles=["a"], sizes=[1], priorities=[-1]),
    questions.trace("w", (0, 0), (1, 1)),
    questions.nearest("w", (0, 0), start=(1, 1)),
    questions.reachable("w", (0, 0), 2),
    questions.line_of_sight("w", [(0, 0)], [(1, 1)]),
    questions.connected("w", [(0, 0)], [(1, 1)]),
    questions.raycast("w", [(0.5, 0)], [(1, 1)]),
    questions.cost_matrix("w", [(0, 0)], [(1, 1)]),
    questions.flow_field("w", [(0, 0)], costs=True),
    questions.what_opens("w", (0, 0), (1, 1)),
    questions.explore("w", (0, 0), (1, 1), heuristic="manhattan", algorithm="dijkstra"),
    questions.map_layer("w", "clearance"),
    questions.describe_cells("w", [(0, 0)], size=2),
    questions.set_up_movers("w", avoidance=False, budget=5),
    questions.add_movers(
        "w", [(0.5, 1)], radius=0.3, max_speed=[2], mask=[1], movement={"size": 2}
    ),
    questions.remove_movers("w", np.array([1 << 32])),
    questions.set_movers("w", [1], priority=0.5, turn_rate=[np.inf]),
    questions.place_movers("w", [1], [(1, 1)], space="world"),
    questions.order_movers("w", [1, 2], (3, 3), spread=False),
    questions.send_movers_along("w", [1], [(1, 1)], [0, 1]),
    questions.stop_movers("w", []),
    questions.steer_movers("w", [1], [(1, 0)], positions=[(2, 2)], current_velocities=[(0, 1)]),
    questions.step_movers("w", 0.1, 3, columns=["states"], hash=True, watched=[1]),
    questions.run_movers("w", 60),
    questions.mover_info("w"),
    questions.view_movers("w", area=(0, 0, 1, 1), limit=4),
    questions.view_routes("w", [1, 2], space="world"),
    questions.stream_movers("w", columns=["transforms"], every=2),
    questions.see_movers("w", 5),
    questions.save_movers("w"),
    questions.load_movers("w", b"x"),
]


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.message)
def test_questions_are_requests_that_the_server_takes(question: Question[Any]) -> None:
    frames = encode_request(question.message, 1, question.fields, question.arrays)
    request = read_request(*decode_message([bytes(frame) for frame in frames]))
    assert request.message is MESSAGES[question.message]


def test_there_is_a_question_of_every_message_but_the_sessions_own() -> None:
    own = {"hello", "cancel"}
    assert {question.message for question in EVERY} | own == set(MESSAGES)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: questions.find_path("w", (0.5, 0), (1, 1)), "start"),
        (lambda: questions.find_path("w", (0, 0), (1, 1, 1)), "goal"),
        (lambda: questions.find_path("w", (0, 0), "ab"), "goal"),
        (lambda: questions.find_path("w", (0, 0), (2**63, 0)), "goal"),
        (lambda: questions.find_paths("w", [(0, 2**31)], (0, 0)), "starts"),
        (lambda: questions.find_paths("w", [(0, 0)], (0, 0), sizes=[256]), "sizes"),
        (lambda: questions.find_paths("w", [0, 0], (0, 0)), "starts"),
        (lambda: questions.create_world("w", [[0, 256]]), "classes"),
        (lambda: questions.create_world("w", [[0.5]]), "classes"),
        (lambda: questions.create_world("w", [0]), "classes"),
        (lambda: questions.create_world("w", [[0], [1, 2]]), "classes"),
        (lambda: questions.create_world("w", [[0]], cell_scale=[[1j]]), "cell_scale"),
        (lambda: questions.create_world("w", [[0]], cell_scale=[["1"]]), "cell_scale"),
        (lambda: questions.create_world("w", [[0]], cell_scale=[[1e39]]), "cell_scale"),
        (lambda: questions.find_path("w", (1j, 0), (1, 1)), "start"),
        (lambda: questions.edit_world("w", class_ids=-1), "class_ids"),
        (lambda: questions.set_profile("w", "p", [1.0]), "costs"),
        (lambda: questions.add_movers("w", [(0, 0)], radius=[1, 2], max_speed=1), "radius"),
        (lambda: questions.add_movers("w", [0], radius=1, max_speed=1), "positions"),
        (lambda: questions.set_movers("w", [1], speed=2), "speed"),
        (lambda: questions.set_movers("w", [1], layers=[0.5]), "layers"),
        (lambda: questions.set_movers("w", [0.5], max_speed=2), "handles"),
        (lambda: questions.order_movers("w", [2**63], (0, 0)), "handles"),
        (lambda: questions.send_movers_along("w", [1], [(1, 1)], [-1, 1]), "offsets"),
        (lambda: questions.steer_movers("w", [1], [1, 0]), "velocities"),
        (lambda: questions.step_movers("w", 0.1, watched=[0.5]), "watched"),
        (lambda: questions.unwatch([-1]), "watches"),
        (lambda: questions.watch_path("w", [(0.5, 0)]), "cells"),
        (lambda: questions.read_broken(Notice("alive", {}, {})), "notice"),
        (lambda: questions.read_state(Notice("alive", {}, {})), "notice"),
    ],
)
def test_what_would_change_on_the_way_is_refused(make: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.field == field
