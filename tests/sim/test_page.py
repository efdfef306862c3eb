from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from navserver.sim.page import Page, histogram, sparkline

VOID = {"meta", "img"}


class Checker(HTMLParser):
    """Notes what a page loads and runs, and whether its tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    return checker


def whole_page() -> str:
    page = Page("Bots & <walls>", "sub <b>")
    page.heading("Traffic", "Where <i> bots walk")
    page.paragraph("3 bots were in walls", warns=True)
    page.tiles([("arrived", "12"), ("<stuck>", "0")])
    page.table(["place", "entries", "width"], [["(3, 4) <x>", 1234, 1.5], ["(1, 1)", 2, np.nan]])
    page.picture(b"\x89PNG...", 'where "they" walk')
    page.drawing(histogram([1, 2, 3], "s"), "arrival times")
    page.drawing(sparkline([1, 2], "ms"), "tick times")
    return page.html()


def test_a_page_needs_nothing_else_and_runs_nothing() -> None:
    checker = checked(whole_page())
    assert "script" not in checker.tags
    assert "link" not in checker.tags
    assert all(link.startswith("data:image/png;base64,") for link in checker.links)
    assert base64.b64decode(checker.links[0].partition(",")[2]) == b"\x89PNG..."


def test_texts_are_escaped() -> None:
    html = whole_page()
    assert "Bots &amp; &lt;walls&gt;" in html
    assert "<i>" not in html
    assert "<x>" not in html
    assert "<stuck>" not in html
    assert 'alt="where &quot;they&quot; walk"' in html


def test_numbers_are_set_to_the_right_and_grouped() -> None:
    html = whole_page()
    assert "<td class=n>1,234</td>" in html
    assert "<td class=n>1.5</td>" in html
    assert "no cell" in html


def test_an_empty_table() -> None:
    page = Page("a", "b")
    page.table(["one", "two"], [])
    checked(page.html())
    assert "<th>one</th><th>two</th>" in page.html()


@pytest.mark.parametrize("values", [[0.0], [5.0, 5.0], [1, 2, 3, 1000], np.arange(10_000.0)])
def test_drawings_are_svg_within_their_box(values: object) -> None:
    for svg in (histogram(values, "<s>"), sparkline(values, "<s>")):  # type: ignore[arg-type]
        root = ET.fromstring(svg)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for bar in root.findall("rect"):
            x, y, w, h = (float(bar.attrib[key]) for key in ("x", "y", "width", "height"))
            assert 0 <= x <= x + w <= width
            assert 0 <= y <= y + h <= height
        for line in root.findall("path"):
            for point in line.attrib["d"][1:].split(" L"):
                a, b = map(float, point.split(","))
                assert 0 <= a <= width
                assert 0 <= b <= height


def test_a_histogram_counts() -> None:
    root = ET.fromstring(histogram([1.0] * 30 + [2.0] * 10, "s", bins=2))
    heights = [float(bar.attrib["height"]) for bar in root.findall("rect")]
    assert heights == [130.0, pytest.approx(130 / 3, abs=0.06)]


def test_a_sparkline_keeps_every_peak() -> None:
    values = np.ones(100_000)
    values[77_777] = 9.0
    assert "9 ms at most" in sparkline(values, "ms")
    assert ",20.0" in sparkline(values, "ms")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(72643.583, "72,644"), (1000.0, "1,000"), (42.38, "42.38"), (0.98765, "0.9877"), (0.0, "0")],
)
def test_numbers_are_plain(value: float, shown: str) -> None:
    page = Page("a", "b")
    page.table(["name"], [(value,)])
    assert f">{shown}</td>" in page.html()
