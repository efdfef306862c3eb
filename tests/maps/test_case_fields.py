from __future__ import annotations

import math
from pathlib import Path

import pytest

from navserver.maps.case import load_case
from navserver.maps.case_fields import FieldReader
from navserver.status import MapFileError, Status


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format":\n x}', r":2: column 2: not JSON"),
        ('{"format": NaN}', r": number: 'NaN' is not JSON"),
        ('{"version": 1, "version": 1}', r": field: 'version' stands twice; remove one"),
        ("[" * 100_000, r": (not JSON \(too deep\)|.* not JSON)"),
        ("[]", r": the file: \[\] is not an object"),
        ('{"a": ' + "9" * 5000 + "}", r": not JSON \(Exceeds the limit|: format: None"),
        ("\ud800", r": not JSON"),
    ],
)
def test_what_is_not_even_json(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(MapFileError, match=rf"a\.json{message}"):
        load_case(file)


def test_a_value_that_is_long_is_told_short() -> None:
    with pytest.raises(MapFileError, match=r"a\.json: map: 'x{49}\.\.\. is not good; mend it"):
        FieldReader("a.json").refuse("map", "x" * 99, "is not good", "mend it")


def test_fields_that_are_read() -> None:
    reader = FieldReader("a.json")
    assert reader.parse(b'{"a": [1, 2]}') == {"a": [1, 2]}
    assert reader.read_integer("n", 4, 0, 4) == 4
    assert reader.read_float("w", 2, 1.0) == 2.0
    assert math.isinf(reader.read_cost("c", "inf"))
    assert reader.read_enum("s", "found", Status) is Status.FOUND
    assert reader.read_cells("q", [[1, -2], [3, 4]]).tolist() == [[1, -2], [3, 4]]
    assert reader.read_cells("q", []).shape == (0, 2)
