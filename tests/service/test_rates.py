from __future__ import annotations

from navserver.service.rates import Rates
from navserver.service.requests import SearchOptions

OPTIONS = SearchOptions()


def test_short_slices_and_missing_clocks_say_nothing() -> None:
    rates = Rates()
    first = rates.of(OPTIONS)
    rates.note_slice(OPTIONS, 10, 1.0)
    rates.note_slice(OPTIONS, 100_000, 0.0)
    assert rates.of(OPTIONS) == first


def test_one_slice_that_was_held_up_makes_no_difference_that_stays() -> None:
    rates = Rates()
    rates.note_slice(OPTIONS, 2000, 1.0)
    assert rates.of(OPTIONS) < 100e-9
    for _ in range(100):
        rates.note_slice(OPTIONS, 2000, 1.0)
    assert rates.of(OPTIONS) > 400e-6
    # The smallest slices tell that it has become faster.
    for _ in range(100):
        rates.note_slice(OPTIONS, 256, 256 * 20e-9)
    assert rates.of(OPTIONS) < 30e-9


def test_bundles_shrink_as_searches_grow() -> None:
    rates = Rates()
    for _ in range(50):
        rates.note_trial("short", 10.0)
        rates.note_trial("long", 2048.0)
    assert rates.bundle("short", OPTIONS) == 64
    assert rates.bundle("long", OPTIONS) == 2
    for _ in range(50):
        rates.note_slice(OPTIONS, 10_000, 1.0)
    assert rates.bundle("short", OPTIONS) == 1


def test_only_so_many_averages_are_kept() -> None:
    rates = Rates()
    for client in range(1000):
        rates.note_trial(client, 10.0)
    assert len(rates._expanded) <= 256
