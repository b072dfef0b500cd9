"""`thawline inspect` shows files of any spec field by field, and what a field that cannot be read lacks."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from test_described import EVENTS, FILE, HEAD, LOG

import thawline
from thawline.compiler import kernel_cache
from thawline.ksy.documents import SpecError
from thawline.verbs.inspect import Inspection, inspect

PICTURE = """
meta: {id: picture, endian: le, bit-endian: be}
seq:
  - {id: magic, contents: PIC}
  - {id: count, type: u1}
  - {id: at_tail, type: u2}
  - {id: rows, type: row, repeat: expr, repeat-expr: count}
instances:
  tail: {pos: at_tail, type: u4}
  again: {pos: 0, size: 3}
types:
  row:
    seq:
      - {id: kind, type: b3, enum: kinds}
      - {id: depth, type: b5}
      - {id: body, type: body, size: 2, process: xor(1)}
  body:
    seq: [{id: value, type: u2}]
enums:
  kinds: {1: black, 2: white}
"""
DATA = b"PIC\x02" + struct.pack("<H", 14) + b"\x25ab\x43cd" + b"??" + struct.pack("<I", 7)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "missing", lambda: "tests compile nothing")


def spec_of(text: str, folder: Path, name: str) -> Path:
    (folder / f"{name}.ksy").write_text(text, encoding="utf-8")
    return folder / f"{name}.ksy"


def lines(shown: Inspection) -> list[tuple[int, int, str, str]]:
    return [(it.start, it.end, it.label, it.value) for it in shown.stretches]


def test_fields_of_a_structure_have_their_bytes_and_values(tmp_path: Path) -> None:
    with thawline.open(DATA, spec=spec_of(PICTURE, tmp_path, "picture")) as cold:
        shown = inspect(cold)
    assert lines(shown) == [
        (0, 3, "magic", '"PIC"'),
        (3, 4, "count", "2"),
        (4, 6, "at_tail", "14"),
        (6, 7, "rows[0]", "kind black, depth 5"),
        (7, 9, "rows[0].body", ""),
        (9, 10, "rows[1]", "kind white, depth 3"),
        (10, 12, "rows[1].body", ""),
        (12, 14, "2 bytes in no field", ""),
        (14, 18, "tail", "7"),
    ]


def test_fields_of_a_unit_count_from_the_file(tmp_path: Path) -> None:
    start = len(HEAD + EVENTS[0])
    with thawline.open(FILE, spec=spec_of(LOG, tmp_path, "event_log")) as cold:
        shown = lines(inspect(cold, unit=1))
    assert shown[:2] == [
        (start, start + 2, "len_body", str(len(EVENTS[1]) - 8)),
        (start + 2, start + 4, "mark", "2 bytes"),
    ]
    assert shown[-1][1] == start + len(EVENTS[1])
    assert all(one[1] == other[0] for one, other in pairwise(shown))


def test_the_head_before_units_has_fields(tmp_path: Path) -> None:
    with thawline.open(FILE, spec=spec_of(LOG, tmp_path, "event_log")) as cold:
        shown = lines(inspect(cold, at=1))
    assert [label for _, _, label, _ in shown] == ["head.magic", "head.len_name", "head.name"]


def test_a_file_that_was_cut_shows_what_came_before_and_the_field_that_lacks_bytes(tmp_path: Path) -> None:
    with thawline.open(DATA[:10], spec=spec_of(PICTURE, tmp_path, "picture")) as cold:
        shown = inspect(cold, finding=1)
    assert [it.label for it in shown.stretches][-3:] == ["rows[0].body", "rows[1]", "rows[1].body"]
    assert "requested 2 bytes, but only 0 bytes available (picture: /types/row/seq/2)" in shown.stretches[-1].reason


def test_a_rule_that_is_broken_is_shown_at_its_field(tmp_path: Path) -> None:
    with thawline.open(b"PIX" + DATA[3:], spec=spec_of(PICTURE, tmp_path, "picture")) as cold:
        shown = inspect(cold, finding=1)
    assert next((it.label, bool(it.reason)) for it in shown.stretches) == ("magic", True)


def test_a_position_in_a_unit_must_say_what_it_counts_from(tmp_path: Path) -> None:
    wrong = LOG.replace("      - id: crc\n", "      - id: other\n        type: u4\n      - id: crc\n")
    wrong = wrong.replace(
        "  body:\n    seq:",
        "    instances:\n      other_input: {pos: 4, size: 2, -columnar: {checksum: crc32}}\n  body:\n    seq:",
    )
    with pytest.raises(SpecError, match=r"event_log.ksy:\d+:\d+: this position counts from the start of the file"):
        thawline.verify(FILE, spec=spec_of(wrong, tmp_path, "event_log"))


ALIGNED = """
meta: {id: aligned, endian: le}
seq: [{id: items, type: item, repeat: eos}]
types:
  item:
    -sync: {magic: mark}
    seq:
      - {id: mark, contents: [0xaa]}
      - {id: len, type: u1}
      - {id: body, size: len}
      - {id: padding, size: (-_io.pos) % 4}
"""


def test_positions_count_from_the_start_of_the_file_wherever_reading_starts(tmp_path: Path) -> None:
    items = [bytes([0xAA, size]) + bytes(size) + bytes(-(2 + size) % 4) for size in (1, 2, 3, 4, 5, 6)]
    data = b"".join(items)
    damaged = bytearray(data)
    damaged[len(items[0])] = 0
    spec = spec_of(ALIGNED, tmp_path, "aligned")
    assert thawline.verify(data, spec=spec).ok
    report = thawline.verify(bytes(damaged), spec=spec)
    assert (report.units, report.damaged_bytes) == (5, len(items[1]))
    with thawline.open(data, spec=spec) as cold:
        shown = inspect(cold, unit=3)
    assert [it.label for it in shown.stretches] == ["mark", "len", "body", "padding"]


COUNTED = """
meta: {id: counted, endian: le}
seq:
  - {id: magic, contents: CNT}
  - {id: count, type: u1}
  - {id: items, type: item, repeat: expr, repeat-expr: count}
types:
  item: {seq: [{id: number, type: u2}]}
"""


def test_bytes_after_a_structure_that_ends_are_told_and_kept(tmp_path: Path) -> None:
    spec = spec_of(COUNTED, tmp_path, "counted")
    data = b"CNT\x02" + bytes(4)
    assert thawline.verify(data, spec=spec).findings == ()
    (finding,) = thawline.verify(data + b"more", spec=spec).findings
    assert (finding.code.id, finding.severity, finding.detail["reason"]) == ("KSY108", "warning", "4 bytes from 0x8 on")
    thawline.salvage(data + b"more", tmp_path / "new", spec=spec)
    assert (tmp_path / "new").read_bytes() == data + b"more"


def test_a_structure_that_was_cut_names_the_rows_that_are_left(tmp_path: Path) -> None:
    spec = spec_of(COUNTED, tmp_path, "counted")
    (finding,) = thawline.verify(b"CNT\x03" + bytes(5), spec=spec).findings
    assert finding.hint.startswith("thawline cat --table items ")
    assert "cut copy" in str(finding.detail["looks_like"])
    with thawline.open(b"CNT\x03" + bytes(5), spec=spec, table="items") as cold:
        assert sum(batch.num_rows for batch in cold.batches()) == 2
