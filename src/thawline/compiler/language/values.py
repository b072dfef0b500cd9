"""Expressions as code of a reader, with the kind of what they give.

Numbers that fit in 64 bits with a sign are C's. Wherever a result could be larger, Python computes it (`o`), within
bounds (`whole`), so that a reader computes what Kaitai's own Python does, and no file makes it compute for long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thawline.compiler.language import datatypes, grammar
from thawline.compiler.language.grammar import ExpressionError, Node
from thawline.compiler.language.intervals import arithmetic
from thawline.compiler.language.kinds import (
    ANY,
    Bool,
    Bytes,
    Int,
    Io,
    Kind,
    Label,
    List,
    Real,
    Struct,
    Text,
    Union,
    c_type,
    is_number,
    is_object,
    joined,
)

if TYPE_CHECKING:
    from thawline.compiler.language.analysis import Analysis
    from thawline.compiler.language.declarations import Field, Type

FOLLOWS = "is refused itself"
"""The end of a reason that is a consequence of another."""
PLACE = Int(0, 1 << 62)
COUNT = Int(0, 1 << 40)
COMPARISONS = {"<", ">", "<=", ">=", "==", "!="}
TRUTHS = {"and", "or", "not"}


@dataclass(frozen=True, slots=True)
class Value:
    """Code of a reader, and what it gives."""

    code: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its type, and what `_`, `_index` and `_on` are there."""

    type: Type
    this: Value | None = None
    index: Value | None = None
    on: Value | None = None


def evaluated(analysis: Analysis, scope: Scope, node: Node) -> Value:
    """The code of an expression."""
    return _Evaluation(analysis, scope).value(node)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    analysis: Analysis
    scope: Scope

    def value(self, node: Node) -> Value:  # noqa: C901, PLR0912 - a case for each kind of node
        match node:
            case grammar.Number(number, is_bool=is_bool):
                return Value(str(bool(number)), Bool()) if is_bool else Value(_literal(number), Int(number, number))
            case grammar.Real(number):
                return Value(repr(number), Real())
            case grammar.Text(text):
                return Value(repr(text), Text())
            case grammar.Format(parts):
                return self.format(parts)
            case grammar.Name(name):
                return self.name(name)
            case grammar.Member(path):
                return self.member(path)
            case grammar.Array(items):
                return self.array(items)
            case grammar.Index(target, index):
                return self.item(self.value(target), self.integer(index))
            case grammar.Attribute(target, name):
                return self.attribute(target, name)
            case grammar.Call(target, name, arguments):
                return self.call(self.value(target), name, arguments)
            case grammar.Cast(target, name, is_array):
                return self.cast(target, name, is_array=is_array)
            case grammar.Size(name, in_bits):
                return self.size(name, in_bits=in_bits)
            case grammar.Operation(operator, operands):
                return self.operation(operator, operands)

    def integer(self, node: Node) -> Value:
        found = self.value(node)
        if not isinstance(found.kind, Int):
            raise ExpressionError("a number is needed here")
        return found

    # Names

    def name(self, name: str) -> Value:
        scope = self.scope
        special = {
            "_": scope.this,
            "_index": scope.index,
            "_on": scope.on,
            "_io": Value("self.io", Io()),
            "_root": Value("self.root", Struct(scope.type.top)),
            "_parent": Value("parent_of(self)", self.analysis.parent_kind(scope.type)),
        }
        if name == "_parent":
            self.analysis.children.add(scope.type)
        if name in special:
            found = special[name]
            if found is None:
                raise ExpressionError(f"{name} has no meaning here")
            return found
        if name == "_sizeof":
            return self.fixed_size(self.analysis.bits_of_type(scope.type))
        return self.member_of("self", scope.type, name)

    def member_of(self, code: str, type_: Type, name: str) -> Value:
        """A field, an instance or a parameter of a structure."""
        item = find(type_, name)
        if item is None:
            raise ExpressionError(f"{type_.name} has no {name}")
        kind = self.analysis.kind(item)
        if item in self.analysis.broken:
            raise ExpressionError(f"{name} {FOLLOWS}")
        return access(code, item, kind)

    def member(self, path: tuple[str, ...]) -> Value:
        enum = self.analysis.library.enum(self.scope.type, list(path[:-1]))
        if enum is None:
            raise ExpressionError(f"there is no enum {'::'.join(path[:-1])}")
        number = enum.number(path[-1])
        if number is None:
            raise ExpressionError(f"{'::'.join(path[:-1])} has no {path[-1]}")
        return Value(_literal(number), Label(enum, Int(number, number)))

    def attribute(self, target: Node, name: str) -> Value:
        if name == "_sizeof":
            return self.size_of_value(target)
        found = self.value(target)
        if isinstance(found.kind, Struct | Union):
            return self.of_structure(found, name)
        return self.method(found, name, ())

    def of_structure(self, found: Value, name: str) -> Value:
        if name == "_io":
            return Value(f"io_of({found.code})", Io())
        if name == "_parent" and isinstance(found.kind, Struct):
            self.analysis.children.add(found.kind.type)
            return Value(f"parent_of({found.code})", self.analysis.parent_kind(found.kind.type))
        if name == "_parent":
            self.analysis.children |= set(self.analysis.library.types())
            return Value(f"parent_of({found.code})", ANY)
        if isinstance(found.kind, Struct):
            type_ = found.kind.type
            if name == "_root":
                return Value(f"as_{type_.ident}({found.code}).root", Struct(type_.top))
            return self.member_of(f"as_{type_.ident}({found.code})", type_, name)
        raise ExpressionError(f"{name} of a value of several types; take it for one with .as<…>")

    def size_of_value(self, target: Node) -> Value:
        match target:
            case grammar.Name(name) if name not in {"_", "_parent", "_root", "_io"}:
                item = find(self.scope.type, name)
                if item is not None and not item.is_value and name not in self.scope.type.params:
                    return self.fixed_size(self.analysis.bits(item))
            case grammar.Attribute(owner, name):
                kind = self.value(owner).kind
                item = find(kind.type, name) if isinstance(kind, Struct) else None
                if item is not None and not item.is_value:
                    return self.fixed_size(self.analysis.bits(item))
        kind = self.value(target).kind
        if isinstance(kind, Struct):
            return self.fixed_size(self.analysis.bits_of_type(kind.type))
        if isinstance(kind, Label):
            kind = kind.number
        if isinstance(kind, Int | Real) and kind.width:
            return self.fixed_size(8 * kind.width)
        raise ExpressionError("the size of this is not fixed")

    def size(self, name: str, *, in_bits: bool) -> Value:
        known = datatypes.primitive(name)
        if known is not None:
            bits = self.analysis.bits_of(known)
        else:
            type_ = self.analysis.library.type(self.scope.type, name.removeprefix("::").split("::"))
            if type_ is None:
                raise ExpressionError(f"there is no type {name}")
            bits = self.analysis.bits_of_type(type_)
        return Value(str(bits), Int(bits, bits)) if in_bits else self.fixed_size(bits)

    def fixed_size(self, bits: int) -> Value:
        size = (bits + 7) // 8
        return Value(str(size), Int(size, size))

    # Literals

    def format(self, parts: tuple[Node, ...]) -> Value:
        codes = [self.text(self.value(part)) for part in parts]
        code = codes[0] if codes else "''"
        for more in codes[1:]:
            code = f"joined({code}, {more})"
        return Value(code, Text())

    def text(self, found: Value) -> str:
        match found.kind:
            case Text():
                return found.code
            case Int() | Real():
                return f"text_of({found.code})"
        raise ExpressionError("a format shows numbers and strings only")

    def array(self, items: tuple[Node, ...]) -> Value:
        if all(isinstance(item, grammar.Number) and not item.is_bool and item.value <= 255 for item in items):  # noqa: PLR2004 - a byte
            return Value(repr(bytes(item.value for item in items if isinstance(item, grammar.Number))), Bytes())
        found = [self.value(item) for item in items]
        kind = found[0].kind
        for other in found[1:]:
            kind = joined(kind, other.kind)
        return Value(f"[{', '.join(item.code for item in found)}]", List(kind))

    # Casts, items, methods

    def cast(self, target: Node, name: str, *, is_array: bool) -> Value:
        found = self.value(target)
        if name == "bytes" and isinstance(found.kind, List):
            return Value(f"bytes({found.code})", Bytes())
        if is_array:
            inner = self.cast_kind(ANY, name)
            return Value(found.code, List(inner))
        return Value(found.code, self.cast_kind(found.kind, name))

    def cast_kind(self, kind: Kind, name: str) -> Kind:
        known = datatypes.parameter(name)
        if isinstance(known, Int | Bool):
            known = Int() if isinstance(kind, Union) and isinstance(known, Int) else known
            return kind if isinstance(kind, Int | Label) else known
        if known is not None:
            return known
        path = name.removeprefix("::").split("::")
        type_ = self.analysis.library.type(self.scope.type, path)
        if type_ is not None:
            return Struct(type_)
        enum = self.analysis.library.enum(self.scope.type, path)
        if enum is None:
            raise ExpressionError(f"there is no type {name}")
        return Label(enum)

    def item(self, found: Value, index: Value) -> Value:
        code = f"item_of({found.code}, {index.code})"
        match found.kind:
            case List(item):
                return Value(code, item)
            case Bytes():
                return Value(code, Int(0, 255))
        raise ExpressionError("only arrays have items")

    def call(self, found: Value, name: str, arguments: tuple[Node, ...]) -> Value:
        return self.method(found, name, tuple(self.value(argument) for argument in arguments))

    def method(self, found: Value, name: str, given: tuple[Value, ...]) -> Value:  # noqa: C901, PLR0912 - a case for each method
        code = found.code
        match found.kind, name, given:
            case Int(), "to_s", ():
                return Value(f"text_of({code})", Text())
            case Real(), "to_i", ():
                return Value(f"whole(int({code}))", Int())
            case Bool(), "to_i", ():
                return Value(f"(1 if {code} else 0)", Int(0, 1))
            case Label(number=number), "to_i", ():
                return Value(code, number)
            case Text(), "to_i", ():
                return Value(f"whole(number_of({code}, 10))", Int())
            case Text(), "to_i", (base,) if isinstance(base.kind, Int):
                return Value(f"whole(number_of({code}, {base.code}))", Int())
            case Text(), "length", ():
                return Value(f"sized({code})", COUNT)
            case Text(), "reverse", ():
                return Value(f"({code})[::-1]", Text())
            case Text(), "substring", (first, last) if isinstance(first.kind, Int) and isinstance(last.kind, Int):
                return Value(f"({code})[o({first.code}) : o({last.code})]", Text())
            case Bytes(), "to_s", (encoding,) if isinstance(encoding.kind, Text):
                return Value(f"decoded({code}, {encoding.code})", Text())
            case ((Bytes() | List()), ("size" | "length"), ()):
                return Value(f"sized({code})", COUNT)
            case ((Bytes() | List()), ("first" | "last"), ()):
                return self.item(found, Value("0" if name == "first" else "-1", Int(-1, 0)))
            case ((Bytes() | List()), ("min" | "max"), ()):
                return Value(f"{name}({code})", found.kind.item if isinstance(found.kind, List) else Int(0, 255))
            case Io(), ("pos" | "size"), ():
                return Value(f"stream_of({code}).{name}", PLACE)
            case Io(), "eof", ():
                return Value(f"stream_of({code}).eof()", Bool())
        raise ExpressionError(f"{type(found.kind).__name__.lower()} has no {name} with {len(given)} arguments")

    # Operators

    def operation(self, operator: str, operands: tuple[Node, ...]) -> Value:
        values = [self.value(operand) for operand in operands]
        if operator == "?":
            return self.choice(*values)
        if operator in TRUTHS:
            if not all(isinstance(value.kind, Bool) for value in values):
                raise ExpressionError(f"{operator} takes truths only")
            code = f"(not {values[0].code})" if operator == "not" else f"({values[0].code} {operator} {values[1].code})"
            return Value(code, Bool())
        if operator in COMPARISONS:
            return comparison(operator, *values)
        values = [_as_number(value) for value in values]
        kinds = tuple(value.kind for value in values)
        if all(isinstance(kind, Text) for kind in kinds) and operator == "+":
            return Value(f"joined({values[0].code}, {values[1].code})", Text())
        if all(isinstance(kind, Int) for kind in kinds):
            return integers(operator, values)
        if all(isinstance(kind, Int | Real) for kind in kinds) and operator in "+-*/%":
            codes = [f"({value.code})" if isinstance(value.kind, Real) else f"float({value.code})" for value in values]
            code = f"(-{codes[0]})" if len(codes) == 1 else f"({codes[0]} {operator} {codes[1]})"
            return Value(code, Real())
        shown = " and ".join(type(kind).__name__.lower() for kind in kinds)
        raise ExpressionError(f"{operator} does not take {shown}")

    def choice(self, condition: Value, then: Value, other: Value) -> Value:
        if not isinstance(condition.kind, Bool):
            raise ExpressionError("what stands before ? is true or false")
        kind = joined(then.kind, other.kind)
        codes = [then.code, other.code]
        if isinstance(kind, Real):
            codes = [f"float({code})" for code in codes]
        elif c_type(then.kind) != c_type(other.kind) or c_type(kind) != c_type(then.kind):
            codes = [f"o({code})" for code in codes]
        return Value(f"({codes[0]} if {condition.code} else {codes[1]})", kind)


def _as_number(value: Value) -> Value:
    """What is computed with: an integer or a float of a switch counts as a float."""
    is_either = isinstance(value.kind, Union) and is_number(value.kind)
    return Value(f"float({value.code})", Real()) if is_either else value


def find(type_: Type, name: str) -> Field | None:
    """The field, instance or parameter of a type with this name."""
    if name in type_.instances:
        return type_.instances[name]
    if name in type_.params:
        return type_.params[name]
    return next((item for item in type_.seq if item.name == name), None)


def access(code: str, item: Field, kind: Kind) -> Value:
    """The value of a field of a structure."""
    is_switch = isinstance(item.data.get("type"), dict)
    is_called = item.is_instance or (("if" in item.data or is_switch) and not is_object(kind))
    found = f"{code}.g_{item.name}()" if is_called else f"{code}.f_{item.name}"
    return Value(found, kind)


def boxed(value: Value) -> str:
    """A number with which Python computes."""
    return f"o({value.code})"


def comparison(operator: str, left: Value, right: Value) -> Value:
    """A comparison of two values, which must be of one kind."""
    numbers = (Int, Real)
    comparable = (
        (isinstance(left.kind, numbers) and isinstance(right.kind, numbers))
        or (isinstance(left.kind, Label) and isinstance(right.kind, Label) and left.kind.enum is right.kind.enum)
        or (type(left.kind) is type(right.kind) and isinstance(left.kind, Bool | Text | Bytes | Struct | List))
        or (isinstance(left.kind, Union) or isinstance(right.kind, Union))
    )
    if not comparable:
        names = (type(left.kind).__name__.lower(), type(right.kind).__name__.lower())
        raise ExpressionError(f"{names[0]} cannot be compared with {names[1]}")
    codes = [left.code, right.code]
    if "cython.ulonglong" in (c_type(left.kind), c_type(right.kind)):
        codes = [boxed(left), boxed(right)]
    return Value(f"({codes[0]} {operator} {codes[1]})", Bool())


def integers(operator: str, values: list[Value]) -> Value:
    """Arithmetic with whole numbers."""
    kinds = [value.kind for value in values if isinstance(value.kind, Int)]
    kind = arithmetic(operator, kinds)
    sign = "//" if operator == "/" else operator
    if len(values) == 1:
        code = f"({sign}{values[0].code})" if kind.is_word and kinds[0].is_word else f"({sign}{boxed(values[0])})"
        return Value(code, kind)
    if kind.is_word and all(item.is_word for item in kinds) and _is_safe_in_c(operator, kinds):
        return Value(f"({values[0].code} {sign} {values[1].code})", kind)
    left, right = boxed(values[0]), boxed(values[1])
    if operator == "<<":
        return Value(f"shifted({left}, {right})", kind)
    return Value(f"whole({left} {sign} {right})", kind)


def _is_safe_in_c(operator: str, kinds: list[Int]) -> bool:
    """C shifts by 0 to 63 bits only."""
    return operator not in ("<<", ">>") or (kinds[1].low >= 0 and kinds[1].high < 63)  # noqa: PLR2004 - as it says


def _literal(number: int) -> str:
    return str(number) if number >= 0 else f"({number})"
