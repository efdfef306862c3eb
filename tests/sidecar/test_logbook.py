from __future__ import annotations

import io
import json
import re

from navserver.sidecar.logbook import Entry, Logbook


def test_json_lines_hold_all_fields() -> None:
    stream = io.StringIO()
    log = Logbook(stream, as_json=True)
    log.note("info", "session_opened", name="a b", requests=3)
    log.note("error", "failed", reason="line\nbreak")
    first, second = stream.getvalue().splitlines()
    content = json.loads(first)
    assert content.pop("time") > 1.5e9
    assert content == {"level": "info", "event": "session_opened", "name": "a b", "requests": 3}
    assert json.loads(second)["reason"] == "line\nbreak"


def test_lines_for_people_are_one_an_event() -> None:
    stream = io.StringIO()
    log = Logbook(stream)
    log.note("warning", "client_cut", session="x", reason="two\nlines", empty="")
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d warning client cut session=x reason='two\\nlines' empty=''\n",
        stream.getvalue(),
    )


def test_levels_below_are_left_out_but_heard() -> None:
    stream = io.StringIO()
    log = Logbook(stream, level="warning")
    heard: list[Entry] = []
    log.listeners.append(heard.append)
    log.note("info", "quiet")
    log.note("error", "loud")
    assert "quiet" not in stream.getvalue()
    assert [entry.event for entry in heard] == ["quiet", "loud"]


def test_a_stream_that_is_gone_is_given_up() -> None:
    stream = io.StringIO()
    log = Logbook(stream)
    stream.close()
    log.note("info", "first")
    log.note("info", "second")
