"""C that reads one field: its bytes, its value, its repetitions, and the rules that it must keep.

It is `language.reading` in another language: what is read when, and in which order rules are looked at, is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thawline.compiler.language import datatypes, reading
from thawline.compiler.language.analysis import Analysis, contents
from thawline.compiler.language.c.expressions import (
    Expression,
    NotInC,
    c_type,
    compared,
    constant,
    converted,
    decoded,
    literal,
    number_kind,
    quoted,
    type_id,
)
from thawline.compiler.language.c.writing import CWriter
from thawline.compiler.language.datatypes import Bits, DataType, Number, Raw, String, User
from thawline.compiler.language.declarations import Field, Type
from thawline.compiler.language.kinds import (
    Bool,
    Bytes,
    Int,
    Kind,
    Label,
    List,
    Real,
    Struct,
    Text,
    Union,
    held,
    is_object,
)
from thawline.compiler.language.reading import PROCESS, Places, has_flag, is_partial, stored
from thawline.compiler.language.values import Scope, Value

COUNT = Int(0, 1 << 40)
SHOWN = {Text: "not_so_text", Bytes: "not_so_bytes", Real: "not_so_real", Int: "not_so_number", Bool: "not_so_bool"}


@dataclass
class CReader:
    """Writes what reads the fields of a library."""

    analysis: Analysis
    writer: CWriter
    places: Places

    def at(self, scope: Scope) -> Expression:
        """The expressions of a scope."""
        return Expression(self.analysis, scope)

    def read_field(self, item: Field, *, is_resumable: bool = False) -> None:
        """Read a field of a structure, or a parse instance, into the structure `x` from the stream `io`."""
        scope = Scope(item.owner)
        self.writer.add(f"ctx->at = {self.places.number(item)}; ctx->began = io->base + io->pos;")
        if "if" in item.data and not is_resumable:
            with self.writer.block(f"if ({self.at(scope).of(item, 'if').code})"):
                self._read_all(item, scope)
        else:
            self._read_all(item, scope, is_resumable=is_resumable)

    def _read_all(self, item: Field, scope: Scope, *, is_resumable: bool = False) -> None:
        if "repeat" in item.data:
            self._repeat(item, scope, is_resumable=is_resumable)
            return
        target = Value(f"x->{stored(item)}", self.analysis.kind(item))
        self._read_item(item, scope, target, f"x->h_{item.name} = 1;" if has_flag(self.analysis, item) else "")
        if "valid" in item.data or "contents" in item.data:
            self._check_present(item, scope, target)

    def _check_present(self, item: Field, scope: Scope, value: Value) -> None:
        if isinstance(item.data.get("type"), dict):
            is_there = f"x->h_{item.name}" if has_flag(self.analysis, item) else presence(value)
            with self.writer.block(f"if ({is_there})"):
                self.check(item, scope, value)
        else:
            self.check(item, scope, value)

    # Repetition

    def _repeat(self, item: Field, scope: Scope, *, is_resumable: bool) -> None:
        writer, name = self.writer, item.name
        items, index = (f"x->{stored(item)}", f"x->n_{name}") if is_resumable else (f"items_{name}", f"index_{name}")
        if not is_resumable:
            writer.add(f"List *items_{name} = list(ctx); x->{stored(item)} = items_{name};", f"i64 index_{name} = 0;")
        kind = self.analysis.item_kind(item)
        inner = replace(scope, index=Value(index, COUNT))
        with writer.block(self._loop(item, scope, index, is_resumable=is_resumable)):
            if is_resumable:
                writer.add(f"if ({index} >= limit) return 0;")
            writer.add("spend(ctx, 1);")
            if item.data["repeat"] == "eos":
                writer.add(f"i64 was_{name} = 8 * io->pos - io->bits_left;")
            writer.add(f"ctx->at = {self.places.number(item)}; ctx->began = io->base + io->pos;")
            value = Value(f"it_{name}", kind)
            writer.add(f"{c_type(kind)} {value.code};", f"memset(&{value.code}, 0, sizeof {value.code});")
            flag = f"found_{name}" if is_partial(item) else ""
            if flag:
                writer.add(f"int {flag} = 0;")
            self._read_item(item, inner, value, f"{flag} = 1;" if flag else "")
            with writer.block(f"if ({flag or '1'})"):
                writer.add(f"PUSH(ctx, {items}, {c_type(kind)}, {value.code});")
                if "valid" in item.data or "contents" in item.data:
                    self.check(item, inner, value)
            self._end_of_turn(item, inner, value, index)

    def _loop(self, item: Field, scope: Scope, index: str, *, is_resumable: bool) -> str:
        repeat = item.data["repeat"]
        if repeat == "eos":
            return "while (!at_end(io))"
        if repeat == "until":
            return "while (1)"
        count = self.at(scope).place(item, "repeat-expr")
        if is_resumable:
            self.writer.add(f"if ({index} == 0) x->c_{item.name} = {count};")
            return f"while ({index} < x->c_{item.name})"
        self.writer.add(f"i64 count_{item.name} = {count};")
        return f"while ({index} < count_{item.name})"

    def _end_of_turn(self, item: Field, scope: Scope, value: Value, index: str) -> None:
        writer = self.writer
        if item.data["repeat"] == "until":
            end = self.at(replace(scope, this=value)).of(item, "repeat-until")
            writer.add(f"ctx->at = {self.places.number(item)};", f"if ({end.code}) break;")
        writer.add(f"{index}++;")
        if item.data["repeat"] == "eos":
            writer.add(
                f"if (8 * io->pos - io->bits_left == was_{item.name}) "
                'fail(ctx, "work", "the repetition does not end: an item has no bytes");'
            )

    # One item

    def _read_item(self, item: Field, scope: Scope, target: Value, found: str) -> None:
        """Read one item into a target; `found` says that there was one."""
        text = item.data.get("type")
        if isinstance(text, dict):
            self._switch(item, scope, target, found)
            return
        data_type = Raw() if text is None else self.analysis.data_type(item, text, "type")
        self._assign(item, scope, data_type, target, found)

    def _assign(self, item: Field, scope: Scope, data_type: DataType, target: Value, found: str) -> None:
        value = Value(self._read(item, scope, data_type), self.analysis.kind_of(item, data_type))
        kind = held(value.kind, target.kind)
        value = Value(converted(value, kind), kind)
        self.writer.add(f"{target.code} = {converted(value, target.kind)};")
        if found:
            self.writer.add(found)

    def _switch(self, item: Field, scope: Scope, target: Value, found: str) -> None:
        on = self.at(scope).of(item, "type", "switch-on")
        variable = Value(f"on_{item.name}", on.kind)
        word = "if"
        with self.writer.block(""):
            self.writer.add(f"{c_type(on.kind)} {variable.code} = {on.code}; (void){variable.code};")
            for key, data_type in self.analysis.cases(item):
                if key == "_":
                    head = "else" if word == "else if" else "if (1)"
                else:
                    head = f"{word} ({self._matches(item, scope, variable, key)})"
                word = "else if"
                with self.writer.block(head):
                    self._assign(item, scope, data_type, target, found)
            if word == "else if" and is_object(target.kind) and is_partial(item):
                self.writer.add(f"else memset(&{target.code}, 0, sizeof {target.code});")

    def _matches(self, item: Field, scope: Scope, on: Value, key: object) -> str:
        case = self.at(replace(scope, on=on)).of(item, source=key)
        return compared("==", on, case).code

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

    @staticmethod
    def _number(item: Field, found: Number) -> str:
        if found.width == 1:
            return f"read_{found.name}(ctx, io)"
        order = found.order or item.owner.default("endian")
        if isinstance(order, dict):
            return f"(x->h.little == 1 ? read_{found.name}le(ctx, io) : read_{found.name}be(ctx, io))"
        return f"read_{found.name}{order}(ctx, io)"

    @staticmethod
    def _bits(item: Field, found: Bits) -> str:
        order = found.order or item.owner.default("bit-endian") or "be"
        code = f"bits_{order}(ctx, io, {found.count})"
        if found.count == 1 and "enum" not in item.data:
            return f"((i64)({code} != 0))"
        return code if found.count == datatypes.MAX_BITS else f"((i64){code})"

    def _string(self, item: Field, scope: Scope, found: String) -> str:
        encoding = str(item.data.get("encoding") or item.owner.default("encoding") or "")
        return decoded(self._bytes(item, scope, found, encoding), encoding)

    # Bytes

    def _bytes(self, item: Field, scope: Scope, string: String | None = None, encoding: str = "") -> str:
        term = reading.terminator(item, string, encoding)
        if "contents" in item.data:
            code = f"take(ctx, io, {len(contents(item))})"
        elif "size" in item.data:
            code = self._cut(item, f"take(ctx, io, {self.at(scope).place(item, 'size')})", term)
        elif item.data.get("size-eos") is True:
            code = self._cut(item, "take(ctx, io, rest_of(io))", term)
        else:
            flags = (
                item.data.get("include") is True,
                item.data.get("consume") is not False,
                item.data.get("eos-error") is not False,
            )
            code = f"terminated(ctx, io, {quoted(term)}, {len(term)}, {', '.join(str(int(it)) for it in flags)})"
        return self._processed(item, scope, code)

    @staticmethod
    def _cut(item: Field, code: str, term: bytes) -> str:
        if "pad-right" in item.data and term != bytes([int(item.data["pad-right"])]):
            code = f"strip_right({code}, {int(item.data['pad-right'])})"
        if term:
            code = f"until({code}, {quoted(term)}, {len(term)}, {int(item.data.get('include') is True)})"
        return code

    def _processed(self, item: Field, scope: Scope, code: str) -> str:
        if "process" not in item.data:
            return code
        found = PROCESS.fullmatch(str(item.data["process"]).strip())
        if not found:
            raise NotInC("a process")
        name = found.group(1)
        given = [self.at(scope).of(item, source=text) for text in datatypes.arguments(found.group(2) or "")]
        if name == "zlib":
            return f'asked(ctx, "zlib", {code}, 0, 0)'
        return f"({{ Span taken = {code}; {self._processed_by(name, given)}; }})"

    def _processed_by(self, name: str, given: list[Value]) -> str:
        """What a process makes of `taken`; its arguments are looked at afterwards."""
        if name in ("rol", "ror"):
            return f"rotated(ctx, taken, {'-' if name == 'ror' else ''}({converted(given[0], Int())}))"
        if name == "xor" and isinstance(given[0].kind, Int):
            return f"xored_byte(ctx, taken, {given[0].code})"
        if name == "xor":
            key = given[0].code if isinstance(given[0].kind, Bytes) else f"bytes_of(ctx, {given[0].code})"
            return f"xored(ctx, taken, {key})"
        return self._custom(name, "taken", given)

    @staticmethod
    def _custom(name: str, code: str, given: list[Value]) -> str:
        values = ", ".join([*(converted(value, Union(())) for value in given), "{NOTHING}"])
        return f"asked(ctx, {quoted(b'custom:' + name.encode())}, {code}, {len(given)}, (Any[]){{{values}}})"

    # Structures

    def _structure(self, item: Field, scope: Scope, found: User) -> str:
        owner, type_ = item.owner, found.type
        parent, root = "&x->h", "x->h.root"
        if "parent" in item.data:
            given = item.data["parent"]
            parent = "0" if given is False else self._head_of(self.at(scope).of(item, "parent"))
        if type_.top is not owner.top:
            parent, root = "0", "0"
        arguments = "".join(
            f", {self._argument(item, scope, param, text)}"
            for param, text in zip(type_.params.values(), found.arguments, strict=True)
        )
        stream = self._stream(item, scope)
        order = reading.order_taken_over(owner, type_)
        little = "x->h.little" if order else "-1"
        if arguments and stream != "io":  # C may look at arguments in any order
            return f"({{ Stream *of = {stream}; read_{type_.ident}(ctx, of, {parent}, {root}, {little}{arguments}); }})"
        return f"read_{type_.ident}(ctx, {stream}, {parent}, {root}, {little}{arguments})"

    @staticmethod
    def _head_of(value: Value) -> str:
        return f"struct_of(ctx, {value.code})" if isinstance(value.kind, Union) else value.code

    def _argument(self, item: Field, scope: Scope, param: Field, text: str) -> str:
        value = self.at(scope).of(item, source=text)
        kind = self.analysis.kind(param)
        wanted, given = number_kind(kind), number_kind(value.kind)
        if (
            isinstance(wanted, Int)
            and isinstance(given, Int)
            and not (wanted.low <= given.low and given.high <= wanted.high)
        ):
            if not (wanted.is_word or wanted.is_unsigned):
                return converted(value, wanted)
            limits = f"{literal(wanted.low, Int())}, {literal(wanted.high, Int())}"
            return f"(({c_type(wanted)})fitted(ctx, {value.code}, {limits}))"
        if isinstance(wanted, Bytes) and isinstance(given, List):
            return f"bytes_of(ctx, {value.code})"
        return converted(value, kind)

    def _stream(self, item: Field, scope: Scope) -> str:
        """Where a structure is read from."""
        keys = item.data.keys()
        if not keys & {"size", "terminator"} and item.data.get("size-eos") is not True:
            return "io"
        if not keys & {"process", "terminator", "pad-right"}:
            if "size" in keys:
                return f"sub(ctx, io, {self.at(scope).place(item, 'size')})"
            return "sub(ctx, io, rest_of(io))"
        return f"stream_over(ctx, {self._bytes(item, scope)})"

    # Rules

    def check(self, item: Field, scope: Scope, value: Value) -> None:
        """Refuse a value that breaks the rules of its field."""
        inner = replace(scope, this=value)
        if "contents" in item.data:
            wrong = f"!same({value.code}, {constant(contents(item))})"
            self._refuse(wrong, "contents", "these bytes are not the contents", value)
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
                limit = self.at(scope).of(item, "valid", key)
                self._refuse(compared(operator, value, limit).code, kind, f"is beyond {rule[key]!r}", value)
        if "any-of" in rule:
            wanted = [self.at(scope).of(item, "valid", "any-of", index) for index in range(len(rule["any-of"]))]
            codes = " || ".join(compared("==", value, one).code for one in wanted)
            self._refuse(f"!({codes})", "not-any-of", "is none of the values of its rule", value)
        if rule.get("in-enum") and isinstance(value.kind, Label):
            ident = value.kind.enum.ident
            wrong = f"!is_in(N_{ident}, {len(value.kind.enum.labels)}, {value.code})"
            self._refuse(wrong, "not-in-enum", "is not in its enum", value)
        if "expr" in rule:
            holds = self.at(scope).of(item, source=rule["expr"])
            self._refuse(f"!{holds.code}", "expr", "breaks the rule of its field", value)

    def _check_equal(self, item: Field, scope: Scope, value: Value, *keys: str) -> None:
        wanted = self.at(scope).of(item, *keys)
        self._refuse(f"!{compared('==', value, wanted).code}", "not-equal", "is not as its rule says", value)

    def _refuse(self, condition: str, kind: str, reason: str, value: Value) -> None:
        shown = SHOWN.get(type(number_kind(value.kind)))
        words = f"{quoted(kind.encode())}, {quoted(reason.encode())}"
        action = f"{shown}(ctx, {words}, {value.code});" if shown else f"not_so(ctx, {words});"
        self.writer.add(f"if ({condition}) {action}")


def presence(value: Value) -> str:
    """Whether a value is there that can be absent."""
    match value.kind:
        case Union():
            return f"{value.code}.tag != NOTHING"
        case Text() | Bytes():
            return f"{value.code}.p"
    return value.code if is_object(value.kind) else "1"


def fields_of(analysis: Analysis, type_: Type) -> list[tuple[str, str]]:
    """The variables of a structure: how C declares them, and their names."""
    found: list[tuple[str, str]] = []
    for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
        found.append((c_type(analysis.kind(item)), stored(item)))
        if item.is_instance:
            found.append(("u8", f"d_{item.name}"))
        if has_flag(analysis, item):
            found.append(("u8", f"h_{item.name}"))
        if "repeat" in item.data and type_ is analysis.library.root:
            found += [("i64", f"n_{item.name}"), ("i64", f"c_{item.name}")]
    order = {"i128": 0, "Any": 1, "Span": 2, "u8": 9}
    return sorted(found, key=lambda it: order.get(it[0], 5))


def parameters(analysis: Analysis, type_: Type) -> str:
    """The parameters of a type, as those of a function."""
    return "".join(f", {c_type(analysis.kind(item))} p_{item.name}" for item in type_.params.values())


def struct_id(kind: Kind) -> str:
    """The number of the type of a structure."""
    return type_id(kind.type) if isinstance(kind, Struct) else "-1"
