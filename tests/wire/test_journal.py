from __future__ import annotations

from typing import Any

from navserver.wire.journal import Change, Journal
from navserver.wire.messages import MESSAGES


def change(kind: str, world: str = "w", size: int = 0, **fields: Any) -> Change:
    header = {"type": kind, "id": 1, "world": world, **fields}
    return Change(MESSAGES[kind], header, (bytes(size),) if size else ())


def kinds(plan: Any) -> list[str]:
    return [entry.message.name for _, entry in plan.changes]


def created(max_bytes: int = 1 << 20) -> Journal:
    journal = Journal(max_bytes)
    journal.note(change("world_create", size=100), 1, {"lineage": "a"})
    journal.note(change("world_edit", size=10, class_id=1), 2, {})
    journal.note(change("world_tiles", size=10), 3, {})
    return journal


def test_a_missing_world_is_made_again_whole() -> None:
    plan = created().plan("w", None, 0)
    assert kinds(plan) == ["world_create", "world_edit", "world_tiles"]
    assert not plan.is_lossy
    assert plan.changes[0][1].header["replace"] is True
    assert created().plan("w", "b", 7).changes[0][1].header["replace"] is True


def test_a_world_that_was_restored_gets_what_it_lacks() -> None:
    journal = created()
    assert kinds(journal.plan("w", "a", 1)) == ["world_edit", "world_tiles"]
    assert kinds(journal.plan("w", "a", 2)) == ["world_tiles"]
    assert kinds(journal.plan("w", "a", 3)) == []


def test_of_each_profile_the_newest_is_kept_and_always_set() -> None:
    journal = created()
    for costs in (5, 6, 7):
        journal.note(change("profile_set", size=costs, profile="boat"), 3, {})
    journal.note(change("profile_set", size=8, profile="tank"), 3, {})
    plan = journal.plan("w", "a", 3)
    assert [len(entry.bulk[0]) for _, entry in plan.changes] == [7, 8]


def test_a_world_of_others_gets_our_changes_only() -> None:
    journal = Journal()
    journal.note(change("world_edit"), 5, {})
    assert kinds(journal.plan("w", "x", 4)) == ["world_edit"]
    assert kinds(journal.plan("w", "x", 5)) == []
    lost = journal.plan("w", None, 0)
    assert (lost.changes, lost.is_lossy) == ([], True)


def test_a_deleted_world_is_forgotten() -> None:
    journal = created()
    journal.note(change("world_delete"), 0, {})
    assert journal.worlds == []
    assert journal.nbytes == 0
    journal.forget("w")


def test_a_world_that_is_created_anew_begins_anew() -> None:
    journal = created()
    journal.note(change("world_create"), 1, {"lineage": "b"})
    assert kinds(journal.plan("w", None, 0)) == ["world_create"]
    assert kinds(journal.plan("w", "b", 1)) == []


def test_what_is_no_change_of_a_map_is_passed_over() -> None:
    journal = Journal()
    journal.note(change("unwatch"), 0, {})
    assert journal.worlds == []


def test_bytes_are_bounded_and_the_loss_is_told() -> None:
    journal = Journal(max_bytes=3000)
    journal.note(change("world_create", size=1000), 1, {"lineage": "a"})
    journal.note(change("world_edit", world="other"), 9, {})
    for version in range(2, 30):
        journal.note(change("world_edit", size=100), version, {})
    assert journal.nbytes <= 3000
    assert journal.worlds == ["w", "other"]
    assert journal.plan("w", None, 0).is_lossy
    assert not journal.plan("w", None, 0).changes
    assert journal.plan("w", "a", 10).is_lossy
    kept = journal.plan("w", "a", 24)
    assert kinds(kept) == ["world_edit"] * 5
    assert not kept.is_lossy
    assert journal.plan("other", "z", 8).changes


def test_a_change_larger_than_the_bound_is_not_kept() -> None:
    journal = Journal(max_bytes=100)
    journal.note(change("world_create", size=1000), 1, {"lineage": "a"})
    journal.note(change("profile_set", size=1000, profile="boat"), 1, {})
    assert journal.nbytes == 0
    assert journal.plan("w", None, 0).is_lossy


def test_what_was_made_again_has_other_versions() -> None:
    journal = created()
    plan = journal.plan("w", None, 0)
    for version, (key, _) in enumerate(plan.changes, 1):
        journal.renumber("w", key, version, {"lineage": "b"} if version == 1 else {})
    assert kinds(journal.plan("w", "b", 2)) == ["world_tiles"]
    assert kinds(journal.plan("w", "a", 3))[0] == "world_create"
