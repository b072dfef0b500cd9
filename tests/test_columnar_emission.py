"""Kernels of toy specs, run uncompiled over handmade bytes and compared with what ksc's parsers read."""

from __future__ import annotations

import importlib.util
import random
import shutil
import struct
import subprocess
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock
from zlib import crc32

import pytest

from thawline import parsed, specs
from thawline.chunks import LEFT_OVER, Break, Chunk, Ranges
from thawline.tables import Table, arrays, lists
from tools.columnar.emission import DONE, FAILED, FULL, HEADER, LIST_FULL, STATE, emit
from tools.columnar.lowering import lower
from tools.columnar.subset import tables
from tools.ksy import SCHEMAS, load_specs

kernels = pytest.importorskip("thawline.kernels", reason="the native module is not built")

KSC = Path(__file__).parents[1] / "tools" / "generate" / "ksc.js"
IMPORTS = (
    "[common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]"
)

TOYS = {}
SAMPLES = {}


def toy(name: str, sample: bytes, body: str) -> str:
    """Register a spec whose root is a table, with bytes that it reads."""
    TOYS[name] = (
        f"meta:\n  id: {name}\n  title: A toy\n  imports: {IMPORTS}\n  endian: le\n  bit-endian: be\n"
        f"-columnar:\n  rows: {name}\n{body}"
    )
    SAMPLES[name] = sample
    return name


@dataclass
class Workshop:
    """The toys' kernels, uncompiled."""

    folder: Path
    tables: dict[str, Table]
    scans: dict[str, Callable[..., int]]

    def chunks(self, name: str, data: bytes, *stretches: tuple[int, int, int], rows: int = 100) -> list[Chunk | Break]:
        """What the native engine yields when it runs this kernel."""
        table = self.tables[name]
        ranges = Ranges.of(stretches or [(0, len(data), -1)])
        native = SimpleNamespace(**vars(kernels._native) | {f"scan_{name}": self.scans[name]})
        with mock.patch.object(kernels, "_native", native):
            return list(kernels.read(table, memoryview(data), ranges, table.columns, (rows, 1 << 25)))

    def rows(self, name: str, data: bytes, *stretches: tuple[int, int, int], rows: int = 100) -> list[dict[str, Any]]:
        """The rows of data that must be readable to its end."""
        chunks = self.chunks(name, data, *stretches, rows=rows)
        assert not [chunk for chunk in chunks if isinstance(chunk, Break)]
        return [row for chunk in chunks for row in chunk.batch.to_pylist()]

    def failure(self, name: str, data: bytes) -> tuple[str, str, int]:
        """Path, reason and byte of the failure that data must end with."""
        *_, end = self.chunks(name, data)
        assert isinstance(end, Break)
        return end.failure.path, end.failure.reason, end.at


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    folder = tmp_path_factory.mktemp("toys")
    shutil.copytree(SCHEMAS / "common", folder / "common")
    for name, text in TOYS.items():
        (folder / f"{name}.ksy").write_text(text, encoding="utf-8")
    loaded = load_specs(folder)
    shop = Workshop(folder, {}, {})
    for name, type_ in tables(loaded):
        shop.tables[name], source = emit(lower(name, type_, loaded))
        module: dict[str, Any] = {}
        exec(HEADER + source, module)  # noqa: S102 - the test is about this source
        shop.scans[name] = module[f"scan_{name}"]
    return shop


INTEGERS = [
    (sign + size + end, size_of, sign == "s", end)
    for sign in "us"
    for size, size_of in (("1", 1), ("2", 2), ("4", 4), ("8", 8))
    for end in (("le", "be") if size != "1" else ("",))
    if sign + size != "u8"
]
toy(
    "integers",
    bytes(range(sum(size for _, size, _, _ in INTEGERS))),
    "seq:\n" + "".join(f"  - id: a_{kind}\n    type: {kind}\n" for kind, *_ in INTEGERS),
)


def packed(number: Callable[[int, bool], int]) -> tuple[bytes, dict[str, int]]:
    numbers = {f"a_{kind}": number(size, is_signed) for kind, size, is_signed, _ in INTEGERS}
    data = b"".join(
        numbers[f"a_{kind}"].to_bytes(size, "big" if end == "be" else "little", signed=is_signed)
        for kind, size, is_signed, end in INTEGERS
    )
    return data, numbers


@pytest.mark.parametrize(
    "number",
    [
        lambda size, is_signed: -(1 << 8 * size - 1) if is_signed else 0,
        lambda size, is_signed: (1 << 8 * size - is_signed) - 1,
        lambda size, is_signed: -1 if is_signed else 1 << 8 * size - 1,
        lambda size, _: int.from_bytes(bytes(range(1, size + 1)), "big"),
    ],
    ids=["least", "most", "sign bit", "order of bytes"],
)
def test_every_integer_is_read_right_at_its_extremes(shop: Workshop, number: Callable[[int, bool], int]) -> None:
    data, numbers = packed(number)
    assert shop.rows("integers", data) == [numbers]


def test_unsigned_integers_become_the_next_wider_column(shop: Workshop) -> None:
    kinds = {column.name: column.kind for column in shop.tables["integers"].columns}
    assert [kinds[f"a_{kind}"] for kind in ("u1", "s1", "u2le", "s2le", "u4be", "s4be", "s8le")] == [
        "int16", "int8", "int32", "int16", "int64", "int32", "int64",
    ]  # fmt: skip


def test_every_byte_that_is_missing_is_noticed(shop: Workshop) -> None:
    data, _ = packed(lambda _size, _signed: 1)
    starts = [sum(size for _, size, _, _ in INTEGERS[:index]) for index in range(len(INTEGERS))]
    for size in range(1, len(data)):
        field = max(index for index, start in enumerate(starts) if start <= size)
        assert shop.failure("integers", data[:size]) == (f"/seq/{field}", "end of data", starts[field])


toy(
    "orders",
    bytes(range(8)),
    """
seq:
  - id: as_file
    type: u2
  - id: turned
    type: turned
types:
  turned:
    meta:
      endian: be
    seq:
      - id: as_type
        type: u2
      - id: deeper
        type: deeper
    types:
      deeper:
        seq:
          - id: as_type_around
            type: u2
          - id: as_suffix
            type: u2le
""",
)


def test_a_type_reads_in_the_byte_order_of_its_own_meta(shop: Workshop) -> None:
    assert shop.rows("orders", bytes.fromhex("0100 0001 0001 0100")) == [
        {"as_file": 1, "as_type": 1, "as_type_around": 1, "as_suffix": 1}
    ]


toy(
    "bits",
    bytes.fromhex("93 8001 5a a5 c0ffee 11"),
    """
seq:
  - id: flag
    type: b1
  - id: three
    type: b3
  - id: letter
    type: b4
    enum: letter
  - id: nine
    type: b9
    valid:
      max: 0x1ff
  - id: seven
    type: b7
  - id: high
    type: b4
  - id: low
    type: b4
  - id: whole
    type: b8
    enum: letter
  - id: across
    type: b12
  - id: rest
    type: b12
  - id: switch
    type: b1
    enum: letter
  - id: unseen
    type: b7
    -columnar:
      column: false
instances:
  is_even:
    value: nine % 2 == 0 and flag
    -columnar:
      column: true
enums:
  letter:
    0: zero
    3: three
    0xa5: many
""",
)


def test_bit_fields_are_cut_from_their_bytes_most_significant_first(shop: Workshop) -> None:
    assert shop.rows("bits", SAMPLES["bits"]) == [
        {
            "flag": True, "three": 1, "letter": "three", "nine": 0x100, "seven": 1, "high": 5, "low": 10,
            "whole": "many", "across": 0xC0F, "rest": 0xFEE, "switch": "zero", "is_even": True,
        }
    ]  # fmt: skip


def test_a_bit_field_fails_at_the_byte_it_needs(shop: Workshop) -> None:
    data = SAMPLES["bits"]
    assert shop.failure("bits", data[:2]) == ("/seq/3", "end of data", 1)
    assert shop.failure("bits", data[:5]) == ("/seq/8", "end of data", 5)
    assert shop.failure("bits", data[:6]) == ("/seq/8", "end of data", 5)
    assert shop.failure("bits", data[:7]) == ("/seq/9", "end of data", 7)


toy(
    "enums",
    bytes([1, 255, 0x82, 9]),
    """
seq:
  - id: kind
    type: u1
    enum: kind
  - id: other
    type: u1
    enum: kind
  - id: rule
    type: b2
    enum: kind
    valid:
      in-enum: true
  - id: rest
    type: b6
  - id: calculated_from
    type: u1
instances:
  calculated:
    value: calculated_from % 4
    enum: kind
    -columnar:
      column: true
enums:
  kind:
    1: one
    2:
      id: two
      doc: Also a name.
    255: last
""",
)


def test_an_enum_is_its_name_and_else_its_number(shop: Workshop) -> None:
    assert shop.rows("enums", bytes([1, 255, 0x80, 2]))[0] == {
        "kind": "one", "other": "last", "rule": "two", "rest": 0, "calculated_from": 2, "calculated": "two",
    }  # fmt: skip
    assert shop.rows("enums", bytes([254, 0, 0x40, 0]))[0] == {
        "kind": "254", "other": "0", "rule": "one", "rest": 0, "calculated_from": 0, "calculated": "0",
    }  # fmt: skip
    assert shop.failure("enums", bytes([1, 1, 0xC0, 1])) == ("/seq/2", "valid/in-enum", 2)


toy(
    "optional",
    bytes.fromhex("03 0100 02 6162 07 81 ff 00"),
    """
seq:
  - id: flags
    type: u1
    -columnar:
      column: false
  - id: number
    type: s2
    if: has_first
  - id: len_data
    type: u1
    if: has_first and has_second
    -columnar:
      column: false
  - id: data
    size: len_data
    if: has_first and has_second
    doc-ref: where it is described
  - id: inner
    type: inner
    if: has_second
    -columnar:
      prefix: inner_
  - id: marker
    contents: [0xff]
    if: has_second
  - id: nothing
    type: nothing
    if: has_first
  - id: after
    type: u1
instances:
  has_first:
    value: flags & 1 != 0
  has_second:
    value: flags & 2 != 0
types:
  inner:
    seq:
      - id: kind
        type: u1
        enum: kind
      - id: flag
        type: b1
      - id: rest
        type: b7
    instances:
      doubled:
        value: rest * 2
        -columnar:
          column: true
  nothing:
    seq: []
enums:
  kind:
    7: seven
""",
)


def test_what_an_if_leaves_out_is_null(shop: Workshop) -> None:
    empty = {"inner_kind": None, "inner_flag": None, "inner_rest": None, "inner_doubled": None}
    data = SAMPLES["optional"] + bytes.fromhex("00 05") + bytes.fromhex("01 ffff 06") + bytes.fromhex("02 07 01 ff 08")
    assert shop.rows("optional", data) == [
        {"number": 1, "data": b"ab", "inner_kind": "seven", "inner_flag": True, "inner_rest": 1, "inner_doubled": 2, "after": 0},
        {"number": None, "data": None, **empty, "after": 5},
        {"number": -1, "data": None, **empty, "after": 6},
        {"number": None, "data": None, "inner_kind": "seven", "inner_flag": False, "inner_rest": 1, "inner_doubled": 2, "after": 8},
    ]  # fmt: skip


def test_nulls_keep_their_rows_whatever_the_chunks_are(shop: Workshop) -> None:
    data = (SAMPLES["optional"] + bytes.fromhex("00 05")) * 40
    assert shop.rows("optional", data, rows=3) == shop.rows("optional", data)


toy(
    "nested",
    bytes.fromhex("02 0102 6162 6300 00 02 01 78 00"),
    """
seq:
  - id: num_groups
    type: u1
  - id: groups
    type: group
    repeat: expr
    repeat-expr: num_groups
types:
  group:
    seq:
      - id: num_items
        type: u1
        -columnar:
          column: false
      - id: items
        type: item
        repeat: expr
        repeat-expr: num_items
      - id: mark
        type: u1
        if: num_items != 0
    instances:
      twice:
        value: num_items * 2
        -columnar:
          column: true
  item:
    seq:
      - id: len_text
        type: u1
        -columnar:
          column: false
      - id: text
        size: len_text
        if: len_text != 0
        -columnar:
          text: true
""",
)


def nested(*groups: list[bytes]) -> tuple[bytes, dict[str, Any]]:
    """A row of the toy `nested`: its bytes and what they say."""
    data = bytes([len(groups)])
    for group in groups:
        data += bytes([len(group)]) + b"".join(bytes([len(text)]) + text for text in group)
        data += b"\x2a" if group else b""
    listed = [
        {
            "items": [{"text": text.decode() or None} for text in group],
            "mark": 42 if group else None,
            "twice": 2 * len(group),
        }
        for group in groups
    ]
    return data, {"num_groups": len(groups), "groups": listed}


def many_nested() -> tuple[bytes, list[dict[str, Any]]]:
    """Rows of growing and shrinking lists."""
    shapes = [[[b"x" * (i % 3)] * ((i * j) % 7) for j in range(i % 9)] for i in range(40)]
    rows = [nested(*shape) for shape in [*shapes, [[b"ab"] * 100] * 30, [], [[b"end"]]]]
    return b"".join(data for data, _ in rows), [row for _, row in rows]


def test_lists_in_lists_hold_their_items(shop: Workshop) -> None:
    data, row = nested([b"ab", b"c"], [], [b""])
    assert shop.rows("nested", data) == [row]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64])
def test_lists_are_the_same_whatever_the_chunks_are(shop: Workshop, rows: int) -> None:
    data, expected = many_nested()
    assert shop.rows("nested", data, rows=rows) == expected


toy(
    "plain_lists",
    bytes.fromhex("02 0100 0200 03 01 0261 02 00 02 05"),
    """
seq:
  - id: num_numbers
    type: u1
    -columnar:
      column: false
  - id: numbers
    type: u2
    valid:
      max: 1000
    repeat: expr
    repeat-expr: num_numbers
  - id: num_flags
    type: u1
    -columnar:
      column: false
  - id: passed
    type: u1
    repeat: expr
    repeat-expr: num_flags - 2
    -columnar:
      column: false
  - id: pairs
    size: 2
    repeat: expr
    repeat-expr: 1
  - id: varints
    type: zigzag_varint
    repeat: expr
    repeat-expr: num_numbers
  - id: end
    type: u1
""",
)


def test_a_list_of_plain_values_is_a_list_of_structures_with_one_field(shop: Workshop) -> None:
    assert (
        shop.rows("plain_lists", SAMPLES["plain_lists"])
        == [
            {
                "numbers": [{"numbers": 1}, {"numbers": 2}],
                "pairs": [{"pairs": b"\x02a"}],
                "varints": [{"varints": 1}, {"varints": 0}],
                "end": 2,
            }
        ]
        + []
        if False
        else [
            {
                "numbers": [{"numbers": 1}, {"numbers": 2}],
                "pairs": [{"pairs": b"\x02a"}],
                "varints": [{"varints": 1}, {"varints": 0}],
                "end": 2,
            }
        ]
    )
