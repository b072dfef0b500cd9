"""Expressions as C. What kind each has is what `values` says; only the code is made here."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thawline.compiler.language import grammar
from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.declarations import Field, Type
from thawline.compiler.language.grammar import Node
from thawline.compiler.language.kinds import (
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
    is_object,
)
from thawline.compiler.language.values import COMPARISONS, TRUTHS, Scope, Value, evaluated, find

FAST = {"utf-8": "text_utf8", "ascii": "text_ascii", "iso8859-1": "text_latin1"}
"""Encodings that C reads."""
CHECKED = {"+": "plus", "-": "minus", "*": "times", "/": "over", "%": "modulo", "<<": "shifted_left",
           ">>": "shifted_right"}  # fmt: skip
TAGS = {Bytes: "BYTES", Text: "TEXT"}
CALL = re.compile(r"(\w+)\(ctx\b")
MOST_SHIFT = 63


class NotInC(Exception):
    """What only the reader in Python can do."""


def c_type(kind: Kind) -> str:
    """How C declares a variable of a kind."""
    match kind:
        case Label(number=number):
            return c_type(number)
        case Int():
            return "i64" if kind.is_word else "u64" if kind.is_unsigned else "i128"
        case Real():
            return "double"
        case Bool():
            return "i64"
        case Text() | Bytes():
            return "Span"
        case List():
            return "List *"
        case Struct():
            return "Head *"
        case Io():
            return "Stream *"
    return "Any"


def literal(number: int, kind: Int | None = None) -> str:
    """A whole number."""
    found = c_type(kind or Int(number, number))
    if found == "i128":
        sign, size = ("-" if number < 0 else ""), abs(number)
        if size >> 127:
            raise NotInC(f"{number} has more than 127 bits")
        return f"({sign}((i128){size >> 64}ULL << 64 | {size & (1 << 64) - 1}ULL))"
    if found == "u64":
        return f"{number}ULL"
    return "INT64_MIN" if number == -(1 << 63) else f"({number}LL)" if number < 0 else f"{number}LL"


def quoted(data: bytes) -> str:
    """Bytes as a literal."""
    return '"' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def constant(data: bytes) -> str:
    """Bytes as a span."""
    return f"span({quoted(data)}, {len(data)})"


def number_kind(kind: Kind) -> Kind:
    """Of a label, the kind of its number."""
    return kind.number if isinstance(kind, Label) else kind


def converted(value: Value, kind: Kind) -> str:
    """The code of a value as one of another kind."""
    have, want = c_type(value.kind), c_type(kind)
    if isinstance(kind, Union):
        return value.code if isinstance(value.kind, Union) else as_any(value)
    if isinstance(value.kind, Union):
        return _from_any(value.code, kind)
    if isinstance(value.kind, List | Bytes) and isinstance(kind, List):
        return _list_of(value, kind.item)
    if have == want and isinstance(value.kind, Bool) == isinstance(kind, Bool):
        return value.code
    is_whole = isinstance(number_kind(value.kind), Int)
    if is_whole and isinstance(kind, Real):
        return f"((double){value.code})"
    if is_whole and isinstance(number_kind(kind), Int):
        return {"i128": f"((i128){value.code})", "i64": f"word(ctx, {value.code})"}.get(
            want, f"unsigned_word(ctx, {value.code})"
        )
    raise NotInC(f"a {type(value.kind).__name__} taken for a {type(kind).__name__}")


def as_any(value: Value) -> str:
    """A value as one of several kinds."""
    code = value.code
    match number_kind(value.kind):
        case Int():
            return f"any_int({code})"
        case Real():
            return f"any_real({code})"
        case Bool():
            return f"any_bool({code})"
        case Bytes():
            return f"any_span(BYTES, {code})"
        case Text():
            return f"any_span(TEXT, {code})"
        case List():
            return f"any_list({code})"
        case Struct():
            return f"any_struct({code})"
    raise NotInC("a stream as a value")


def _from_any(code: str, kind: Kind) -> str:
    match number_kind(kind):
        case Int() as number:
            return converted(Value(f"int_of(ctx, {code})", Int()), number)
        case Real():
            return f"real_of(ctx, {code})"
        case Bool():
            return f"bool_of(ctx, {code})"
        case Bytes() | Text():
            return f"span_of(ctx, {code}, {TAGS[type(kind)]})"
        case List():
            return f"list_of(ctx, {code})"
        case Struct(type_):
            return f"is_a(ctx, struct_of(ctx, {code}), {type_id(type_)})"
    raise NotInC("a stream among values")


def type_id(type_: Type) -> str:
    """The number of a type."""
    return f"TYPE_{type_.ident}"


def pointer(value: Value) -> str:
    """A structure that must be there, as one of its type."""
    match value.kind:
        case Struct(type_):
            return f"((T_{type_.ident} *)the(ctx, {value.code}))"
        case Union():
            return f"the(ctx, struct_of(ctx, {value.code}))"
    raise NotInC("no structure")


def decoded(code: str, encoding: str) -> str:
    """Bytes as a text."""
    fast = FAST.get(_codec(encoding))
    return f"{fast}(ctx, {code})" if fast else f"asked(ctx, {quoted(b'decode:' + encoding.encode())}, {code}, 0, 0)"


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return ""


def is_safe(code: str, safe: set[str]) -> bool:
    """Whether code cannot fail: it calls nothing that could, but instances that cannot."""
    return all(called in safe for called in CALL.findall(code))


def member(owner: str, item: Field, kind: Kind) -> Value:
    """The value of a field of a structure."""
    is_switch = isinstance(item.data.get("type"), dict)
    is_called = item.is_instance or (("if" in item.data or is_switch) and not is_object(kind))
    if is_called:
        return Value(f"g_{item.owner.ident}__{item.name}(ctx, {owner})", kind)
    return Value(f"{owner}->f_{item.name}", kind)


@dataclass(frozen=True, slots=True)
class Expression:
    """Makes the code of expressions in one scope."""

    analysis: Analysis
    scope: Scope

    def of(self, item: Field, *keys: str | int, source: object = None) -> Value:
        """The value of an expression under a key of a field."""
        found: Any = source
        if found is None:
            found = item.data
            for key in keys:
                found = found[key]
        return self.value(grammar.parse(found))

    def place(self, item: Field, *keys: str | int, source: object = None) -> str:
        """A number of bytes, a position or a count; one beyond 64 bits is as good as the largest."""
        found = self.of(item, *keys, source=source)
        kind = number_kind(found.kind)
        return found.code if c_type(kind) == "i64" else f"place(ctx, {converted(found, Int())})"

    def _kind(self, node: Node) -> Kind:
        return evaluated(self.analysis, self.scope, node).kind

    def value(self, node: Node) -> Value:  # noqa: C901, PLR0912 - a case for each kind of node
        """The code of an expression."""
        kind = self._kind(node)
        if isinstance(kind, Int) and kind.low == kind.high and not isinstance(node, grammar.Attribute | grammar.Name):
            return Value(literal(kind.low), kind)
        match node:
            case grammar.Number(number, is_bool=is_bool):
                return Value(str(int(number)) if is_bool else literal(number), kind)
            case grammar.Real(number):
                return Value(repr(float(number)), kind)
            case grammar.Text(text):
                return Value(constant(text.encode("utf-8", "surrogatepass")), kind)
            case grammar.Format(parts):
                return self._format(parts)
            case grammar.Name(name):
                return self._name(name, kind)
            case grammar.Member():
                return Value(literal(kind.number.low if isinstance(kind, Label) else 0), kind)
            case grammar.Array(items):
                return self._array(items, kind)
            case grammar.Index(target, index):
                return self._item(self.value(target), self.value(index), kind)
            case grammar.Attribute(target, name):
                return self._attribute(target, name, kind)
            case grammar.Call(target, name, arguments):
                return self._method(self.value(target), name, tuple(map(self.value, arguments)), kind)
            case grammar.Cast(target):
                return self._cast(self.value(target), kind)
            case grammar.Size():
                return Value(literal(kind.low if isinstance(kind, Int) else 0), kind)
            case grammar.Operation("?", (condition, then, other)):
                codes = [converted(self.value(one), kind) for one in (then, other)]
                return Value(f"({self.value(condition).code} ? {codes[0]} : {codes[1]})", kind)
            case grammar.Operation(operator, operands):
                return self._operation(operator, [self.value(one) for one in operands], kind)

    # Names

    def _name(self, name: str, kind: Kind) -> Value:
        scope = self.scope
        special = {"_": scope.this, "_index": scope.index, "_on": scope.on}
        if found := special.get(name):
            return found
        match name:
            case "_io":
                return Value("x->h.io", kind)
            case "_root":
                return Value(f"is_a(ctx, x->h.root, {type_id(scope.type.top)})", kind)
            case "_parent":
                return _parent("(&x->h)", kind)
            case "_sizeof":
                return Value(literal(kind.low if isinstance(kind, Int) else 0), kind)
        return self._member_of("x", scope.type, name, kind)

    def _member_of(self, owner: str, type_: Type, name: str, kind: Kind) -> Value:
        item = find(type_, name)
        if item is None:
            raise NotInC(f"{type_.name} has no {name}")
        return member(owner, item, kind)

    def _attribute(self, target: Node, name: str, kind: Kind) -> Value:
        if name == "_sizeof":
            return Value(literal(kind.low if isinstance(kind, Int) else 0), kind)
        found = self.value(target)
        if not isinstance(found.kind, Struct | Union):
            return self._method(found, name, (), kind)
        if name == "_io":
            return Value(f"the(ctx, {_head(found)})->io", kind)
        if name == "_parent":
            return _parent(f"the(ctx, {_head(found)})", kind)
        if isinstance(found.kind, Union):
            raise NotInC(f"{name} of a value of several types")
        if name == "_root":
            return Value(f"is_a(ctx, the(ctx, {found.code})->root, {type_id(found.kind.type.top)})", kind)
        return self._member_of(pointer(found), found.kind.type, name, kind)

    # Literals

    def _format(self, parts: tuple[Node, ...]) -> Value:
        codes = [self._shown(self.value(part)) for part in parts]
        code = codes[0] if codes else constant(b"")
        for more in codes[1:]:
            code = f"joined(ctx, {code}, {more})"
        return Value(code, Text())

    def _shown(self, found: Value) -> str:
        if isinstance(found.kind, Int):
            return f"text_of(ctx, {found.code})"
        if isinstance(found.kind, Text):
            return found.code
        raise NotInC("a float as a text")

    def _array(self, items: tuple[Node, ...], kind: Kind) -> Value:
        if isinstance(kind, Bytes):
            return Value(constant(bytes(it.value for it in items if isinstance(it, grammar.Number))), kind)
        inner = kind.item if isinstance(kind, List) else kind
        pushed = "".join(f"PUSH(ctx, made, {c_type(inner)}, {converted(self.value(it), inner)}); " for it in items)
        return Value(f"({{ List *made = list(ctx); {pushed}made; }})", kind)

    # Casts, items, methods

    def _item(self, found: Value, index: Value, kind: Kind) -> Value:
        at = f"(i128){index.code}"
        if isinstance(found.kind, Bytes):
            return Value(f"((i64)known(ctx, {found.code}).p[byte_at(ctx, {found.code}, {at})])", kind)
        return Value(f"(*({c_type(kind)} *)item_at(ctx, {found.code}, sizeof({c_type(kind)}), {at}))", kind)

    def _cast(self, found: Value, kind: Kind) -> Value:
        if isinstance(kind, Bytes) and isinstance(found.kind, List):
            return Value(_bytes_of(found), kind)
        if isinstance(kind, List) and isinstance(found.kind, List | Bytes):
            return Value(_list_of(found, kind.item), kind)
        if isinstance(kind, Struct) and isinstance(found.kind, Struct):
            is_same = kind.type is found.kind.type
            return found if is_same else Value(f"is_a(ctx, {found.code}, {type_id(kind.type)})", kind)
        return Value(converted(found, kind), kind)

    def _method(self, found: Value, name: str, given: tuple[Value, ...], kind: Kind) -> Value:
        make = METHODS.get((type(found.kind), name, len(given)))
        if make is None:
            raise NotInC(f"{name} of a {type(found.kind).__name__}")
        return Value(make(found, *given), kind)

    # Operators

    def _operation(self, operator: str, values: list[Value], kind: Kind) -> Value:
        codes = [value.code for value in values]
        if operator in TRUTHS:
            sign = {"and": "&&", "or": "||"}.get(operator)
            return Value(f"({codes[0]} {sign} {codes[1]})" if sign else f"(!{codes[0]})", kind)
        if operator in COMPARISONS:
            return compared(operator, *values)
        if isinstance(kind, Text):
            return Value(f"joined(ctx, {codes[0]}, {codes[1]})", kind)
        if isinstance(kind, Real):
            return Value(_real(operator, [converted(value, Real()) for value in values]), kind)
        return Value(_whole(operator, values, kind), kind)


def _head(value: Value) -> str:
    return f"struct_of(ctx, {value.code})" if isinstance(value.kind, Union) else value.code


def _parent(head: str, kind: Kind) -> Value:
    code = f"the(ctx, {head}->parent)"
    if isinstance(kind, Struct):
        return Value(f"is_a(ctx, {code}, {type_id(kind.type)})", kind)
    return Value(f"any_struct({code})", kind)


def _bytes_of(found: Value) -> str:
    inner = found.kind.item if isinstance(found.kind, List) else found.kind
    if c_type(inner) != "i64":
        raise NotInC("a list taken for bytes")
    return f"bytes_of(ctx, {found.code})"


def _list_of(found: Value, item: Kind) -> str:
    """A list as one of other items."""
    have, want = (c_type(found.kind.item) if isinstance(found.kind, List) else "byte", c_type(item))
    if have == want:
        return found.code
    if have == "byte" and want in {"i64", "i128"}:
        return f"{want}_of_bytes(ctx, {found.code})"
    if {have, want} == {"i64", "i128"}:
        return f"{'widened' if want == 'i128' else 'narrowed'}(ctx, {found.code})"
    raise NotInC("a list taken for one of another kind")


def _extreme(is_most: int) -> Callable[[Value], str]:
    def make(found: Value) -> str:
        if isinstance(found.kind, Bytes):
            return f"extreme_byte(ctx, {found.code}, {is_most})"
        inner = c_type(found.kind.item) if isinstance(found.kind, List) else ""
        if inner not in {"i64", "u64", "i128", "double", "Span"}:
            raise NotInC("the least or most of values that are no numbers")
        return f"extreme_{inner}(ctx, {found.code}, {is_most})"

    return make


def _item_of(index: str) -> Callable[[Value], str]:
    def make(found: Value) -> str:
        if isinstance(found.kind, Bytes):
            return f"((i64)known(ctx, {found.code}).p[byte_at(ctx, {found.code}, {index})])"
        inner = c_type(found.kind.item) if isinstance(found.kind, List) else ""
        return f"(*({inner} *)item_at(ctx, {found.code}, sizeof({inner}), {index}))"

    return make


def _decoded(found: Value, encoding: Value) -> str:
    text = re.fullmatch(r'span\("((?:\\\d{3})*)", \d+\)', encoding.code)
    if text is None:
        raise NotInC("an encoding that is not fixed")
    name = bytes(int(octal, 8) for octal in re.findall(r"\\(\d{3})", text.group(1)))
    return decoded(found.code, name.decode())


def _number(found: Value, base: Value | None = None) -> str:
    return f"number_of(ctx, {found.code}, {base.code if base else 10})"


METHODS: dict[tuple[type, str, int], Callable[..., str]] = {
    (Int, "to_s", 0): lambda it: f"text_of(ctx, {it.code})",
    (Real, "to_i", 0): lambda it: f"whole_of(ctx, {it.code})",
    (Bool, "to_i", 0): lambda it: f"((i64){it.code})",
    (Label, "to_i", 0): lambda it: it.code,
    (Text, "to_i", 0): _number,
    (Text, "to_i", 1): _number,
    (Text, "length", 0): lambda it: f"length_of(ctx, {it.code})",
    (Text, "reverse", 0): lambda it: f"reversed(ctx, {it.code})",
    (Text, "substring", 2): lambda it, first, last: f"substring(ctx, {it.code}, {first.code}, {last.code})",
    (Bytes, "to_s", 1): _decoded,
    (Bytes, "size", 0): lambda it: f"known(ctx, {it.code}).n",
    (Bytes, "length", 0): lambda it: f"known(ctx, {it.code}).n",
    (List, "size", 0): lambda it: f"known_list(ctx, {it.code})->n",
    (List, "length", 0): lambda it: f"known_list(ctx, {it.code})->n",
    (Io, "pos", 0): lambda it: f"stream_of(ctx, {it.code})->pos",
    (Io, "size", 0): lambda it: f"stream_of(ctx, {it.code})->size",
    (Io, "eof", 0): lambda it: f"((i64)at_end(stream_of(ctx, {it.code})))",
    **{(kind, "first", 0): _item_of("0") for kind in (Bytes, List)},
    **{(kind, "last", 0): _item_of("-1") for kind in (Bytes, List)},
    **{(kind, "min", 0): _extreme(0) for kind in (Bytes, List)},
    **{(kind, "max", 0): _extreme(1) for kind in (Bytes, List)},
}


def compared(operator: str, left: Value, right: Value) -> Value:
    """Whether two values compare so."""
    kinds = (number_kind(left.kind), number_kind(right.kind))
    code = f"({left.code} {operator} {right.code})"
    if any(isinstance(kind, Union) for kind in kinds):
        if operator not in ("==", "!="):
            raise NotInC("the order of values of several types")
        sides = [value.code if isinstance(value.kind, Union) else as_any(value) for value in (left, right)]
        code = f"({'!' if operator == '!=' else ''}same_any({sides[0]}, {sides[1]}))"
    elif all(isinstance(kind, Text | Bytes) for kind in kinds):
        if operator in ("==", "!="):
            code = f"({'!' if operator == '!=' else ''}same({left.code}, {right.code}))"
        else:
            code = f"(compared(ctx, {left.code}, {right.code}) {operator} 0)"
    elif any(isinstance(kind, List) for kind in kinds):
        raise NotInC("a comparison of lists")
    elif any(isinstance(kind, Real) for kind in kinds) and any(isinstance(kind, Int) for kind in kinds):
        code = f"((long double){left.code} {operator} (long double){right.code})"
    elif c_type(kinds[0]) != c_type(kinds[1]):
        code = f"((i128){left.code} {operator} (i128){right.code})"
    return Value(code, Bool())


def _real(operator: str, codes: list[str]) -> str:
    if len(codes) == 1:
        return f"({operator}{codes[0]})"
    if operator in "/%":
        return f"{'divided' if operator == '/' else 'remainder_of'}(ctx, {codes[0]}, {codes[1]})"
    return f"({codes[0]} {operator} {codes[1]})"


def _whole(operator: str, values: list[Value], kind: Kind) -> str:
    kinds = [number_kind(value.kind) for value in values]
    if not isinstance(kind, Int) or not all(isinstance(one, Int) for one in kinds):
        raise NotInC(f"{operator} of what is no number")
    is_word = all(c_type(one) == "i64" for one in (kind, *kinds))
    codes = [value.code for value in values]
    if len(codes) == 1:
        if is_word:
            return f"({operator}{codes[0]})"
        return _narrowed(f"minus(ctx, 0, {codes[0]})" if operator == "-" else f"(~(i128){codes[0]})", kind)
    if is_word and operator in "/%":
        return f"{'over64' if operator == '/' else 'modulo64'}(ctx, {codes[0]}, {codes[1]})"
    by = kinds[1]
    is_small = isinstance(by, Int) and by.low >= 0 and by.high < MOST_SHIFT
    if is_word and (operator not in ("<<", ">>") or is_small):
        return f"((i64)((u64){codes[0]} << {codes[1]}))" if operator == "<<" else f"({codes[0]} {operator} {codes[1]})"
    if operator in CHECKED:
        return _narrowed(f"{CHECKED[operator]}(ctx, {codes[0]}, {codes[1]})", kind)
    return _narrowed(f"((i128){codes[0]} {operator} (i128){codes[1]})", kind)


def _narrowed(code: str, kind: Int) -> str:
    """A result as C holds its kind: it is within its limits."""
    return code if c_type(kind) == "i128" else f"(({c_type(kind)}){code})"
