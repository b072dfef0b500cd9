"""Rules and checksums that kernels check."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from workshop import SAMPLES, Workshop

from thawline.engine.chunks import Chunk


def test_a_row_that_keeps_all_rules_is_read(shop: Workshop) -> None:
    [row] = shop.rows("rules", SAMPLES["rules"])
    assert row == {
        "equal": 7, "at_least": 10, "at_most": 20, "one_of": 3, "named": "two", "held": 30, "set_flag": True,
        "zeros": 0, "number": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("at", "byte", "path", "reason"),
    [
        (0, 0x6D, "/seq/0", "contents differ"),
        (4, 0, "/seq/0", "contents differ"),
        (5, 8, "/seq/1", "valid/eq"),
        (6, 9, "/seq/2", "valid/min"),
        (7, 21, "/seq/3", "valid/max"),
        (7, 0x80, "/seq/3", "valid/min"),
        (8, 2, "/seq/4", "valid/any-of"),
        (9, 3, "/seq/5", "valid/in-enum"),
        (10, 10, "/seq/6", "valid/expr"),
        (10, 31, "/seq/6", "valid/expr"),
        (11, 0x00, "/seq/7", "valid/eq"),
        (11, 0x81, "/seq/8", "valid/eq"),
        (12, 6, "/seq/9", "valid/expr"),
    ],
)
def test_a_broken_rule_is_reported_with_its_field_and_its_byte(
    shop: Workshop, at: int, byte: int, path: str, reason: str
) -> None:
    data = SAMPLES["rules"][:at] + bytes([byte]) + SAMPLES["rules"][at + 1 :]
    start = 0 if at < 5 else at
    assert shop.failure("rules", data) == (path, reason, start)


def test_bytes_after_the_end_break_the_rule_that_nothing_follows(shop: Workshop) -> None:
    assert shop.failure("rules", SAMPLES["rules"] + b"\0") == ("/seq/10", "valid/expr", 13)


def test_the_checksum_is_of_the_bytes_that_its_instance_names(shop: Workshop) -> None:
    row = SAMPLES["checked"]
    longer = struct.pack("<BIB", 8, 0, 1) + b"abc"
    [chunk] = shop.chunks("checked", row + longer, rows=2)
    assert isinstance(chunk, Chunk)
    assert chunk.checksums is not None
    assert chunk.checksums.to_pylist() == [crc32(b"\x03abc"), crc32(b"\x01a")]
    assert chunk.batch.to_pylist() == [{"crc": crc32(b"\x03abc")}, {"crc": 0}]


@pytest.mark.parametrize("covered", [4, 127, -2, -128])
def test_a_checksum_of_bytes_outside_the_structure_fails(shop: Workshop, covered: int) -> None:
    data = struct.pack("<BIb", 8, 0, covered) + b"abc" + bytes(300)
    path, reason, at = shop.failure("checked", data)
    assert (path, reason) == ("/types/body/instances/crc_input", "outside the structure")
    assert 0 <= at <= len(data)
