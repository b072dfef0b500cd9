"""Toy specs lowered: what each construct becomes, and what is refused at which line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from thawline.compiler import ir
from thawline.compiler.lowering import lower
from thawline.compiler.subset import tables
from thawline.engine.tables import Checksum, Column, Failure
from thawline.ksy.documents import SCHEMAS, Spec, SpecError, load_specs

COMMON = load_specs(SCHEMAS / "common")
HEAD = "meta:\n  id: toy\n  endian: le\n  bit-endian: be\n-columnar:\n  rows: toys\n"
"""The toys' head; a spec that begins with `meta` brings its own."""


def load(folder: Path, text: str, **others: str) -> dict[str, Spec]:
    """A spec called toy, and others, with the common ones beside them."""
    for name, body in {"toy": text, **others}.items():
        head = HEAD if name == "toy" else f"meta:\n  id: {name}\n"
        whole = body if body.startswith("meta") else head + body
        (folder / f"{name}.ksy").write_text(whole, encoding="utf-8")
    return load_specs(folder) | COMMON


def kernel(folder: Path, text: str, **others: str) -> ir.Kernel:
    specs = load(folder, text, **others)
    [(name, type_)] = tables(specs)
    return lower(name, type_, specs)


def refusal(folder: Path, text: str, **others: str) -> tuple[str, str]:
    """Where in the toy the refusal points, and what it says."""
    with pytest.raises(SpecError) as caught:
        kernel(folder, text, **others)
    found = re.fullmatch(r"(.*):(\d+:\d+): (.*)", str(caught.value))
    assert found
    assert found[1] == str(folder / "toy.ksy")
    return found[2], found[3]


def place_of(text: str) -> tuple[str, str]:
    """The text without its mark, and where the mark was, as line:column of the file."""
    before, _, after = text.partition("§")
    whole = before if before.startswith("meta") else HEAD + before
    return before + after, f"{whole.count(chr(10)) + 1}:{len(whole) - whole.rfind(chr(10))}"


def walk(body: list[ir.Statement]) -> Iterator[ir.Statement]:
    """All statements at every depth."""
    for statement in body:
        yield statement
        for inner in ("body", "otherwise"):
            yield from walk(getattr(statement, inner, []))


def kinds(body: list[ir.Statement]) -> list[str]:
    return [type(statement).__name__ for statement in body]


def test_an_integer_is_read_checked_and_stored(tmp_path: Path) -> None:
    found = kernel(tmp_path, "seq:\n  - id: a\n    type: s2be\n    valid: 7\n")
    a = ir.Variable("a_1")
    failure = Failure("toy", "/seq/0", "end of data")
    assert found.body == [
        ir.ReadInteger(a, 2, is_signed=True, is_big_endian=True, failure=failure, end=ir.END),
        ir.Check(
            ir.compare("==", a, ir.Constant(7)),
            Failure("toy", "/seq/0", "valid/eq"),
            ir.minus(ir.POSITION, ir.Constant(2)),
        ),
        ir.Store(ir.Rows(), "a", "value", a),
    ]
    assert found.columns == (Column("a", "int16", ("a",)),)
    assert (found.table, found.spec, found.variables) == ("toys", "toy", ("a_1",))


def test_a_rule_tells_later_expressions_how_large_a_field_is(tmp_path: Path) -> None:
    text = "seq:\n  - id: a\n    type: s8\n{}  - id: b\n    size: a * 2\n"
    bounded = kernel(tmp_path, text.format("    valid:\n      min: 1\n      max: 9\n"))
    [take] = [statement for statement in bounded.body if isinstance(statement, ir.Take)]
    assert take.least == 2
    assert ir.least_size(bounded.body) == 10
    assert "may not fit 64 bits" in refusal(tmp_path, text.format(""))[1]


def test_a_rule_may_call_its_own_field_by_name(tmp_path: Path) -> None:
    found = kernel(tmp_path, "seq:\n  - id: a\n    type: u1\n    valid:\n      expr: a > 3 and a < 9\n")
    [check] = [statement for statement in found.body if isinstance(statement, ir.Check)]
    assert ir.Variable("a_1") in getattr(check.condition, "operands", ())[0].operands


def test_contents_are_expected_and_stored_nowhere(tmp_path: Path) -> None:
    found = kernel(tmp_path, "seq:\n  - id: m\n    contents: [RBF, 0x31]\n  - id: a\n    type: u1\n")
    [expect] = [statement for statement in found.body if isinstance(statement, ir.Expect)]
    assert expect.contents == b"RBF1"
    assert [column.name for column in found.columns] == ["a"]


def test_bit_fields_that_share_bytes_are_cut_from_one_word(tmp_path: Path) -> None:
    found = kernel(
        tmp_path, "seq:\n" + "".join(f"  - id: f{i}\n    type: b{w}\n" for i, w in enumerate((4, 6, 6, 8, 1, 7)))
    )
    words = [statement for statement in found.body if isinstance(statement, ir.ReadBits)]
    assert [(word.target.name, word.size, word.goes_on) for word in words] == [
        ("bits_1", 1, False),
        ("bits_1", 1, True),
        ("bits_2", 1, False),
        ("bits_3", 1, False),
    ]
    assert [(column.name, column.kind) for column in found.columns] == [
        ("f0", "int8"), ("f1", "int8"), ("f2", "int8"), ("f3", "int16"), ("f4", "bool"), ("f5", "int8"),
    ]  # fmt: skip


def test_an_if_stores_nulls_where_it_does_not_hold(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: a\n    type: u1\n  - id: b\n    type: inner\n    if: a == 1\n"
        "types:\n  inner:\n    seq:\n      - id: n\n        type: u1\n      - id: s\n        size: n\n",
    )
    when = found.body[-1]
    assert isinstance(when, ir.When)
    assert when.condition == ir.compare("==", ir.Variable("a_1"), ir.Constant(1))
    assert when.otherwise == [
        ir.Store(ir.Rows(), "n", "value", ir.Constant(0)),
        ir.Store(ir.Rows(), "n", "valid", ir.Constant(0)),
        ir.Store(ir.Rows(), "s", "start", ir.Constant(0)),
        ir.Store(ir.Rows(), "s", "length", ir.Constant(-1)),
        ir.Gather(ir.Rows(), "s", None, ir.Constant(0), nullable=True),
    ]
    assert [(column.name, column.nullable) for column in found.columns] == [("a", False), ("n", True), ("s", True)]


def test_a_structure_with_a_size_is_read_in_a_stream_of_its_own(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: b\n    size: 4\n    type: inner\ntypes:\n  inner:\n    seq:\n      - id: n\n        type: u1\n",
    )
    start, end = ir.Variable("b_start_1"), ir.Variable("b_end_1")
    [stream] = found.body
    assert isinstance(stream, ir.Stream)
    assert (stream.take.start, stream.end) == (start, end)
    assert kinds(stream.body) == ["ReadInteger", "Store"]
    assert isinstance(stream.body[0], ir.ReadInteger)
    assert stream.body[0].end == end
    assert found.columns[0].attributes == ("b", "n")
    assert ir.least_size(found.body) == 4


def test_a_repeated_field_is_a_loop_that_fills_a_list(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: n\n    type: u1\n  - id: l\n    type: item\n    repeat: expr\n    repeat-expr: n\n"
        "types:\n  item:\n    seq:\n      - id: v\n        type: u4\n",
    )
    loop, store = found.body[-2:]
    assert isinstance(loop, ir.Loop)
    assert loop.count == ir.Variable("n_1")
    assert loop.rows == ir.Rows(("l",))
    assert ir.Store(ir.Rows(("l",)), "v", "value", ir.Variable("v_1")) in loop.body
    assert store == ir.Store(ir.Rows(), "l", "value", ir.Variable("rows__l"))
    assert found.columns[1] == Column("l", "list", ("l",), items=(Column("v", "int64", ("v",)),), least_size=4)


def test_a_list_of_plain_values_leads_to_the_values_themselves(tmp_path: Path) -> None:
    found = kernel(
        tmp_path, "seq:\n  - id: l\n    type: u2\n    repeat: expr\n    repeat-expr: 3\n  - id: a\n    type: u1\n"
    )
    assert found.columns[0].items == (Column("l", "int32", ()),)


def test_a_field_that_is_no_column_is_read_all_the_same(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: a\n    type: u1\n    -columnar:\n      column: false\n  - id: l\n    type: u1\n"
        "    repeat: expr\n    repeat-expr: a\n    -columnar:\n      column: false\n  - id: c\n    type: u1\n",
    )
    assert [column.name for column in found.columns] == ["c"]
    [loop] = [statement for statement in found.body if isinstance(statement, ir.Loop)]
    assert loop.rows is None
    assert kinds(loop.body) == ["ReadInteger"]


def test_an_instance_elsewhere_is_read_once_and_reading_resumes(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: b\n    size: 9\n    type: inner\ntypes:\n  inner:\n"
        "    seq:\n      - id: a\n        size: last - 1\n      - id: c\n        size: last\n"
        "    instances:\n      last:\n        pos: _io.size - 1\n        type: u1\n",
    )
    [elsewhere] = [statement for statement in walk(found.body) if isinstance(statement, ir.Elsewhere)]
    assert kinds(elsewhere.body) == ["ReadInteger"]
    assert (elsewhere.base, elsewhere.end) == (ir.Variable("b_start_1"), ir.Variable("b_end_1"))
    assert [column.name for column in found.columns] == ["a", "c"]


def test_an_instance_computed_in_a_block_is_computed_again_after_it(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: a\n    type: u1\n  - id: b\n    size: twice\n    if: a > 1\n  - id: c\n    size: twice\n"
        "instances:\n  twice:\n    value: a * 2\n",
    )
    targets = [statement.target.name for statement in walk(found.body) if isinstance(statement, ir.Assign)]
    assert targets == ["twice_1", "twice_2"]


def test_a_checksum_names_its_range_and_its_column(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: b\n    size: 9\n    type: inner\n    -columnar:\n      prefix: b_\ntypes:\n  inner:\n"
        "    seq:\n      - id: crc\n        type: u4\n"
        "    instances:\n      crc_input:\n        pos: 4\n        size-eos: true\n        -columnar:\n"
        "          checksum: crc32c\n",
    )
    assert found.checksum == Checksum("b_crc", "crc32c", ("b", "crc_input"))
    stores = [(s.part, s.value) for s in walk(found.body) if isinstance(s, ir.Store) and not s.column]
    assert stores == [("checksum_start", ir.Variable("covered_1")), ("checksum_end", ir.Variable("b_end_1"))]


def test_intrinsics_are_read_by_statements_of_their_own(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: v\n    type: zigzag_varint\n  - id: w\n    type: zigzag_varlong\n"
        "  - id: d\n    type: decimal_line\n"
        "  - id: t\n    type: 'escaped_token(v.value > 0 ? 0x20 : 0x0a)'\n  - id: s\n    size: v.value\n",
    )
    assert [kind for kind in kinds(found.body) if kind not in ("Assign", "Store", "Check")] == [
        "ReadZigzag", "ReadZigzag", "ReadDecimal", "TakeUntil", "Take", "Gather",
    ]  # fmt: skip
    assert [column.kind for column in found.columns] == ["int32", "int64", "int64", "escaped", "binary"]
    assert ir.least_size(found.body) == 5


def test_the_nearest_type_and_enum_of_a_name_are_used(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: a\n    type: one\n  - id: b\n    type: two\n"
        "types:\n"
        "  one:\n    seq:\n      - id: x\n        type: leaf\n        -columnar:\n          prefix: one_\n"
        "    types:\n      leaf:\n        seq:\n          - id: v\n            type: u1\n            enum: e\n"
        "        enums:\n          e:\n            1: from_one\n"
        "  two:\n    seq:\n      - id: x\n        type: leaf\n        -columnar:\n          prefix: two_\n"
        "    types:\n      leaf:\n        seq:\n          - id: v\n            type: u1\n            enum: other::e\n",
        other="enums:\n  e:\n    1: from_other\n",
    )
    assert [(column.name, column.labels) for column in found.columns] == [
        ("one_v", {1: "from_one"}),
        ("two_v", {1: "from_other"}),
    ]


def test_documentation_and_private_keys_are_passed_over(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: a\n    -orig-id: A\n    type: u1\n    doc: What it is.\n    doc-ref: https://example.org\n"
        "    -webide-parse-mode: eager\n",
    )
    assert [column.name for column in found.columns] == ["a"]


def test_an_enum_wider_than_a_byte_is_taken_where_a_rule_keeps_it_in_a_byte(tmp_path: Path) -> None:
    found = kernel(
        tmp_path,
        "seq:\n  - id: a\n    type: s2\n    enum: e\n    valid:\n      in-enum: true\n"
        "enums:\n  e:\n    0: x\n    6: y\n",
    )
    assert found.columns[0].kind == "enum"


ONE = "seq:\n  - id: a\n    type: u1\n"
PEEK = "    instances:\n      i:\n        pos: 0\n        type: u1\n"
MARKED = "meta:\n  id: toy\n§-columnar:\n  rows: toys\n"
IN_BODY = (
    "seq:\n  - id: body\n    size: 9\n    type: body\ntypes:\n  body:\n    seq:\n      - id: a\n        type: u1\n"
)
B_OF_I = "      - id: b\n        size: i\n    instances:\n      i:\n"
WITH_I = IN_BODY + B_OF_I
COVERED = IN_BODY + "    instances:\n      a_input:\n        pos: 0\n        size: 1\n"


def refused(*cases: tuple[str, str]) -> pytest.MarkDecorator:
    """Specs with a mark at the place that is refused, and what is said about it."""
    return pytest.mark.parametrize(("text", "message"), cases)


def check_refusal(folder: Path, text: str, message: str) -> None:
    text, place = place_of(text)
    found, said = refusal(folder, text)
    assert message in said
    assert found == place


@refused(
    ("seq:\n  - id: a\n    size: 4\n    §process: zlib\n", "process is not supported by the columnar backend"),
    ("seq:\n  - id: a\n    terminator: 0\n    §consume: false\n", "consume is not supported"),
    ("seq:\n  - id: a\n    terminator: 0\n    §include: true\n", "include is not supported"),
    ("seq:\n  - id: a\n    terminator: 0\n    §eos-error: false\n", "eos-error is not supported"),
    ("seq:\n  - id: a\n    size: 4\n    §pad-right: 0\n", "pad-right is not supported"),
    ("seq:\n  - id: a\n    size: 4\n    §encoding: ASCII\n    type: str\n", "encoding is not supported"),
    ("seq:\n  - id: a\n    §io: _root._io\n    type: u1\n", "io is not supported"),
    ("seq:\n  - id: a\n    type: b\n    §parent: false\n", "parent is not supported"),
    ("§to-string: a\n" + ONE, "to-string is not supported"),
    (ONE + "§params:\n  - id: p\n    type: u1\n", "params is not supported"),
)
def test_a_key_that_the_backend_does_not_know_is_refused_at_its_place(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    ("seq:\n  - id: a\n    §type:\n      switch-on: b\n", "switch-on is not supported; use fields with `if`"),
    ("seq:\n  - id: a\n    size: 4\n    §type: str\n", "type str is not supported"),
    ("seq:\n  - id: a\n    §type: strz\n", "type strz is not supported"),
    ("seq:\n  - id: a\n    §type: u8\n", "type u8 is not supported"),
    ("seq:\n  - id: a\n    §type: u8be\n", "type u8be is not supported"),
    ("seq:\n  - id: a\n    §type: f4\n", "type f4 is not supported"),
    ("seq:\n  - id: a\n    §type: f8le\n", "type f8le is not supported"),
    ("seq:\n  - id: a\n    §type: b4le\n", "type b4le is not supported"),
    ("seq:\n  - id: a\n    §type: nowhere::t\n", "type nowhere::t is not supported"),
    ("seq:\n  - id: a\n    §type: t(1)\ntypes:\n  t:\n    seq: []\n", "parameters are not supported but for"),
    ("meta:\n  id: toy\n-columnar:\n  rows: t\nseq:\n  - id: a\n    §type: u2\n", "needs `meta/endian`"),
    (
        "meta:\n  id: toy\n  endian:\n    switch-on: a\n-columnar:\n  rows: t\nseq:\n  - id: a\n    §type: u2\n",
        "needs `meta/endian` to be le or be",
    ),
    (
        ONE + "  - id: t\n    type: t\n    if: a == 1\ntypes:\n  t:\n    seq:\n      - id: t\n        §type: t\n",
        "toy::t inside itself is not supported",
    ),
)
def test_a_type_that_the_backend_does_not_know_is_refused_at_its_place(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    ("seq:\n  - id: a\n    type: u4\n    §size: 4\n", "size is not supported for an integer"),
    ("seq:\n  - id: a\n    §size: 4\n    terminator: 0\n", "size is not supported for bytes up to a terminator"),
    ("seq:\n  - id: a\n    §size-eos: true\n    terminator: 0\n", "size-eos is not supported for bytes up to"),
    ("seq:\n  - id: a\n    contents: x\n    §size: 1\n", "size is not supported for fixed contents"),
    ("seq:\n  - id: a\n    contents: x\n    §valid: 1\n", "valid is not supported for fixed contents"),
    ("seq:\n  - id: a\n    §contents: []\n", "contents are empty"),
    ("seq:\n  - id: a\n    size: 4\n    §enum: e\n", "enum is not supported for bytes by size"),
    (
        "seq:\n  - id: a\n    type: t\n    §terminator: 0\ntypes:\n  t:\n    seq: []\n",
        "terminator is not supported for a structure",
    ),
    ("seq:\n  - id: a\n    §size: 4\n    type: zigzag_varint\n", "size is not supported for a number of its own"),
    ("seq:\n  - id: a\n    type: escaped_token(1)\n    §valid: 1\n", "valid is not supported for an escaped token"),
    ("seq:\n  - §id: a\n", "bytes need a size, size-eos or a terminator"),
    ("seq:\n  - id: a\n    §terminator: [0, 0]\n", "a terminator must be one byte"),
    ("seq:\n  - id: a\n    §terminator: 256\n", "a terminator must be one byte"),
    ("seq:\n  - id: a\n    §type: escaped_token(0x5c)\n", "a token's terminator must not be its escape"),
    ("seq:\n  - id: a\n    §type: escaped_token\n", "an operand is missing"),
)
def test_a_key_that_means_nothing_to_its_field_is_refused_not_passed_over(
    tmp_path: Path, text: str, message: str
) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    ("seq:\n  - id: a\n    type: u1\n    §repeat: eos\n", "repeat: eos is not supported inside a row"),
    ("seq:\n  - id: a\n    type: u1\n    §repeat-until: _ == 0\n    repeat: until\n", "repeat-until is not supported"),
    ("seq:\n  - id: a\n    type: u1\n    §repeat: until\n", "repeat: until is not supported inside a row"),
    (
        ONE + "  - id: b\n    size: a\n    §repeat: expr\n    repeat-expr: 9\n",
        "a list whose items may be empty has no bound",
    ),
    (
        ONE + "  - id: b\n    size: a\n    §repeat: expr\n    repeat-expr: 9\n    -columnar:\n      column: false\n",
        "a list whose items may be empty has no bound",
    ),
    (
        ONE + "  - id: b\n    contents: x\n    §repeat: expr\n    repeat-expr: 9\n",
        "a list needs a column; mark it `column: false`",
    ),
    (
        ONE + "  - §id: b\n    type: u1\n    repeat: expr\n    repeat-expr: 9\n    if: a == 1\n",
        "a list that an `if` leaves out is not supported",
    ),
)
def test_a_repetition_without_a_bound_or_a_column_is_refused(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    ("seq:\n  - §id: a\n    type: b4\n  - id: b\n    type: u1\n", "bit fields must fill whole bytes"),
    ("seq:\n  - §id: a\n    type: b12\n", "bit fields must fill whole bytes"),
    ("seq:\n  - id: a\n    §type: b40\n", "bit fields that share their bytes must fit 32 bits"),
    (ONE + "  - id: b\n    type: b8\n    §if: a == 1\n", "if is not supported for a bit field"),
    ("seq:\n  - id: a\n    type: b8\n    §repeat: expr\n    repeat-expr: 2\n", "repeat is not supported for a bit"),
    (
        "meta:\n  id: toy\n  bit-endian: le\n-columnar:\n  rows: t\nseq:\n  - id: a\n    §type: b8\n",
        "bit fields must be big-endian",
    ),
    (
        ONE
        + "  - id: t\n    type: t\ntypes:\n  t:\n    meta:\n      bit-endian: le\n"
        + "    seq:\n      - id: a\n        §type: b8\n",
        "bit fields must be big-endian",
    ),
)
def test_bit_fields_that_cannot_be_cut_from_whole_bytes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    (ONE + "  - id: b\n    §size: a / 2\n", "operator / is not supported"),
    (ONE + "  - id: b\n    §size: 1 << a\n", "operator << needs a positive constant on its right"),
    (ONE + "  - id: b\n    §size: a == 1\n", "a == 1 is bool, not int"),
    (ONE + "  - id: b\n    type: u1\n    §if: a\n", "a is int, not bool"),
    (ONE + "  - id: b\n    §size: _io.size\n", "_io.size of the whole file is not known inside a row"),
    (ONE + "  - id: b\n    §size: _io.pos\n", "_io.pos of the whole file is not known inside a row"),
    (ONE + "  - id: b\n    §size: _root.a\n", "_root is not supported here"),
    (ONE + "  - id: b\n    §size: _parent.a\n", "_parent is not supported here"),
    (ONE + "  - id: b\n    type: u1\n    repeat: expr\n    §repeat-expr: _index\n", "_index is not supported here"),
    ("seq:\n  - id: a\n    §size: b\n  - id: b\n    type: u1\n", "b is not known here; integers and structures"),
    (ONE + "  - id: s\n    size: 1\n  - id: b\n    §size: s\n", "s is not known here"),
    (ONE + "  - id: t\n    type: t\n  - id: b\n    §size: t\ntypes:\n  t:\n    seq: []\n", "t is a structure, not"),
    ("seq:\n  - id: v\n    type: zigzag_varint\n  - id: b\n    §size: v\n", "v is a structure, not a number"),
    ("seq:\n  - id: v\n    type: zigzag_varlong\n  - id: b\n    §size: v.value + 1\n", "may not fit 64 bits"),
    ("seq:\n  - id: a\n    type: u1\n    valid:\n      §max: b\n", "b is not known here"),
    ("seq:\n  - id: a\n    type: u1\n    valid:\n      §any-of: [1, b]\n", "b is not known here"),
    ("seq:\n  - id: a\n    type: u1\n    valid:\n      §expr: _ + 1\n", r"_ + 1 is int, not bool"),
    (ONE + "  - id: b\n    type: u1\n    if: a == 1\n  - id: c\n    §size: b\n", "b may be absent here"),
    (
        ONE + "  - id: b\n    type: u1\n    if: a == 1\n  - id: c\n    §size: b\n    if: a == 2\n",
        "b may be absent here",
    ),
    (
        ONE + "  - id: b\n    type: u1\n    if: not _io.eof\n  - id: c\n    §size: b\n    if: not _io.eof\n",
        "b may be absent here",
    ),
)
def test_an_expression_that_cannot_be_computed_is_refused_at_its_key(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    ("seq:\n  - id: a\n    size: 4\n    §valid: '[1, 2, 3, 4]'\n", "valid/eq is supported for integers only"),
    ("seq:\n  - id: a\n    size: 4\n    valid:\n      §expr: _ == 1\n", "_ has no value here"),
    ("seq:\n  - id: a\n    type: u1\n    valid:\n      §inside: [1, 2]\n", "valid/inside is not supported"),
    ("seq:\n  - §id: a\n    type: u1\n    valid:\n      in-enum: true\n", "enum  is not known"),
)
def test_a_rule_that_cannot_be_checked_is_refused(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    ("seq:\n  - id: a\n    type: u2\n    §enum: e\nenums:\n  e:\n    1: x\n", "must be an unsigned byte or less"),
    ("seq:\n  - id: a\n    type: s1\n    §enum: e\nenums:\n  e:\n    1: x\n", "must be an unsigned byte or less"),
    ("seq:\n  - id: a\n    type: s2\n    §enum: e\nenums:\n  e:\n    1: x\n", "must be an unsigned byte or less"),
    ("seq:\n  - id: a\n    type: u1\n    §enum: e\n", "enum e is not known"),
    ("seq:\n  - id: a\n    type: u1\n    §enum: e\nenums:\n  e:\n    1: off\n", "is read as False; put it in quotes"),
    ("seq:\n  - id: a\n    type: u1\n    §enum: nowhere::e\nenums:\n  e:\n    1: x\n", "enum nowhere::e is not known"),
)
def test_an_enum_that_cannot_be_looked_up_by_a_byte_is_refused(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    (ONE + "  - id: b\n    size: i\ninstances:\n  i:\n    §pos: 0\n    type: u1\n", "a position in the file is not"),
    (ONE + "  - id: b\n    size: i\ninstances:\n  i:\n    value: a\n    §if: a == 1\n", "if is not supported for a"),
    (ONE + "  - id: b\n    size: i\ninstances:\n  i:\n    value: a\n    §valid: 1\n", "valid is not supported for a"),
    (ONE + "  - id: b\n    size: i\ninstances:\n  i:\n    §value: c\n", "c is not known here"),
    (ONE + "  - id: b\n    size: i\ninstances:\n  i:\n    value: j\n  j:\n    §value: i\n", "i needs itself"),
    (ONE + "  - id: b\n    type: u1\n    if: i\ninstances:\n  i:\n    §value: _io.eof\n", "_io.eof in an instance"),
    (WITH_I + "        pos: 0\n        type: u1\n        §if: a == 1\n", "if is not supported for an integer"),
    (
        WITH_I + "        pos: 0\n        type: u1\n        §repeat: expr\n        repeat-expr: 2\n",
        "repeat is not supported for an integer",
    ),
    (WITH_I + "        §io: _root._io\n        pos: 0\n        type: u1\n", "io is not supported by"),
    (IN_BODY + B_OF_I.replace("size", "§size") + "        pos: 0\n        size: 1\n", "i holds bytes, not a number"),
    (
        IN_BODY + "      - id: b\n        size: 1\n        §if: a == 1 and i == 2\n" + PEEK,
        "i reads, so it cannot stand where",
    ),
    (
        IN_BODY
        + "      - id: b\n        size: 1\n        if: a == 1 and j == 2\n"
        + PEEK
        + "      j:\n        §value: i + 1\n",
        "i reads, so it cannot stand where",
    ),
)
def test_an_instance_that_would_not_mean_the_same_as_in_kaitai_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    (ONE + "    -columnar:\n      §colum: true\n", "unknown hint 'colum'"),
    (ONE + "    -columnar:\n      §column: maybe\n", "hint column cannot be 'maybe'"),
    (ONE + "    -columnar:\n      §text: true\n", "hint text is not for an integer"),
    (ONE + "    -columnar:\n      §prefix: a_\n", "hint prefix is not for an integer"),
    (ONE + "    -columnar:\n      §checksum: crc32\n", "hint checksum is not for an integer"),
    (ONE + "    §-columnar: true\n", "-columnar holds hints by name"),
    ("seq:\n  - id: a\n    size: 4\n    §-columnar:\n      text: true\n      base64: true\n", "either text or base64"),
    (ONE + "instances:\n  i:\n    value: a\n    -columnar:\n      §colum: true\n", "unknown hint 'colum'"),
    (ONE + "types:\n  t:\n    -columnar:\n      §row: ts\n    seq: []\n", "unknown hint 'row'"),
    (ONE + "types:\n  t:\n    -columnar:\n      §rows: No name\n    seq: []\n", "hint rows cannot be 'No name'"),
    (
        ONE + "types:\n  t:\n    -columnar:\n      §intrinsic: zigzga\n    seq: []\n",
        "hint intrinsic cannot be 'zigzga'",
    ),
    (
        ONE + "types:\n  t:\n    §-columnar:\n      intrinsic: zigzag\n    seq: []\n",
        "the hints here must be bits, intrinsic",
    ),
    (ONE + "types:\n  t:\n    §-columnar:\n      bits: 32\n    seq: []\n", "the hints here must be rows"),
    (
        ONE + "types:\n  t:\n    §-columnar:\n      intrinsic: escaped\n    seq: []\n",
        "an intrinsic needs a spec of its own",
    ),
)
def test_a_hint_that_would_do_nothing_is_refused_wherever_it_stands(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    (ONE + "types:\n  t:\n    §-columnar:\n      rows: toys\n    seq: []\n", "table toys is defined twice"),
    ("seq:\n  - §type: u1\n", "a field needs an id to become a column"),
    ("seq:\n  - §id: on\n    type: u1\n", "a field needs an id to become a column"),
    ("seq:\n  - §id: a__b\n    type: u1\n", "an id with two underscores in a row is not supported"),
    (
        ONE + "  - id: t\n    type: t\ntypes:\n  t:\n    seq:\n      - §id: a\n        type: u1\n",
        "a column a is there already; give one of them a prefix",
    ),
    (ONE + "instances:\n  §a:\n    value: 1\n    -columnar:\n      column: true\n", "a column a is there already"),
    (MARKED + "seq:\n  - id: a\n    size: 0\n", "a row that may be empty would repeat for ever"),
    (MARKED + "seq:\n  - id: a\n    size-eos: true\n", "a row that may be empty would repeat for ever"),
    (MARKED + "seq:\n  - id: a\n    contents: x\n", "a table needs a column"),
)
def test_tables_and_columns_that_have_no_name_or_no_end_are_refused(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


@refused(
    (
        ONE + "instances:\n  a_input:\n    §-columnar:\n      checksum: crc32\n    pos: 0\n    size: 1\n",
        "must be one of the row's own",
    ),
    (
        COVERED.replace("a_input", "c_input") + "        §-columnar:\n          checksum: crc32\n",
        "beside the column c",
    ),
    (COVERED + "        -columnar:\n          §checksum: md5\n", "hint checksum cannot be 'md5'"),
    (
        COVERED + "        §if: a == 1\n        -columnar:\n          checksum: crc32\n",
        "if is not supported for the range of a checksum",
    ),
    (
        IN_BODY
        + "    instances:\n      a_input: &i\n        pos: 0\n        size: 1\n        -columnar: {checksum: crc32}\n"
        "      a:\n        pos: 0\n        size: 1\n        §-columnar: {checksum: crc32}\n",
        "a table has one checksum",
    ),
)
def test_a_checksum_that_no_row_carries_is_refused(tmp_path: Path, text: str, message: str) -> None:
    check_refusal(tmp_path, text, message)


def test_a_column_read_elsewhere_in_a_list_is_refused_at_its_position(tmp_path: Path) -> None:
    text, place = place_of(
        "seq:\n  - id: l\n    size: 4\n    type: item\n    repeat: expr\n    repeat-expr: 3\n"
        "types:\n  item:\n    seq:\n      - id: a\n        type: u1\n"
        "    instances:\n      i:\n        §pos: 0\n        size: 4\n        -columnar:\n          column: true\n"
    )
    assert refusal(tmp_path, text) == (place, "the items of a list cannot have a column that is read elsewhere")


def test_a_field_used_before_it_is_read_is_refused_at_its_line(tmp_path: Path) -> None:
    text, place = place_of("seq:\n  - id: data\n    §size: len_data\n  - id: len_data\n    type: u1\n")
    said = "len_data is not known here; integers and structures are once they have been read"
    assert refusal(tmp_path, text) == (place, said)


def test_a_name_is_known_under_the_same_if_and_under_a_stricter_one(tmp_path: Path) -> None:
    body = "  - id: b\n    type: u1\n    if: a == 1\n  - id: c\n    size: b\n    if: {}\n"
    for condition in ("a == 1", "a == 1 and b > 2", "a > 0 and a == 1", "a == 1 and (b == 1 or b == 2)"):
        assert kernel(tmp_path, ONE + body.format(condition)).columns[-1].nullable


def test_all_tables_of_the_schemas_can_be_lowered() -> None:
    specs = load_specs()
    assert {name for name, type_ in tables(specs) if lower(name, type_, specs).columns} >= {
        "kafka_records", "rbf_frames", "borg_blobs", "aerospike_records", "rbak_records",
    }  # fmt: skip
