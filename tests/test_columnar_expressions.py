from __future__ import annotations

import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thawline.compiler import ir
from thawline.compiler.bounds import bounds, fitting, narrowed
from thawline.compiler.expressions import (
    Attribute,
    ExpressionError,
    Member,
    Name,
    Node,
    Number,
    Operation,
    parse,
    shown,
)
from thawline.compiler.resolution import Entry, Resolver, Scope, Token
from thawline.ksy.documents import Spec, TypeDef, load_spec, types_of
from thawline.ksy.names import find_enum, find_type, inherited

PYTHON: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq,
    "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def evaluated(node: Node) -> Any:
    match node:
        case Number(value, is_bool):
            return bool(value) if is_bool else value
        case Operation("?", (condition, then, otherwise)):
            return evaluated(then) if evaluated(condition) else evaluated(otherwise)
        case Operation("and", (left, right)):
            return evaluated(left) and evaluated(right)
        case Operation("or", (left, right)):
            return evaluated(left) or evaluated(right)
        case Operation("not", (operand,)):
            return not evaluated(operand)
        case Operation(sign, (operand,)):
            return -evaluated(operand) if sign == "-" else ~evaluated(operand)
        case Operation(sign, (left, right)):
            return PYTHON[sign](evaluated(left), evaluated(right))
    raise AssertionError(node)


@pytest.mark.parametrize(
    "source",
    [
        "1 + 2 * 3",
        "(1 + 2) * 3",
        "10 - 4 - 3",
        "7 % 4 * 2",
        "1 << 2 + 1",
        "256 >> 1 << 2",
        "6 & 3 | 8",
        "6 ^ 3 & 1",
        "1 | 2 == 3",
        "1 + 1 == 2 and 3 > 2 or false_",
        "not 1 == 2 and 2 == 2",
        "not 1 > 2 or 1 > 2",
        "-3 % 5",
        "- 3 + ~4",
        "~-1",
        "- -1",
        "2 - -2",
        "1 < 2 and not not 2 < 3",
        "0x1F + 0b101 + 1_000",
    ],
)
def test_operators_bind_as_they_do_in_kaitai_which_is_as_in_python(source: str) -> None:
    source = source.replace("false_", "1 == 2")
    assert evaluated(parse(source)) == eval(source)  # noqa: S307 - Python is the oracle


def test_random_arithmetic_means_what_it_means_in_python() -> None:
    chance = random.Random(3)
    for _ in range(500):
        parts = [str(chance.randrange(100))]
        for _ in range(chance.randrange(1, 6)):
            sign = chance.choice(["+", "-", "*", "&", "|", "^", "<<", ">>"])
            parts += [sign, chance.choice(["", "-", "~"]) * (sign[0] not in "<>") + str(chance.randrange(1, 5))]
        source = " ".join(parts)
        try:
            expected = eval(source)  # noqa: S307 - Python is the oracle
        except ValueError:  # a sum that shifts by less than nothing
            continue
        assert evaluated(parse(source)) == expected, source


def test_a_ternary_binds_weakest_and_to_the_right() -> None:
    assert parse("a ? b : c ? d : e") == parse("a ? b : (c ? d : e)")
    assert parse("a or b ? c : d") == Operation("?", (parse("a or b"), Name("c"), Name("d")))
    assert parse("a ? b ? 1 : 2 : 3") == parse("a ? (b ? 1 : 2) : 3")


def test_names_members_and_dotted_paths_are_told_apart() -> None:
    assert parse("body.attributes.compression") == Attribute(Attribute(Name("body"), "attributes"), "compression")
    assert parse("compression::none") == Member(("compression", "none"))
    assert parse("other::kind::a == _") == Operation("==", (Member(("other", "kind", "a")), Name("_")))
    assert parse("a ? b::c : d::e") == Operation("?", (Name("a"), Member(("b", "c")), Member(("d", "e"))))
    assert parse("-len.value") == Operation("-", (Attribute(Name("len"), "value"),))


def test_what_yaml_has_read_already_is_taken_as_it_is() -> None:
    assert parse(7) == Number(7)
    assert parse(-7) == Number(-7)
    assert parse(True) == Number(1, is_bool=True)  # noqa: FBT003 - as YAML gives it
    assert parse("true") == Number(1, is_bool=True)
    assert parse("false") == Number(0, is_bool=True)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "an operand is missing in ''"),
        ("1 +", r"an operand is missing in '1 \+'"),
        ("(1", r"\) is missing"),
        ("a ? b", ": is missing"),
        ("1 2", "'2' is not expected"),
        ("a b", "'b' is not expected"),
        ("+ 1", r"'\+' is not expected"),
        ("f(1)", r"'\(' is not expected"),
        ("a[0]", r"cannot read '\[0\]'"),
        ('"text"', "cannot read '\"text\"'"),
        ("'text'", "cannot read"),
        ("010", "010 is no number"),
        ("1e5", "'e5' is not expected"),
        ("Big", "cannot read 'Big'"),
        (1.5, "1.5 is no expression"),
        (None, "None is no expression"),
        ([1], "is no expression"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_part_that_is_wrong(source: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse(source)


def test_a_node_is_shown_as_the_spec_writes_it() -> None:
    assert shown(parse("a.b.c")) == "a.b.c"
    assert shown(parse("a::b")) == "a::b"
    assert shown(parse("1.5")) == "1.5"


SPEC = """
meta: {id: sample, endian: le, bit-endian: be}
seq: []
instances:
  late: {value: 1}
enums:
  kind: {1: root_one, 2: {id: root_two, doc: d}}
types:
  outer:
    meta: {endian: be}
    enums:
      kind: {3: outer_three}
    types:
      inner: {seq: [{id: from_outer, type: u1}]}
      leaf: {seq: []}
  inner: {seq: [{id: from_root, type: u1}]}
"""


@pytest.fixture
def specs(tmp_path: Path) -> dict[str, Spec]:
    (tmp_path / "sample.ksy").write_text(SPEC, encoding="utf-8")
    (tmp_path / "other.ksy").write_text(
        "meta: {id: other}\nenums: {kind: {9: nine}}\ntypes: {t: {seq: []}}\n", encoding="utf-8"
    )
    return {name: load_spec(tmp_path / f"{name}.ksy") for name in ("sample", "other")}


def type_of(specs: dict[str, Spec], *names: str) -> TypeDef:
    return next(type_ for type_ in types_of(specs["sample"]) if type_.names == names)


def test_the_nearest_type_of_a_name_is_meant(specs: dict[str, Spec]) -> None:
    def found(path: str, *at: str) -> str | None:
        type_ = find_type(path, type_of(specs, *at), specs)
        return type_ and type_.title

    assert found("inner") == "sample::inner"
    assert found("inner", "outer") == "sample::outer::inner"
    assert found("inner", "outer", "leaf") == "sample::outer::inner"
    assert found("outer::inner") == "sample::outer::inner"
    assert found("leaf") is None
    assert found("other::t", "outer") == "other::t"
    assert found("other::nothing") is None
    assert found("sample") == "sample"


def test_the_nearest_enum_of_a_name_is_meant(specs: dict[str, Spec]) -> None:
    assert find_enum("kind", type_of(specs), specs) == {1: "root_one", 2: "root_two"}
    assert find_enum("kind", type_of(specs, "outer", "leaf"), specs) == {3: "outer_three"}
    assert find_enum("outer::kind", type_of(specs), specs) == {3: "outer_three"}
    assert find_enum("other::kind", type_of(specs, "outer"), specs) == {9: "nine"}
    assert find_enum("other::nothing", type_of(specs), specs) is None
    assert find_enum("nothing::kind", type_of(specs), specs) is None


def test_a_nested_type_inherits_the_byte_order_of_the_nearest_type_that_has_one(specs: dict[str, Spec]) -> None:
    assert inherited(type_of(specs), "endian") == "le"
    assert inherited(type_of(specs, "inner"), "endian") == "le"
    assert inherited(type_of(specs, "outer", "leaf"), "endian") == "be"
    assert inherited(type_of(specs, "outer"), "bit-endian") == "be"
    assert inherited(type_of(specs, "outer"), "encoding") is None


def resolver(specs: dict[str, Spec], **names: Entry) -> Resolver:
    scope = Scope(type_of(specs), None, None, ir.END, None, [], "", (), 1, names=names)

    def instance(_scope: Scope, name: str, may_be_skipped: bool) -> Entry:  # noqa: FBT001 - the resolver's call
        return ir.Variable(f"{name}_{may_be_skipped}")

    return Resolver(scope, specs, instance)


BYTE = ir.Variable("byte", "int", 0, 255)
FLAG = ir.Variable("flag", "bool", 0, 1)
WIDE = ir.Variable("wide")


def test_values_have_types_and_constants_are_folded(specs: dict[str, Spec]) -> None:
    resolve = resolver(specs, a=BYTE, f=FLAG).value
    assert resolve("a + 2 * 3") == ir.Operation("+", (BYTE, ir.Constant(6)), "int")
    assert resolve("-1") == ir.Constant(-1)
    assert resolve("~0 << 3") == ir.Constant(-8)
    assert resolve("-0x8000000000000000") == ir.Constant(-(1 << 63))
    assert resolve("2000000000 * 2") == ir.Constant(4_000_000_000)
    assert resolve("a == 1").type == "bool"
    assert resolve("f ? a : 1").type == "int"
    assert resolve("f == (a > 1)").type == "bool"
    assert resolve("kind::root_two") == ir.Constant(2)
    assert resolve("other::kind::nine") == ir.Constant(9)
    assert resolve("a.to_i") == BYTE


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a / 2", "operator / is not supported"),
        ("a << f", r"operator << does not fit int and bool"),
        ("1 << a", "operator << needs a positive constant on its right"),
        ("a >> 64", "operator >> by more than 63 bits"),
        ("a % a", "operator % needs a positive constant"),
        ("a % 0", "operator % needs a positive constant"),
        ("a % -3", "operator % needs a positive constant"),
        ("a and f", "operator and does not fit int and bool"),
        ("not a", "operator not does not fit int"),
        ("f + 1", r"operator \+ does not fit bool and int"),
        ("f < f", "operator < does not fit bool and bool"),
        ("f == a", "operator == does not fit bool and int"),
        ("f ? a : f", r"operator \? does not fit bool and int and bool"),
        ("a ? 1 : 2", r"operator \? does not fit int and int and int"),
        ("t", "t is a structure, not a number"),
        ("t.other", "t.other is not supported"),
        ("a.size", "a.size is not supported"),
        ("1.5", "1 is not supported"),
        ("_", "_ has no value here"),
        ("_root.a", "_root is not supported here"),
        ("_parent.a", "_parent is not supported here"),
        ("_index", "_index is not supported here"),
        ("nobody", "nobody is not known here"),
        ("kind::nobody", "kind::nobody is not known"),
        ("nowhere::kind::root_one", "nowhere::kind::root_one is not known"),
        ("_io.size", "_io.size of the whole file is not known inside a row"),
        ("_io.pos", "_io.pos of the whole file is not known inside a row"),
        ("_io.buffer", "_io.buffer is not supported"),
        ("a <= 0xffffffffffffffff", "18446744073709551615 does not fit 64 bits"),
        ("0x8000000000000000", "9223372036854775808 does not fit 64 bits"),
        ("w + 1", "a number may not fit 64 bits"),
        ("-w", "a number may not fit 64 bits"),
        ("a * w > 3", "a number may not fit 64 bits"),
        ("(w << 1) >> 1", "a number may not fit 64 bits"),
    ],
)
def test_what_the_kernel_could_not_compute_as_kaitai_does_is_refused(
    specs: dict[str, Spec], source: str, message: str
) -> None:
    with pytest.raises(ExpressionError, match=message):
        resolver(specs, a=BYTE, f=FLAG, t=Token(WIDE), w=WIDE).value(source)


def test_a_name_that_may_be_absent_is_known_only_under_its_own_condition(specs: dict[str, Spec]) -> None:
    resolve = resolver(specs, a=BYTE, f=FLAG)
    resolve.scope.conditions["a"] = FLAG
    assert resolve.value("f and a == 1").type == "bool"
    assert resolve.value("f ? a : 0").type == "int"
    for source in ("a", "f or a == 1", "f ? 0 : a", "a == 1 and f", "not f and a == 1"):
        with pytest.raises(ExpressionError, match="a may be absent here"):
            resolve.value(source)


def test_a_condition_of_several_parts_holds_where_all_its_parts_do(specs: dict[str, Spec]) -> None:
    resolve = resolver(specs, a=BYTE, b=ir.Variable("b", "int", 0, 255), f=FLAG)
    resolve.scope.conditions["a"] = resolve.value("f and b == 1")
    assert resolve.value("f and (b == 1 and a > 3)").type == "bool"
    assert resolve.value("f and b == 1 and a > 3").type == "bool"
    with pytest.raises(ExpressionError, match="a may be absent here"):
        resolve.value("f and a > 3")


def test_an_instance_hears_whether_an_operator_may_skip_it(specs: dict[str, Spec]) -> None:
    resolve = resolver(specs, f=FLAG).value
    assert resolve("late") == ir.Variable("late_False")
    assert "late_True" in str(resolve("f and late == 1"))
    assert "late_False" in str(resolve("late == 1 and f"))


def evaluate(value: ir.Value, given: dict[str, int]) -> int:
    match value:
        case ir.Constant(number):
            return number
        case ir.Variable(name):
            return given[name]
        case ir.Operation("?", (condition, then, otherwise)):
            return evaluate(then if evaluate(condition, given) else otherwise, given)
        case ir.Operation(sign, (operand,)):
            number = evaluate(operand, given)
            return -number if sign == "-" else ~number
        case ir.Operation(sign, (left, right)):
            return int(PYTHON[sign](evaluate(left, given), evaluate(right, given)))
    raise AssertionError(value)


def random_value(chance: random.Random, depth: int) -> ir.Value:
    if depth == 0 or chance.random() < 0.2:
        if chance.random() < 0.3:
            return ir.Constant(chance.choice([0, 1, -1, 7, 255, -300, 1 << 40]))
        low = chance.choice([0, 0, 1, -1, -128, -5000, -(1 << 31)])
        return ir.Variable(f"v{chance.randrange(10**9)}", "int", low, low + chance.choice([0, 1, 7, 255, 1 << 20]))
    sign = chance.choice(["+", "-", "*", "&", "|", "^", "%", "<<", ">>", "neg", "~", "?"])
    first = random_value(chance, depth - 1)
    if sign == "neg":
        return ir.Operation("-", (first,), "int")
    if sign == "~":
        return ir.Operation("~", (first,), "int")
    if sign in ("%", "<<", ">>"):
        return ir.Operation(sign, (first, ir.Constant(chance.choice([1, 2, 3, 8, 20]))), "int")
    second = random_value(chance, depth - 1)
    if sign == "?":
        return ir.Operation("?", (ir.compare("<", first, second), first, second), "int")
    return ir.Operation(sign, (first, second), "int")


def variables(value: ir.Value) -> list[ir.Variable]:
    if isinstance(value, ir.Operation):
        return [variable for operand in value.operands for variable in variables(operand)]
    return [value] if isinstance(value, ir.Variable) else []


def test_no_value_leaves_the_bounds_that_were_computed_for_it() -> None:
    chance = random.Random(11)
    for _ in range(1500):
        value = random_value(chance, 4)
        low, high = bounds(value)
        for _ in range(8):
            given = {v.name: chance.choice([v.low, v.high, chance.randint(v.low, v.high)]) for v in variables(value)}
            assert low <= evaluate(value, given) <= high, value


def test_bounds_are_as_tight_as_a_size_needs_them() -> None:
    assert bounds(ir.Operation("&", (WIDE, ir.Constant(15)), "int")) == (0, 15)
    assert bounds(ir.Operation("%", (WIDE, ir.Constant(4)), "int")) == (0, 3)
    assert bounds(ir.Operation("-", (BYTE, ir.Constant(4)), "int")) == (-4, 251)
    assert bounds(ir.Operation("|", (BYTE, ir.Constant(256)), "int")) == (0, 511)
    assert bounds(ir.compare("==", WIDE, WIDE)) == (0, 1)
    assert fitting(ir.Operation("*", (BYTE, BYTE), "int"))


def test_a_rule_that_holds_bounds_the_value_it_is_about(specs: dict[str, Spec]) -> None:
    def after(source: str) -> tuple[int, int]:
        variable = narrowed(WIDE, resolver(specs, w=WIDE, b=BYTE).value(source))
        return variable.low, variable.high

    assert after("w >= 20 and w <= 99") == (20, 99)
    assert after("w > 20 and w < 99") == (21, 98)
    assert after("w == 1 or w == 7") == (1, 7)
    assert after("w == b") == (0, 255)
    assert after("w <= b + 1") == (ir.LEAST, 256)
    assert after("w >= 0 and w % 4 == 0") == (0, ir.MOST)
    assert after("w == 1 or b == 7") == (ir.LEAST, ir.MOST)
    assert after("not (w == 1)") == (ir.LEAST, ir.MOST)
    assert after("w != 3") == (ir.LEAST, ir.MOST)
