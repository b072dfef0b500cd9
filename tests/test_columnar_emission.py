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
from engines import calling

from thawline import native, specs
from thawline.compiler.emission import DONE, FAILED, FULL, HEADER, LIST_FULL, ROOM_BEHIND, STATE, emit
from thawline.compiler.lowering import lower
from thawline.compiler.subset import tables
from thawline.engine import parsed
from thawline.engine.chunks import LEFT_OVER, Break, Chunk, Ranges
from thawline.engine.tables import Table, arrays, lists
from thawline.ksy.documents import SCHEMAS, load_specs

kernels = pytest.importorskip("thawline.engine.kernels", reason="the native module is not built")

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

    def chunks(
        self, name: str, data: bytes, *stretches: tuple[int, int, int], rows: int = 100, only: str = ""
    ) -> list[Chunk | Break]:
        """What the native engine yields when it runs this kernel, for all columns or only one."""
        table = self.tables[name]
        wanted = [column for column in table.columns if only in ("", column.name)]
        ranges = Ranges.of(stretches or [(0, len(data), -1)])
        with calling(SimpleNamespace(**vars(native.functions) | {f"scan_{name}": self.scans[name]})):
            return list(kernels.read(table, memoryview(data), ranges, wanted, (rows, 1 << 25)))

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


def viewed(scan: Callable[..., int]) -> Callable[..., int]:
    """The kernel, which compiled takes an `array` for a memoryview by itself."""
    return lambda *arguments: scan(*(memoryview(item) if isinstance(item, array) else item for item in arguments))


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
        shop.scans[name] = viewed(module[f"scan_{name}"])
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
    inner = {"inner_kind": "seven", "inner_rest": 1, "inner_doubled": 2}
    absent = dict.fromkeys([*inner, "inner_flag"])
    data = SAMPLES["optional"] + bytes.fromhex("00 05") + bytes.fromhex("01 ffff 06") + bytes.fromhex("02 07 01 ff 08")
    assert shop.rows("optional", data) == [
        {"number": 1, "data": b"ab", **inner, "inner_flag": True, "after": 0},
        {"number": None, "data": None, **absent, "after": 5},
        {"number": -1, "data": None, **absent, "after": 6},
        {"number": None, "data": None, **inner, "inner_flag": False, "after": 8},
    ]


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
    bytes.fromhex("02 0100 0200 03 01 0261 02 00 02"),
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
    assert shop.rows("plain_lists", SAMPLES["plain_lists"]) == [
        {
            "numbers": [{"numbers": 1}, {"numbers": 2}],
            "pairs": [{"pairs": b"\x02a"}],
            "varints": [{"varints": 1}, {"varints": 0}],
            "end": 2,
        }
    ]


def test_a_rule_of_a_repeated_field_is_one_for_every_item(shop: Workshop) -> None:
    assert shop.failure("plain_lists", bytes.fromhex("02 0100 e903")) == ("/seq/1", "valid/max", 3)


def test_a_negative_count_is_no_items(shop: Workshop) -> None:
    assert shop.rows("plain_lists", bytes.fromhex("00 00 6161 05"))[0]["end"] == 5


WORDS = [
    "pos",
    "row",
    "end",
    "buf",
    "state",
    "byte",
    "shift",
    "count",
    "word",
    "one",
    "cython",
    "include",
    "cdef",
    "type",
]
toy(
    "awkward_names",
    bytes([1, 2, 3, 4, *range(len(WORDS))]),
    "seq:\n"
    + "".join(f"  - id: {word}\n    type: u1\n" for word in ("num_starts_1", "rows_1"))
    + "".join(
        f"  - id: {word}\n    type: u1\n    repeat: expr\n    repeat-expr: num_starts_1\n"
        for word in ("starts", "ends")
    )
    + "".join(f"  - id: {word}\n    type: u1\n" for word in WORDS),
)


def test_a_field_may_have_a_name_that_the_kernel_itself_uses(shop: Workshop) -> None:
    [row] = shop.rows("awkward_names", SAMPLES["awkward_names"])
    assert [row[word] for word in WORDS] == list(range(len(WORDS)))
    assert (row["starts"], row["ends"]) == ([{"starts": 3}], [{"ends": 4}])


toy(
    "parents",
    bytes.fromhex("06 02 01 05 02 06 07 ff"),
    """
seq:
  - id: len_body
    type: u1
    valid:
      expr: len_body > 3
  - id: body
    size: len_body
    type: body
  - id: after
    type: u1
types:
  body:
    seq:
      - id: num_items
        type: u1
      - id: items
        type: item
        repeat: expr
        repeat-expr: num_items
    instances:
      room:
        value: _io.size - num_items
  item:
    seq:
      - id: number
        type: u1
        valid:
          max: _parent.room
      - id: leaf
        type: leaf
  leaf:
    seq:
      - id: data
        size: '_parent.number == 1 ? 1 : _parent._parent.num_items'
      - id: is_last
        size: 0
        valid:
          expr: _parent._parent._parent.len_body == 6 or not _io.eof
""",
)


def test_an_item_knows_the_structures_around_it(shop: Workshop) -> None:
    assert shop.rows("parents", SAMPLES["parents"]) == [
        {
            "len_body": 6,
            "num_items": 2,
            "items": [{"number": 1, "data": b"\x05"}, {"number": 2, "data": b"\x06\x07"}],
            "after": 0xFF,
        }
    ]
    assert shop.failure("parents", bytes.fromhex("06 01 06 05 02 06 07 ff")) == ("/types/item/seq/0", "valid/max", 2)
    assert shop.failure("parents", bytes.fromhex("05 01 03 05 02 06")) == ("/seq/2", "end of data", 6)


toy(
    "bytes_of_all_kinds",
    bytes.fromhex("03 616263 7878 2e 00 05 0161 626364 656667"),
    """
seq:
  - id: len_sized
    type: u1
    -columnar:
      column: false
  - id: sized
    size: len_sized
  - id: ended
    terminator: 0x2e
    -columnar:
      text: true
  - id: empty
    terminator: 0
  - id: len_body
    type: u1
    -columnar:
      column: false
  - id: body
    size: len_body
    type: body
  - id: fixed
    size: 3
types:
  body:
    seq:
      - id: len_short
        type: u1
        -columnar:
          column: false
      - id: short
        size: len_short
      - id: rest_of_two
        type: rest_of_two
        size: 2
  rest_of_two:
    seq:
      - id: first
        type: u1
      - id: all_else
        size-eos: true
""",
)


def test_bytes_are_taken_by_size_to_the_end_and_up_to_a_terminator(shop: Workshop) -> None:
    """The fifth byte of the body is left over in its stream, and passed."""
    assert shop.rows("bytes_of_all_kinds", SAMPLES["bytes_of_all_kinds"]) == [
        {
            "sized": b"abc", "ended": "xx", "empty": b"", "short": b"a", "first": 0x62, "all_else": b"c",
            "fixed": b"efg",
        }
    ]  # fmt: skip


def test_bytes_that_do_not_fit_fail_where_they_start(shop: Workshop) -> None:
    data = SAMPLES["bytes_of_all_kinds"]
    assert shop.failure("bytes_of_all_kinds", data[:3]) == ("/seq/1", "does not fit", 1)
    assert shop.failure("bytes_of_all_kinds", data[:6]) == ("/seq/2", "terminator is missing", 4)
    assert shop.failure("bytes_of_all_kinds", data[:12]) == ("/seq/5", "does not fit", 9)
    too_long = bytes.fromhex("00 2e 00 03 0361")
    assert shop.failure("bytes_of_all_kinds", too_long + b"bcdef") == ("/types/body/seq/1", "does not fit", 5)


toy(
    "elsewhere",
    bytes.fromhex("08 ff 01 61 aa bbccdd 03"),
    """
seq:
  - id: len_body
    type: u1
  - id: body
    size: len_body
    type: body
types:
  body:
    seq:
      - id: ofs
        type: s1
      - id: len_data
        type: u1
        valid: len_by_tail
      - id: data
        size: len_data
      - id: num_peeks
        type: u1
        if: len_data > 1
    instances:
      tail:
        pos: _io.size - 1
        type: tail
        -columnar:
          column: true
          prefix: tail_
      len_by_tail:
        value: tail.number - 2
      in_middle:
        pos: 2
        type: u2be
        valid:
          max: 0xfffe
        -columnar:
          column: true
      slice:
        pos: len_data
        size: 2
        -columnar:
          column: true
      ofs_peek:
        value: 'ofs < 0 ? _io.size - 1 : ofs'
      peeked:
        pos: ofs_peek
        type: u1
        -columnar:
          column: true
      unused:
        pos: 1000000
        process: zlib
        size-eos: true
  tail:
    seq:
      - id: number
        type: u1
""",
)


def test_an_instance_reads_elsewhere_and_reading_goes_on_where_it_was(shop: Workshop) -> None:
    assert shop.rows("elsewhere", SAMPLES["elsewhere"]) == [
        {
            "len_body": 8, "ofs": -1, "tail_number": 3, "len_data": 1, "data": b"a", "num_peeks": None,
            "in_middle": 0x61AA, "slice": b"\x01\x61", "peeked": 3,
        }
    ]  # fmt: skip


def test_an_instance_beyond_its_structure_fails_at_a_byte_of_the_file(shop: Workshop) -> None:
    peeked = "/types/body/instances/peeked"
    data = bytes.fromhex("08 09 01 61 aa bbccdd 03")
    assert shop.failure("elsewhere", data) == (peeked, "position outside the structure", 4)
    data = bytes.fromhex("08 08 01 61 aa bbccdd 03")
    assert shop.failure("elsewhere", data) == (peeked, "end of data", 9)
    assert shop.failure("elsewhere", bytes([0])) == ("/types/body/seq/0", "end of data", 1)
    assert shop.failure("elsewhere", bytes.fromhex("08 00 01 ffff bbccdd 03"))[:2] == (
        "/types/body/instances/in_middle", "valid/max",
    )  # fmt: skip


toy(
    "in_blocks",
    bytes.fromhex("05 01 07 08 09 03  05 00 07 08 09 00"),
    """
seq:
  - id: len_body
    type: u1
    -columnar:
      column: false
  - id: body
    size: len_body
    type: body
types:
  body:
    seq:
      - id: has_more
        type: u1
      - id: more
        type: u1
        if: has_more != 0 and has_more < 255
      - id: picky
        size: last.number - 2
        if: has_more != 0
    instances:
      last:
        pos: _io.size - 1
        type: last
        -columnar:
          column: true
  last:
    seq:
      - id: number
        type: u1
""",
)


def test_an_instance_first_used_under_an_if_is_a_column_of_every_row(shop: Workshop) -> None:
    assert shop.rows("in_blocks", SAMPLES["in_blocks"]) == [
        {"has_more": 1, "more": 7, "picky": b"\x08", "number": 3},
        {"has_more": 0, "more": None, "picky": None, "number": 0},
    ]


toy(
    "calculated",
    bytes.fromhex("05 fe 80ffffff"),
    """
seq:
  - id: a
    type: u1
  - id: b
    type: s1
  - id: c
    type: s4
instances:
  sum:
    value: a + b * 2 - (c >> 3)
    -columnar:
      column: true
  rest:
    value: c % 7
    -columnar:
      column: true
  mixed:
    value: (a & 0xf0 | b & 0x0f) ^ 0x155
    -columnar:
      column: true
  turned:
    value: ~c << 2
    -columnar:
      column: true
  choice:
    value: 'a > 100 ? -1 : b < 0 ? 0x100000000 : -0x8000000000000000'
    -columnar:
      column: true
  is_odd:
    value: not (a % 2 == 0) and b != 3 or c == 9
    -columnar:
      column: true
  same:
    value: is_odd == (a == 5)
    -columnar:
      column: true
  unseen:
    value: a
""",
)


def test_calculated_values_are_columns_of_numbers_and_of_flags(shop: Workshop) -> None:
    for a, b, c in [(5, -2, -128), (200, 127, 1 << 30), (0, 0, -(1 << 31)), (0, -128, (1 << 31) - 1), (100, 3, 9)]:
        [row] = shop.rows("calculated", struct.pack("<Bbi", a, b, c))
        assert row == {
            "a": a, "b": b, "c": c, "sum": a + b * 2 - (c >> 3), "rest": c % 7,
            "mixed": (a & 0xF0 | b & 0x0F) ^ 0x155, "turned": ~c << 2,
            "choice": -1 if a > 100 else 1 << 32 if b < 0 else -(1 << 63),
            "is_odd": (a % 2 != 0 and b != 3) or c == 9,
            "same": ((a % 2 != 0 and b != 3) or c == 9) == (a == 5),
        }  # fmt: skip


toy(
    "rules",
    b"MAGIC" + bytes([7, 10, 20, 3, 2, 30, 0x80, 5]),
    """
seq:
  - id: magic
    contents: [MAG, 0x49, 67]
  - id: equal
    type: u1
    valid: 7
  - id: at_least
    type: u1
    valid:
      min: equal + 3
  - id: at_most
    type: s1
    valid:
      max: 20
      min: -20
  - id: one_of
    type: u1
    valid:
      any-of: [1, 3, equal]
  - id: named
    type: u1
    enum: named
    valid:
      in-enum: true
  - id: held
    type: u1
    valid:
      expr: _ > at_least and _ % 3 == 0
  - id: set_flag
    type: b1
    valid: true
  - id: zeros
    type: b7
    valid: 0
  - id: pair
    type: pair
    valid:
      expr: _.number == 5 or _.is_big
  - id: the_end
    size: 0
    valid:
      expr: _io.eof
types:
  pair:
    seq:
      - id: number
        type: u1
    instances:
      is_big:
        value: number > 200
enums:
  named:
    2: two
    4: four
""",
)


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


toy(
    "checked",
    struct.pack("<BIB", 8, crc32(b"\x03abc"), 3) + b"abc",
    """
seq:
  - id: len_body
    type: u1
    -columnar:
      column: false
  - id: body
    size: len_body
    type: body
types:
  body:
    seq:
      - id: crc
        type: u4
      - id: len_covered
        type: s1
        -columnar:
          column: false
    instances:
      crc_input:
        pos: 4
        size: len_covered + 1
        -columnar:
          checksum: crc32
""",
)


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


toy(
    "numbers",
    bytes.fromhex("01 02") + b"12 -7\n" + b"a\\ b c\n",
    """
seq:
  - id: small
    type: zigzag_varint
  - id: large
    type: zigzag_varlong
  - id: word
    type: decimal_word
    valid:
      expr: _.value != 13
  - id: line
    type: decimal_line
  - id: token
    type: escaped_token(0x20)
  - id: last
    type: 'escaped_token(small.value < 0 ? 0x0a : 0x20)'
instances:
  is_negative:
    value: line.value < 0
    -columnar:
      column: true
""",
)


def zigzag(number: int) -> bytes:
    rest, groups = number << 1 if number >= 0 else (-number << 1) - 1, []
    while rest > 127:
        groups.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*groups, rest])


def numbers(small: bytes = b"\0", large: bytes = b"\0", text: bytes = b"0 0\n") -> bytes:
    return small + large + text + b"t t "


@pytest.mark.parametrize("small", [0, -1, 1, 63, 64, -64, -65, (1 << 31) - 1, -(1 << 31)])
@pytest.mark.parametrize("large", [0, -1, 8191, 8192, (1 << 63) - 1, -(1 << 63), (1 << 62), -(1 << 62) - 1])
def test_varints_are_read_right_up_to_their_limits(shop: Workshop, small: int, large: int) -> None:
    data = numbers(zigzag(small), zigzag(large))[:-1] + (b"\n" if small < 0 else b" ")
    [row] = shop.rows("numbers", data)
    assert (row["small"], row["large"]) == (small, large)


def test_a_varint_may_be_longer_than_needed_but_not_larger_than_its_type(shop: Workshop) -> None:
    assert shop.rows("numbers", numbers(b"\x82\x80\x80\x80\x00"))[0]["small"] == 1
    assert shop.rows("numbers", numbers(large=b"\x82" + b"\x80" * 8 + b"\x00"))[0]["large"] == 1
    for wrong in (b"\xff\xff\xff\xff\x10", b"\xff\xff\xff\xff\x80\x00", b"\x80", b"\xff" * 12):
        assert shop.failure("numbers", wrong) == ("/seq/0", "no varint", 0)
    for wrong in (b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\x80" * 3):
        assert shop.failure("numbers", b"\x00" + wrong) == ("/seq/1", "no varint", 1)


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "-1", "007", "9223372036854775807", "-9223372036854775808", "00000000000000000009223372036854775807"],
)
def test_decimals_are_read_right_up_to_the_limits_of_64_bits(shop: Workshop, text: str) -> None:
    [row] = shop.rows("numbers", numbers(text=f"{text} {text}\n".encode()))
    assert (row["word"], row["line"], row["is_negative"]) == (int(text), int(text), int(text) < 0)


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "+1", " 1", "1_0", "1x", "--1", "1-", "0x1", "9223372036854775808", "-9223372036854775809",
        "18446744073709551616", "99999999999999999999999999", "1\n", "1\t",
    ],
)  # fmt: skip
def test_what_is_no_decimal_number_fails_where_it_starts(shop: Workshop, text: str) -> None:
    assert shop.failure("numbers", numbers(text=f"{text} 1\n".encode())) == ("/seq/2", "no decimal number", 2)


def test_a_decimal_number_that_breaks_its_rule_fails_where_it_starts(shop: Workshop) -> None:
    assert shop.failure("numbers", numbers(text=b"13 1\n")) == ("/seq/2", "valid/expr", 2)


def test_tokens_lose_their_escapes_and_end_at_a_bare_terminator(shop: Workshop) -> None:
    head = b"\0\0" + b"1 1\n"
    [row] = shop.rows("numbers", head + b"a\\ b\\\\ \\\n ")
    assert (row["token"], row["last"]) == ("a b\\", "\n")
    [row] = shop.rows("numbers", head + b"  ")
    assert (row["token"], row["last"]) == ("", "")
    [row] = shop.rows("numbers", b"\x01\0" + b"1 1\n" + b"x y z\n")
    assert (row["token"], row["last"]) == ("x", "y z")
    for cut in (b"abc", b"abc\\", b"abc\\ "):
        assert shop.failure("numbers", head + cut) == ("/seq/4", "terminator is missing", 6)


@dataclass
class Run:
    """One call of a kernel: what it returned and what it left in its arrays."""

    status: int
    state: list[int]
    arrays: dict[str, list[int]]


def run(
    shop: Workshop,
    name: str,
    buf: Any,
    stretches: list[tuple[int, int, int]],
    *,
    rows: int,
    items: int = 0,
    size: int = 1 << 12,
) -> Run:
    """Call a kernel once, with room for so many rows, items of each list, and bytes of each column; 0: for places."""
    table = shop.tables[name]
    ranges = Ranges.of(stretches)
    state = array("q", bytes(8 * (len(STATE) + len(list(lists(table.columns))))))
    state[2] = ranges.starts[0]
    places = {place: array(code, [0] * rows) for place, code in (("starts", "q"), ("ends", "q"), ("ranges", "i"))}
    sizes = [it.width * (items if len(it.path) > 1 else rows) + (it.part == "offset") for it in arrays(table)]
    filled = {
        "__".join((*it.path, it.part)): array(it.typecode, [0] * (size if it.part == "data" else count))
        for it, count in zip(arrays(table), sizes, strict=True)
    }
    if not size:
        filled = {key: array(code.typecode) if key.endswith("__offset") else code for key, code in filled.items()}
    rooms = array("q", [items for _ in lists(table.columns)])
    status = shop.scans[name](
        buf, ranges.starts, ranges.ends, ranges.counts, 1 << 40, state, rooms, *places.values(), *filled.values()
    )
    return Run(status, list(state), {key: list(values) for key, values in (places | filled).items()})


def test_a_kernel_stops_at_the_start_of_the_row_that_has_no_room(shop: Workshop) -> None:
    data = bytes(range(18))
    assert len(data) == 3 * shop.tables["calculated"].least_size
    found = run(shop, "calculated", data, [(0, 18, -1)], rows=2)
    assert found.status == FULL
    assert found.state[:4] == [0, 2, 12, 2]
    assert found.arrays["starts"] == [0, 6]
    assert found.arrays["ends"] == [6, 12]
    assert run(shop, "calculated", data, [(0, 18, -1)], rows=3).status == DONE


def test_a_kernel_stops_at_the_start_of_the_row_whose_items_have_no_room(shop: Workshop) -> None:
    first, second = nested([b"a"])[0], nested([b"b"], [b"c", b"d"])[0]
    stretch = [(0, len(first + second), -1)]
    found = run(shop, "nested", first + second, stretch, rows=9, items=2)
    assert found.status == LIST_FULL
    assert found.state[:4] == [0, 1, len(first), 1]
    assert found.state[len(STATE) :] == [1, 1]
    found = run(shop, "nested", first + second, stretch, rows=9, items=3)
    assert found.status == LIST_FULL + 1
    assert found.state[:4] == [0, 1, len(first), 1]
    assert run(shop, "nested", first + second, stretch, rows=9, items=4).status == DONE


def test_a_kernel_stops_at_the_start_of_the_row_whose_bytes_have_no_room(shop: Workshop) -> None:
    first, second = nested([b"abc"])[0], nested([b"defgh"])[0]
    stretch = [(0, len(first + second), -1)]
    found = run(shop, "nested", first + second, stretch, rows=9, items=9, size=8 + ROOM_BEHIND - 1)
    assert found.status == LIST_FULL + 2  # behind the two lists
    assert found.state[:4] == [0, 1, len(first), 1]
    assert found.state[STATE.index("at")] == len(b"abcdefgh")
    whole = run(shop, "nested", first + second, stretch, rows=9, items=9, size=8 + ROOM_BEHIND)
    assert whole.status == DONE
    assert whole.arrays["groups__items__text__offset"][:3] == [0, 3, 8]
    assert bytes(whole.arrays["groups__items__text__data"][:8]) == b"abcdefgh"


@pytest.mark.parametrize("name", TOYS)
def test_a_column_alone_is_what_it_is_among_all(shop: Workshop, name: str) -> None:
    whole, *_ = shop.chunks(name, SAMPLES[name])
    for column in shop.tables[name].columns:
        chunk, *_ = shop.chunks(name, SAMPLES[name], only=column.name)
        assert chunk.batch.equals(whole.batch.select([column.name]))


def test_arrays_of_columns_that_were_not_asked_for_may_be_empty(shop: Workshop) -> None:
    table, data = shop.tables["nested"], many_nested()[0]
    state = array("q", bytes(8 * (len(STATE) + 2)))
    rows, nothing = [array(code, [0] * 99) for code in "qqi"], [array(it.typecode) for it in arrays(table)]
    rooms = array("q", [1 << 62, 1 << 62])
    ranges = Ranges.of([(0, len(data), -1)])
    status = shop.scans["nested"](
        data, ranges.starts, ranges.ends, ranges.counts, 1 << 40, state, rooms, *rows, *nothing
    )
    assert (status, state[3]) == (DONE, len(many_nested()[1]))


def test_a_failure_leaves_its_code_its_byte_and_the_start_of_its_row(shop: Workshop) -> None:
    data = SAMPLES["rules"]
    found = run(shop, "rules", data[:6] + b"\0" + data[7:], [(0, len(data), -1)], rows=2)
    assert found.status == FAILED
    range_index, range_rows, pos, row, code, at, _first = found.state
    assert (range_index, range_rows, pos, row, at) == (0, 0, 0, 0, 6)
    assert shop.tables["rules"].failures[code].reason == "valid/min"


def test_ranges_are_read_one_after_the_other_with_their_counts(shop: Workshop) -> None:
    stretches = [(1, 13, -1), (13, 13, -1), (20, 26, 1), (30, 42, 2), (54, 54, 0)]
    found = run(shop, "calculated", bytes(range(60)), stretches, rows=9)
    assert found.status == DONE
    assert found.state[3] == 5
    assert found.arrays["starts"][:5] == [1, 7, 20, 30, 36]
    assert found.arrays["ranges"][:5] == [0, 0, 2, 3, 3]


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_a_broken_range_ends_there_and_the_next_is_read(shop: Workshop, rows: int) -> None:
    data = bytes(range(60))
    found = shop.chunks("calculated", data, (0, 8, -1), (10, 16, -1), (20, 40, 2), (48, 60, 3), rows=rows)
    breaks = [(end.failure.reason, end.start, end.at, end.range_index) for end in found if isinstance(end, Break)]
    assert breaks == [("end of data", 6, 8, 0), (LEFT_OVER, 32, 32, 2), ("end of data", 60, 60, 3)]
    starts = [start for chunk in found if isinstance(chunk, Chunk) for start in chunk.starts.to_pylist()]
    assert starts == [0, 10, 20, 26, 48, 54]


class Endless:
    """A buffer of many gigabytes that holds a few bytes: lengths at their places, zeros elsewhere."""

    def __init__(self, **lengths: int) -> None:
        self.bytes = {
            int(at[1:]) + index: byte
            for at, length in lengths.items()
            for index, byte in enumerate(length.to_bytes(4, "little"))
        }

    def __getitem__(self, at: int) -> int:
        return self.bytes.get(at, 0)


toy(
    "huge",
    bytes.fromhex("02000000 6162"),
    """
seq:
  - id: len_data
    type: u4
  - id: data
    size: len_data
""",
)
toy(
    "huge_lists",
    bytes.fromhex("01 02000000 6162"),
    """
seq:
  - id: num_parts
    type: u1
  - id: parts
    type: part
    repeat: expr
    repeat-expr: num_parts
types:
  part:
    seq:
      - id: len_data
        type: u4
      - id: data
        size: len_data
""",
)
LONGEST = (1 << 31) - 1


def test_a_value_longer_than_a_column_can_hold_fails(shop: Workshop) -> None:
    found = run(shop, "huge", Endless(p0=LONGEST + 1), [(0, 1 << 40, 1)], rows=1, size=0)
    assert found.status == FAILED
    assert shop.tables["huge"].failures[found.state[4]].reason == "longer than a column can hold"
    assert run(shop, "huge", Endless(p0=LONGEST), [(0, 4 + LONGEST, 1)], rows=1, size=0).status == DONE


def test_a_chunk_ends_before_its_bytes_are_more_than_a_column_can_hold(shop: Workshop) -> None:
    buf = Endless(p0=LONGEST // 2, **{f"p{4 + LONGEST // 2}": LONGEST})
    found = run(shop, "huge", buf, [(0, 1 << 40, 2)], rows=9, size=0)
    assert found.status == FULL
    assert found.state[:4] == [0, 1, 4 + LONGEST // 2, 1]


def test_a_row_whose_list_has_more_bytes_than_a_column_can_hold_fails(shop: Workshop) -> None:
    buf = Endless(p1=LONGEST // 2, **{f"p{5 + LONGEST // 2}": LONGEST // 2 + 1})
    buf.bytes[0] = 2
    found = run(shop, "huge_lists", buf, [(0, 1 << 40, 1)], rows=9, items=9, size=0)
    assert found.status == FAILED
    assert shop.tables["huge_lists"].failures[found.state[4]].reason == "longer than a batch can hold"
    assert found.state[5] == 0


@pytest.fixture(scope="session")
def parsers(shop: Workshop) -> Path:
    """Folder of what ksc makes of the toys."""
    if not (shutil.which("node") and (KSC.parent / "node_modules").is_dir()):
        pytest.skip("the Kaitai Struct compiler runs on Node.js and is installed by `make generate`")
    target = shop.folder / "out"
    for build in ("parsers", "structures"):
        (target / build).mkdir(parents=True)
    command = ["node", KSC, shop.folder, target / "parsers", target / "structures"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    return target


def parsed_chunks(shop: Workshop, folder: Path, name: str, data: bytes) -> list[Chunk | Break]:
    """What the plain engine yields with ksc's parser of a toy."""

    def load(build: str, spec: str) -> Any:
        module = importlib.util.spec_from_file_location(f"toys.{spec}", folder / build / f"{spec}.py")
        assert module is not None
        assert module.loader is not None
        loaded: ModuleType = importlib.util.module_from_spec(module)
        module.loader.exec_module(loaded)
        return getattr(loaded, specs.class_name(spec))

    table = shop.tables[name]
    with mock.patch.object(specs, "_load", load):
        return list(
            parsed.read(table, memoryview(data), Ranges.of([(0, len(data), -1)]), table.columns, (100, 1 << 25))
        )


def mutants(name: str, count: int) -> Iterator[bytes]:
    """The toy's sample, then the sample once or twice with some bytes changed, cut, put in."""
    chance = random.Random(name)
    yield SAMPLES[name]
    for _ in range(count):
        data = bytearray(SAMPLES[name] * chance.choice([1, 1, 2]))
        for _ in range(chance.choice([1, 1, 2, 4])):
            at = chance.randrange(len(data))
            match chance.randrange(6):
                case 0 | 1:
                    data[at] ^= 1 << chance.randrange(8)
                case 2 | 3:
                    data[at] = chance.choice([0, 1, 2, 9, 0x20, 0x5C, 0x7F, 0x80, 0xFF])
                case 4:
                    data[at:at] = chance.randbytes(chance.randrange(1, 4))
                case 5 if at:
                    del data[at:]
        yield bytes(data)


def told(chunks: list[Chunk | Break]) -> tuple[list[tuple[int, int, str, int]], list[int]]:
    """Rows with their places and checksums, and the starts of rows that failed."""
    rows = [
        row
        for chunk in chunks
        if isinstance(chunk, Chunk)
        for row in zip(
            chunk.starts.to_pylist(),
            chunk.ends.to_pylist(),
            map(str, chunk.batch.to_pylist()),
            chunk.checksums.to_pylist() if chunk.checksums else [0] * len(chunk),
            strict=True,
        )
    ]
    return rows, [end.start for end in chunks if isinstance(end, Break)]


STRICTER = {
    "no decimal number": "ksc's parser takes what Python's int() takes",
    "outside the structure": "ksc's parser looks at the bytes of a checksum only when it is asked for them",
}
"""Where the kernel refuses more than the parser does, and why."""


@pytest.mark.parametrize("name", TOYS)
def test_a_kernel_reads_what_the_parser_of_the_same_spec_reads(shop: Workshop, parsers: Path, name: str) -> None:
    for data in mutants(name, 60):
        found = shop.chunks(name, data)
        if not any(isinstance(end, Break) and end.failure.reason in STRICTER for end in found):
            assert told(found) == told(parsed_chunks(shop, parsers, name, data)), data.hex()


@pytest.mark.parametrize("name", TOYS)
def test_no_row_is_smaller_than_the_least_that_was_computed(shop: Workshop, name: str) -> None:
    for data in mutants(name, 60):
        rows, _ = told(shop.chunks(name, data))
        assert all(end - start >= shop.tables[name].least_size for start, end, *_ in rows)
