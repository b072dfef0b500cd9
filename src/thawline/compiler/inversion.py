"""What determines a field: which fields of a type follow from others and need not be given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thawline.compiler import expressions as ex
from thawline.compiler import subset
from thawline.compiler.subset import Attribute
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.names import find_enum, find_type

TWO = 2
WORD = re.compile(r'"([^"\\]*)"')
WORDED = re.compile(r'(\w+) == "([^"\\]*)"')
"""Text in expressions, which only these need."""


@dataclass(frozen=True, slots=True)
class Sized:
    """The size of another field plus a constant; `absent` where that field is null."""

    field: str
    more: int
    absent: int


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of items of a list."""

    field: str


@dataclass(frozen=True, slots=True)
class Equal:
    """A value that `valid` names."""

    source: Any
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Marks:
    """One of two codes: whether any of some fields is there."""

    fields: tuple[str, ...]
    code: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Flagged:
    """One of two codes: whether a calculated column is true."""

    instance: str
    code: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Summed:
    """The checksum of the bytes that an instance covers."""

    instance: str


@dataclass(frozen=True, slots=True)
class Worded:
    """One of two words: whether a calculated column is true."""

    instance: str
    word: bytes
    otherwise: bytes


Origin = Sized | Counted | Equal | Marks | Flagged | Summed


def origin(attribute: Attribute, specs: Mapping[str, Spec]) -> Origin | None:
    """What determines a number; None where it has to be given."""
    owner = attribute.owner
    covered = subset.instances(owner).get(f"{attribute.name}_input")
    if covered is not None and "checksum" in covered.hints:
        return Summed(covered.name)
    return (
        _equal(attribute)
        or sized_by(attribute.name, owner)
        or _counted(attribute.name, owner)
        or _told(attribute, specs)
    )  # fmt: skip


def _equal(attribute: Attribute) -> Equal | None:
    rule = attribute.data.get("valid")
    if rule is not None and not isinstance(rule, dict):
        return Equal(rule, ("valid",))
    if isinstance(rule, dict) and "eq" in rule:
        return Equal(rule["eq"], ("valid", "eq"))
    match ex.parse(rule["expr"]) if isinstance(rule, dict) and "expr" in rule else None:
        case ex.Operation("==", (left, ex.Number(value))) if _is_self(left):
            return Equal(value, ("valid", "expr"))
    return None


def _is_self(node: ex.Node) -> bool:
    return node in (ex.Name("_"), ex.Attribute(ex.Name("_"), "value"))


def _is(node: ex.Node, name: str) -> bool:
    return node in (ex.Name(name), ex.Attribute(ex.Name(name), "value"))


def sized_by(name: str, owner: TypeDef) -> Sized | None:
    """The field whose size a field gives, if there is one."""
    for other in subset.head_fields(owner):
        more = _more(ex.parse(other.data["size"]), name) if "size" in other.data else None
        if more is not None:
            return Sized(other.name, more, _absent(other, name))
    return None


def _more(size: ex.Node, name: str) -> int | None:
    """What has to be added to a size so that an expression of the field gives it."""
    match size:
        case ex.Operation("-", (left, ex.Number(less))) if _is(left, name):
            return less
        case ex.Operation("+", (left, ex.Number(more))) if _is(left, name):
            return -more
    return 0 if _is(size, name) else None


def _absent(other: Attribute, name: str) -> int:
    """The value next to those that let the other field be there."""
    match ex.parse(other.data["if"]) if "if" in other.data else None:
        case ex.Operation(">=", (left, ex.Number(least))) if _is(left, name):
            return least - 1
    return 0


def _counted(name: str, owner: TypeDef) -> Counted | None:
    counted = (other for other in subset.head_fields(owner) if "repeat-expr" in other.data)
    found = next((other for other in counted if _is(ex.parse(other.data["repeat-expr"]), name)), None)
    return Counted(found.name) if found else None


def _told(attribute: Attribute, specs: Mapping[str, Spec]) -> Marks | Flagged | None:
    """A field of two codes that is no column: it tells what is there, or a flag is another word for it."""
    codes = _codes(attribute, specs)
    if attribute.hints.get("column") is not False or len(codes) != TWO:
        return None
    for instance in subset.instances(attribute.owner).values():
        code = _compared(instance.data.get("value"), attribute, specs)
        if code in codes and instance.hints.get("column"):
            return Flagged(instance.name, code, *(codes - {code}))
    marked = [other for other in subset.head_fields(attribute.owner) if "contents" not in other.data]
    found = {other.name: _compared(other.data.get("if"), attribute, specs) for other in marked}
    named = {code for code in found.values() if code is not None}
    if len(named) != 1 or not named <= codes:
        return None
    (code,) = named
    return Marks(tuple(name for name, it in found.items() if it is not None), code, *(codes - named))


def _codes(attribute: Attribute, specs: Mapping[str, Spec]) -> set[int]:
    rule = attribute.data.get("valid")
    if isinstance(rule, dict) and "any-of" in rule:
        return {code for code in rule["any-of"] if isinstance(code, int)}
    if isinstance(rule, dict) and "in-enum" in rule:
        return set(find_enum(attribute.data["enum"], attribute.owner, specs) or ())
    return set()


def _compared(source: object, attribute: Attribute, specs: Mapping[str, Spec]) -> int | None:
    """The code that a field has to be equal to, for a condition to hold."""
    for part in conjuncts(ex.parse(source)) if source is not None else ():
        match part:
            case ex.Operation("==", (left, ex.Number(code))) if _is(left, attribute.name):
                return code
            case ex.Operation("==", (left, ex.Member((*path, wanted)))) if _is(left, attribute.name):
                members = find_enum("::".join(path), attribute.owner, specs) or {}
                return next((code for code, label in members.items() if label == wanted), None)
    return None


def words(attribute: Attribute) -> tuple[bytes, ...]:
    """The words that a text may be; empty where any is allowed."""
    rule = attribute.data.get("valid")
    found = [WORD.fullmatch(str(it)) for it in rule.get("any-of", ())] if isinstance(rule, dict) else []
    return tuple(it[1].encode() for it in found if it is not None)


def worded(attribute: Attribute) -> Worded | None:
    """What determines a text of two words; None where it has to be given."""
    allowed = set(words(attribute))
    for instance in subset.instances(attribute.owner).values():
        found = WORDED.fullmatch(str(instance.data.get("value")))
        word = found[2].encode() if found and found[1] == attribute.name else None
        if word in allowed and len(allowed) == TWO and instance.hints.get("column"):
            return Worded(instance.name, word, *(allowed - {word}))
    return None


def conjuncts(node: ex.Node) -> Iterator[ex.Node]:
    """The parts of a condition that all have to hold."""
    match node:
        case ex.Operation("and", (left, right)):
            yield from conjuncts(left)
            yield from conjuncts(right)
        case _:
            yield node


def item_values(rule: object) -> dict[str, ex.Node]:
    """What a rule says that the fields of an item are equal to, by their names."""
    found = {}
    for part in conjuncts(ex.parse(rule)) if rule is not None else ():
        match part:
            case ex.Operation("==", (ex.Attribute(ex.Name("_"), name), other)):
                found[name] = other
    return found


def names_in(node: ex.Node) -> Iterator[str]:
    """The fields and instances of the type itself that an expression uses; `_io.pos` and the like as a whole."""
    match node:
        case ex.Attribute(ex.Name("_io"), name):
            yield f"_io.{name}"
        case ex.Name(name):
            yield name
        case ex.Attribute(target, _):
            yield from names_in(target)
        case ex.Operation(_, operands):
            for operand in operands:
                yield from names_in(operand)


def fields_in(source: object, owner: TypeDef) -> set[str]:
    """The fields of the type itself that an expression uses, also by way of instances."""
    found, waiting, instances = set[str](), [*names_in(ex.parse(source))], subset.instances(owner)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            value = instances[name].data.get("value", 0) if name in instances else 0
            told = WORDED.fullmatch(str(value))
            waiting += [told[1]] if told else names_in(ex.parse(value))
    return found


def is_repeated(elsewhere: Attribute, specs: Mapping[str, Spec]) -> bool:
    """Whether a structure that is read at a distance from the end is the last of a field that a rule makes equal."""
    fields = subset.fields(elsewhere.owner)
    same = [at for at, it in enumerate(fields) if it.data.get("type") == elsewhere.data.get("type")]
    if not same:
        return False
    field = fields[same[-1]]
    structure = find_type(field.data["type"], field.owner, specs)
    sizes = [_size_of(it, specs) for it in fields[same[-1] :]]
    rule = field.data.get("valid")
    if structure is None or None in sizes or not isinstance(rule, dict):
        return False
    values = item_values(rule.get("expr"))
    open_fields = [it.name for it in subset.fields(structure) if _equal(it) is None]
    is_equal = all(values.get(it) == ex.Attribute(ex.Name(elsewhere.name), it) for it in open_fields)
    back = ex.Operation("-", (ex.Attribute(ex.Name("_io"), "size"), ex.Number(sum(filter(None, sizes)))))
    return is_equal and ex.parse(elsewhere.data["pos"]) == back


def _size_of(attribute: Attribute, specs: Mapping[str, Spec]) -> int | None:
    """Bytes of a field, of an item if it is repeated; None unless they are fixed."""
    name = str(attribute.data.get("type", ""))
    if found := subset.INTEGER.fullmatch(name):
        return int(found[2] or found[5])
    structure = find_type(name, attribute.owner, specs) if name else None
    if structure is None:
        return None
    fields = subset.fields(structure)
    bits = [subset.BITS.fullmatch(str(it.data.get("type", ""))) for it in fields]
    return sum(int(it[1]) for it in bits if it) // 8 if all(bits) else None


def constant(source: object) -> int | None:
    """The number that an expression is; None for one that has to be computed."""
    match ex.parse(source):
        case ex.Number(value):
            return value
    return None
