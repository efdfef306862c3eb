from __future__ import annotations

import re
from enum import Enum
from typing import Any

import pytest

from navserver.wire.session import (
    CLIENT_TRANSITIONS,
    SERVER_TRANSITIONS,
    ClientCause,
    ClientState,
    ServerCause,
    ServerState,
    SessionError,
    next_state,
)
from tests.wire.document import PROTOCOL

TABLES: list[Any] = [CLIENT_TRANSITIONS, SERVER_TRANSITIONS]


@pytest.mark.parametrize("table", TABLES)
def test_every_state_can_be_reached_and_left(table: dict[tuple[Enum, Enum], Enum]) -> None:
    first = next(iter(table))[0]
    reached = {first}
    for _ in table:
        reached |= {then for (state, _), then in table.items() if state in reached}
    assert reached == set(type(first))
    last = {type(first).CLOSED} if type(first) is ClientState else {type(first).GONE}
    assert {state for state, _ in table} | last == reached


def test_the_ends_are_final() -> None:
    for (state, _), then in CLIENT_TRANSITIONS.items():
        assert state is not ClientState.CLOSED or then is ClientState.CLOSED
    assert all(state is not ServerState.GONE for state, _ in SERVER_TRANSITIONS)


@pytest.mark.parametrize("table", TABLES)
def test_what_is_not_in_the_table_is_refused(table: dict[tuple[Enum, Enum], Enum]) -> None:
    states = {state for state, _ in table}
    causes = {cause for _, cause in table}
    for state in states:
        for cause in causes:
            if (state, cause) in table:
                assert next_state(table, state, cause) is table[state, cause]
            else:
                with pytest.raises(SessionError, match=str(state.value)):
                    next_state(table, state, cause)


def document_rows(heading: str) -> list[tuple[list[str], str, str]]:
    """Return the states, the cause and the next state of each row of a table."""
    text = PROTOCOL.read_text(encoding="utf-8")
    table = text[text.index(heading) :].split("\n\n")[1]
    rows = re.findall(r"^\| ([\w, ]+) \| (.+?) \| .+ \| (\w+) \|$", table, flags=re.MULTILINE)
    return [(states.split(", "), cause, then) for states, cause, then in rows[1:]]


CLIENT_WORDS = [
    ("no connection", ClientCause.LOST),
    ("connection lost", ClientCause.LOST),
    ("connected", ClientCause.CONNECTED),
    ("not `resumed`", ClientCause.FORGOTTEN),
    ("`resumed`", ClientCause.WELCOMED),
    ("reply `error`", ClientCause.REFUSED),
    ("the last reply", ClientCause.SYNCED),
    ("`no_session`", ClientCause.NO_SESSION),
    ("`replaced`", ClientCause.REPLACED),
    ("close", ClientCause.CLOSE),
]
SERVER_WORDS = [
    ("connection lost", ServerCause.LOST),
    ("`hello`", ServerCause.HELLO),
    ("not read", ServerCause.NOT_READING),
    ("60 s", ServerCause.EXPIRED),
    ("shutting down", ServerCause.SHUTDOWN),
]


@pytest.mark.parametrize(
    ("heading", "states", "words", "table"),
    [
        ("\nClient:\n", ClientState, CLIENT_WORDS, CLIENT_TRANSITIONS),
        ("\nServer, for each session", ServerState, SERVER_WORDS, SERVER_TRANSITIONS),
    ],
)
def test_the_document_tells_the_same(
    heading: str, states: type[Enum], words: list[tuple[str, Enum]], table: Any
) -> None:
    told = {}
    live = [state.name for state in states if state.name != "CLOSED"]
    for names, text, then in document_rows(heading):
        found = [cause for word, cause in words if word in text]
        for name in live if names == ["any but CLOSED"] else names:
            if not found:
                assert name in (then, "none"), text  # it changes nothing
            elif name != "none":
                told[states[name], found[0]] = states[then]
    for (state, cause), then in told.items():
        if (state, cause) in table:
            assert table[state, cause] is then, (state, cause)
        else:
            assert state.name in ("CLOSED", "GONE", "DOWN"), (state, cause)
    quiet = {ClientCause.NO_SESSION}
    for state, cause in table:
        assert (state, cause) in told or cause in quiet or state is table[state, cause], cause
