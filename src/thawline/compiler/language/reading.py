"""Code that reads one field: its bytes, its value, its repetitions, and the rules that it must keep."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import Any

from thawline.compiler.language import datatypes
from thawline.compiler.language.analysis import Analysis, contents
from thawline.compiler.language.datatypes import Bits, DataType, Number, Raw, String, User
from thawline.compiler.language.declarations import Field, Type
from thawline.compiler.language.grammar import ExpressionError
from thawline.compiler.language.kinds import Bytes, Int, Io, Kind, Label, List, c_type, held, is_object
from thawline.compiler.language.values import Scope, Value, comparison
from thawline.compiler.language.writing import Writer
from thawline.ksy.documents import SpecError

PROCESS = re.compile(r"([a-z_][a-z0-9_.]*)(?:\((.*)\))?", re.DOTALL)
FAST = {"utf-8": "decoded_utf8", "ascii": "decoded_ascii", "iso8859-1": "decoded_latin1"}
"""Encodings that C decodes without looking them up."""
ORDERS = {"le", "be"}


@dataclass
class Places:
    """The number of every field in messages, with its path."""

    paths: list[str] = field(default_factory=lambda: ["/"])
    numbers: dict[Field, int] = field(default_factory=dict)

    def number(self, item: Field) -> int:
        """The number of a field."""
        if item not in self.numbers:
            self.numbers[item] = len(self.paths)
            self.paths.append(item.path)
        return self.numbers[item]


@dataclass
class Reader:
    """Writes what reads the fields of a library."""

    analysis: Analysis
    writer: Writer
    places: Places
    is_traced: bool = False
    """Whether the reader tells `ctx.tracer` where each field is."""

    def read_field(self, item: Field, *, is_resumable: bool = False) -> None:
        """Read a field of a structure, or a parse instance, into the structure; or note why it is refused."""
        try:
            self._read_field(item, is_resumable=is_resumable)
        except SpecError as error:
            self.analysis.refuse(error)

    def _read_field(self, item: Field, *, is_resumable: bool) -> None:
        writer, scope = self.writer, Scope(item.owner)
        writer.add(f"ctx.at = {self.places.number(item)}", "ctx.began = io.base + io.pos")
        if "if" in item.data and not is_resumable:
            condition = self.analysis.expect(item, scope, "true or false", "if")
            with writer.block(f"if {condition.code}:"):
                self._read_all(item, scope)
        else:
            self._read_all(item, scope, is_resumable=is_resumable)

    def _read_all(self, item: Field, scope: Scope, *, is_resumable: bool = False) -> None:
        if "repeat" in item.data:
            self._repeat(item, scope, is_resumable=is_resumable)
            return
        target = f"self.{stored(item)}"
        self._read_item(item, scope, target, f"self.h_{item.name} = True" if has_flag(self.analysis, item) else "")
        if "valid" in item.data or "contents" in item.data:
            self._check_present(item, scope, Value(target, self.analysis.kind(item)))

    def _check_present(self, item: Field, scope: Scope, value: Value) -> None:
        if isinstance(item.data.get("type"), dict):
            is_there = f"self.h_{item.name}" if has_flag(self.analysis, item) else f"{value.code} is not None"
            with self.writer.block(f"if {is_there}:"):
                self.check(item, scope, value)
        else:
            self.check(item, scope, value)

    # Repetition

    def _repeat(self, item: Field, scope: Scope, *, is_resumable: bool) -> None:
        writer, name = self.writer, item.name
        if not is_resumable:
            writer.add(f"items_{name}: list = []", f"self.{stored(item)} = items_{name}")
            writer.add(f"index_{name}: cython.longlong = 0")
        kind = self.analysis.item_kind(item)
        index = Value(f"index_{name}", Int(0, 1 << 40))
        inner = replace(scope, index=index)
        with writer.block(self._loop(item, scope, is_resumable=is_resumable)):
            if is_resumable:
                with writer.block(f"if index_{name} >= limit:"):
                    writer.add("return False")
            writer.add("spend(ctx, 1)")
            if item.data["repeat"] == "eos":
                writer.add(f"was_{name}: cython.longlong = 8 * io.pos - io.bits_left")
            writer.add(f"ctx.at = {self.places.number(item)}", "ctx.began = io.base + io.pos")
            writer.add(f"it_{name}: {c_type(kind)}")
            flag = f"found_{name}" if is_partial(item) else ""
            if flag:
                writer.add(f"{flag}: cython.bint = False")
            self._read_item(item, inner, f"it_{name}", f"{flag} = True" if flag else "")
            value = Value(f"it_{name}", kind)
            if flag:
                with writer.block(f"if {flag}:"):
                    self._append(item, inner, value)
            else:
                self._append(item, inner, value)
            self._end_of_turn(item, inner, value)

    def _append(self, item: Field, scope: Scope, value: Value) -> None:
        self.writer.add(f"items_{item.name}.append({value.code})")
        if "valid" in item.data or "contents" in item.data:
            self.check(item, scope, value)

    def _loop(self, item: Field, scope: Scope, *, is_resumable: bool) -> str:
        name, repeat = item.name, item.data["repeat"]
        if repeat == "eos":
            return "while not io.eof():"
        if repeat == "until":
            if "repeat-until" not in item.data:
                raise item.error("repeat: until needs repeat-until", "repeat")
            return "while True:"
        if repeat != "expr" or "repeat-expr" not in item.data:
            raise item.error("a repetition is eos, expr with repeat-expr, or until with repeat-until", "repeat")
        count = self.analysis.expect(item, scope, "a number", "repeat-expr")
        if is_resumable:
            with self.writer.block(f"if index_{name} == 0:"):
                self.writer.add(f"self.c_{name} = {count.code}")
            return f"while index_{name} < self.c_{name}:"
        self.writer.add(f"count_{name}: cython.longlong = {count.code}")
        return f"while index_{name} < count_{name}:"

    def _end_of_turn(self, item: Field, scope: Scope, value: Value) -> None:
        writer, name = self.writer, item.name
        if item.data["repeat"] == "until":
            end = self.analysis.expect(item, replace(scope, this=value), "true or false", "repeat-until")
            writer.add(f"ctx.at = {self.places.number(item)}")
            with writer.block(f"if {end.code}:"):
                writer.add("break")
        writer.add(f"index_{name} += 1")
        if item.data["repeat"] == "eos":
            with writer.block(f"if 8 * io.pos - io.bits_left == was_{name}:"):
                writer.add('raise Stop("work", "the repetition does not end: an item has no bytes")')

    # One item

    def _read_item(self, item: Field, scope: Scope, target: str, found: str) -> None:
        """Read one item into a target; `found` says that there was one."""
        text = item.data.get("type")
        if isinstance(text, dict):
            self._switch(item, scope, target, found)
            return
        data_type = Raw() if text is None else self.analysis.data_type(item, text, "type")
        self._assign(item, scope, data_type, target, found)

    def _assign(self, item: Field, scope: Scope, data_type: DataType, target: str, found: str) -> None:
        code, name, writer = self._read(item, scope, data_type), item.name, self.writer
        whole, one = self.analysis.item_kind(item), self.analysis.kind_of(item, data_type)
        if self.is_traced:
            index = scope.index.code if scope.index else "-1"
            given = f"{self.places.number(item)}, self, io, {index}, {isinstance(data_type, Bits)}"
            writer.add(f"mark_{name} = ctx.tracer.begin({given})")
        writer.add(f"{target} = {code if held(one, whole) == one else f'float({code})'}")
        if self.is_traced:
            writer.add(f"ctx.tracer.end(mark_{name}, io, {target})")
        if found:
            writer.add(found)

    def _switch(self, item: Field, scope: Scope, target: str, found: str) -> None:
        on = self.analysis.value(item, scope, "type", "switch-on")
        variable = Value(f"on_{item.name}", on.kind)
        self.writer.add(f"{variable.code}: {c_type(on.kind)} = {on.code}")
        kind = self.analysis.item_kind(item)
        word = "if"
        for key, data_type in self.analysis.cases(item):
            if key == "_":
                head = "else:" if word == "elif" else "if True:"
            else:
                head = f"{word} {self._matches(item, scope, variable, key)}:"
            word = "elif"
            with self.writer.block(head):
                self._assign(item, scope, data_type, target, found)
        if word == "elif" and is_object(kind) and is_partial(item):
            with self.writer.block("else:"):
                self.writer.add(f"{target} = None")

    def _matches(self, item: Field, scope: Scope, on: Value, key: object) -> str:
        case = self.analysis.value(item, replace(scope, on=on), "type", "cases", str(key), source=key)
        try:
            return comparison("==", on, case).code
        except ExpressionError as error:
            raise item.error(str(error), "type", "cases", str(key)) from None

    def _read(self, item: Field, scope: Scope, found: DataType) -> str:
        match found:
            case Number():
                return self._number(item, found)
            case Bits():
                return self._bits(item, found)
            case String():
                return self._string(item, scope, found)
            case User():
                return self._structure(item, scope, found)
        return self._bytes(item, scope)

    def _number(self, item: Field, found: Number) -> str:
        if found.width == 1:
            return f"io.{found.name}()"
        order = found.order or item.owner.default("endian")
        if isinstance(order, dict):
            return f"(io.{found.name}le() if self.little == 1 else io.{found.name}be())"
        if order not in ORDERS:
            raise item.error(f"{found.name} needs le or be, or a default endian in meta", "type")
        return f"io.{found.name}{order}()"

    def _bits(self, item: Field, found: Bits) -> str:
        order = found.order or item.owner.default("bit-endian") or "be"
        code = f"io.bits_{order}({found.count})"
        if found.count == 1 and "enum" not in item.data:
            return f"({code} != 0)"
        return code if found.count == datatypes.MAX_BITS else f"cython.cast(cython.longlong, {code})"

    def _string(self, item: Field, scope: Scope, found: String) -> str:
        encoding = str(item.data.get("encoding") or item.owner.default("encoding") or "")
        if not encoding:
            raise item.error("a string needs an encoding, here or in meta", "type")
        code = self._bytes(item, scope, found, encoding)
        fast = FAST.get(_codec(encoding))
        return f"{fast}({code})" if fast else f"decoded({code}, {encoding!r})"

    # Bytes

    def _bytes(self, item: Field, scope: Scope, string: String | None = None, encoding: str = "") -> str:
        term = terminator(item, string, encoding)
        if "contents" in item.data:
            code = f"io.take({len(contents(item))})"
        elif "size" in item.data:
            size = self.analysis.expect(item, scope, "a number", "size")
            code = self._cut(item, f"io.take({size.code})", term)
        elif _is_true(item, "size-eos"):
            code = self._cut(item, "io.rest()", term)
        elif term:
            include, consume = _is_true(item, "include"), item.data.get("consume") is not False
            must = item.data.get("eos-error") is not False
            code = f"io.terminated({term!r}, {include}, {consume}, {must})"
        else:
            what = "a string" if string else "a field without a type"
            raise item.error(f"{what} needs size, size-eos or a terminator")
        return self._processed(item, scope, code)

    def _cut(self, item: Field, code: str, term: bytes) -> str:
        """What is left of sized bytes without padding, and up to a terminator."""
        if "pad-right" in item.data and term != bytes([int(item.data["pad-right"])]):
            code = f"strip_right({code}, {int(item.data['pad-right'])})"
        if term:
            code = f"until({code}, {term!r}, {_is_true(item, 'include')})"
        return code

    def _processed(self, item: Field, scope: Scope, code: str) -> str:
        if "process" not in item.data:
            return code
        found = PROCESS.fullmatch(str(item.data["process"]).strip())
        if not found:
            raise item.error(f"{item.data['process']!r} is no process", "process")
        name = found.group(1)
        given = [
            self.analysis.value(item, scope, "process", source=text)
            for text in datatypes.arguments(found.group(2) or "")
        ]
        codes = [value.code for value in given]
        if name == "zlib" and not codes:
            return f"inflated(ctx, {code})"
        if name == "xor" and len(codes) == 1 and isinstance(given[0].kind, Int | Bytes | List):
            key = codes[0] if isinstance(given[0].kind, Int) else f"bytes({codes[0]})"
            return f"xored({code}, {key})"
        if name in ("rol", "ror") and len(codes) == 1 and isinstance(given[0].kind, Int):
            return f"rotated({code}, {'-' if name == 'ror' else ''}o({codes[0]}))"
        if name in ("zlib", "xor", "rol", "ror"):
            raise item.error(f"{name} does not take these arguments", "process")
        return f"custom(ctx, {name!r}, {code}, ({''.join(f'o({it}), ' for it in codes)}))"

    # Structures

    def _structure(self, item: Field, scope: Scope, found: User) -> str:
        owner, type_ = item.owner, found.type
        is_foreign = type_.top is not owner.top
        parent, root = "self", "self.root"
        if "parent" in item.data:
            given = item.data["parent"]
            parent = "None" if given is False else self.analysis.value(item, scope, "parent").code
        if is_foreign:
            parent, root = "None", "None"
        arguments = [
            self._argument(item, scope, param, text)
            for param, text in zip(type_.params.values(), found.arguments, strict=True)
        ]
        given_codes = "".join(f", {code}" for code in arguments)
        stream = self._stream(item, scope)
        little = "self.little" if order_taken_over(owner, type_) else "-1"
        return f"read_{type_.ident}({stream}, {parent}, {root}, {little}{given_codes})"

    def _argument(self, item: Field, scope: Scope, param: Field, text: str) -> str:
        value = self.analysis.value(item, scope, "type", source=text)
        kind = self.analysis.kind(param)
        wanted = kind.number if isinstance(kind, Label) else kind
        given = value.kind.number if isinstance(value.kind, Label) else value.kind
        if isinstance(wanted, Int) and isinstance(given, Int):
            is_within = wanted.low <= given.low and given.high <= wanted.high
            return value.code if is_within else f"fitted({value.code}, {wanted.low}, {wanted.high})"
        if is_object(wanted) != is_object(given):
            raise item.error(f"the argument {text.strip()} does not fit {param.name}", "type")
        return f"bytes({value.code})" if isinstance(wanted, Bytes) and isinstance(given, List) else value.code

    def _stream(self, item: Field, scope: Scope) -> str:
        """Where a structure is read from."""
        keys = item.data.keys()
        if not keys & {"size", "terminator"} and not _is_true(item, "size-eos"):
            if "process" in keys:
                raise item.error("a process needs size, size-eos or a terminator", "process")
            return "io"
        if not keys & {"process", "terminator", "pad-right"}:
            if "size" in keys:
                return f"io.sub({self.analysis.expect(item, scope, 'a number', 'size').code})"
            return "io.sub(max(0, io.size - io.pos))"
        return f"made_stream(ctx, {self._bytes(item, scope)}, ctx.began)"

    # Rules

    def check(self, item: Field, scope: Scope, value: Value) -> None:
        """Refuse a value that breaks the rules of its field."""
        inner = replace(scope, this=value)
        if "contents" in item.data:
            self._refuse(f"{value.code} != {contents(item)!r}", "contents", "these bytes are not the contents", value)
        rule = item.data.get("valid")
        if isinstance(rule, dict):
            self._check_rules(item, inner, value, rule)
        elif "valid" in item.data:
            self._check_equal(item, inner, value, "valid")

    def _check_rules(self, item: Field, scope: Scope, value: Value, rule: dict[str, Any]) -> None:
        if "eq" in rule:
            self._check_equal(item, scope, value, "valid", "eq")
        for key, operator, kind in (("min", "<", "less-than"), ("max", ">", "greater-than")):
            if key in rule:
                limit = self.analysis.value(item, scope, "valid", key)
                compared = self._compared(item, operator, value, limit, "valid", key)
                self._refuse(compared, kind, f"is beyond {rule[key]!r}", value)
        if "any-of" in rule:
            self._check_any(item, scope, value, rule["any-of"])
        if rule.get("in-enum"):
            if not isinstance(value.kind, Label):
                raise item.error("in-enum needs a field with an enum", "valid", "in-enum")
            self._refuse(f"{value.code} not in E_{value.kind.enum.ident}", "not-in-enum", "is not in its enum", value)
        if "expr" in rule:
            holds = self.analysis.expect(item, scope, "true or false", "valid", "expr", source=rule["expr"])
            self._refuse(f"not {holds.code}", "expr", "breaks the rule of its field", value)

    def _check_equal(self, item: Field, scope: Scope, value: Value, *keys: str) -> None:
        wanted = self.analysis.value(item, scope, *keys)
        self._refuse(
            f"not {self._compared(item, '==', value, wanted, *keys)}", "not-equal", "is not as its rule says", value
        )

    def _check_any(self, item: Field, scope: Scope, value: Value, listed: object) -> None:
        if not isinstance(listed, list) or not listed:
            raise item.error("any-of is a list", "valid", "any-of")
        wanted = [self.analysis.value(item, scope, "valid", "any-of", index) for index in range(len(listed))]
        codes = [self._compared(item, "==", value, one, "valid", "any-of") for one in wanted]
        self._refuse(f"not ({' or '.join(codes)})", "not-any-of", "is none of the values of its rule", value)

    @staticmethod
    def _compared(item: Field, operator: str, left: Value, right: Value, *keys: str) -> str:
        try:
            return comparison(operator, left, right).code
        except ExpressionError as error:
            raise item.error(str(error), *keys) from None

    def _refuse(self, condition: str, kind: str, reason: str, value: Value) -> None:
        with self.writer.block(f"if {condition}:"):
            self.writer.add(f"invalid({kind!r}, {reason!r}, {value.code})")


def terminator(item: Field, string: String | None, encoding: str) -> bytes:
    """The bytes that end a field; none if nothing does."""
    given = item.data.get("terminator")
    if given is None and not (string and string.is_terminated):
        return b""
    if given is not None and not (isinstance(given, int) and 0 <= given <= 255):  # noqa: PLR2004 - a byte
        raise item.error("a terminator is one byte", "terminator")
    wide = re.match(r"UTF-?(16|32)", encoding, re.IGNORECASE)
    width = int(wide.group(1)) // 8 if wide and given is None else 1
    return bytes([given or 0]) * width


def order_taken_over(owner: Type, type_: Type) -> bool:
    """Whether a structure takes the order of bytes over from the one around it."""
    switched = type_.switched_by()
    return bool(switched and switched is not type_ and switched is owner.switched_by())


def stored(item: Field) -> str:
    """The attribute that holds a field or an instance."""
    return f"v_{item.name}" if item.is_instance else f"f_{item.name}"


def is_partial(item: Field) -> bool:
    """Whether a switch may find no case."""
    text = item.data.get("type")
    if not isinstance(text, dict) or "_" in (text.get("cases") or {}):
        return False
    return not item.data.keys() & {"size", "size-eos", "terminator"}


def has_flag(analysis: Analysis, item: Field) -> bool:
    """Whether a variable of C needs another that says whether it is there."""
    if is_object(analysis.kind(item)) or "repeat" in item.data:
        return False
    return "if" in item.data or is_partial(item)


def _codec(encoding: str) -> str:
    """Python's name of an encoding; empty if it has none."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return ""


def _is_true(item: Field, key: str) -> bool:
    return item.data.get(key) is True


def stream_code(analysis: Analysis, item: Field) -> str:
    """The stream that an instance is read from."""
    if "io" not in item.data:
        return "self.io"
    found: Kind
    value = analysis.value(item, Scope(item.owner), "io")
    found = value.kind
    if not isinstance(found, Io):
        raise item.error("io is a stream", "io")
    return f"stream_of({value.code})"
