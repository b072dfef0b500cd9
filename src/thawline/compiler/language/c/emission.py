"""A reader in C: a translation unit for a spec with its imports, which a C compiler makes a library of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.c.expressions import (
    Expression,
    NotInC,
    c_type,
    compared,
    converted,
    literal,
    quoted,
    type_id,
)
from thawline.compiler.language.c.reading import CReader, fields_of, parameters
from thawline.compiler.language.c.storing import CStorer
from thawline.compiler.language.c.writing import CWriter
from thawline.compiler.language.declarations import Enum, Field, Type
from thawline.compiler.language.grammar import ExpressionError
from thawline.compiler.language.kinds import ANY, Kind, Label, List, Union, is_object
from thawline.compiler.language.reading import Places, has_flag, stored
from thawline.compiler.language.values import Scope, Value

RUNTIME = ("streams", "texts", "values", "columns", "arrow", "reader")
"""The head of every reader, in this order."""


@dataclass(frozen=True, slots=True)
class InC:
    """The text of the types of a library, without the runtime, and the places of its enums."""

    text: str
    enums: Mapping[str, int]
    """The place of the labels of each, by its name."""
    reader: str
    """The name of the table of its functions."""


def translation_unit(*texts: str) -> str:
    """The readers of some libraries in one text."""
    folder = resources.files("thawline.compiler.language.c.runtime")
    head = [(folder / f"{name}.c").read_text(encoding="utf-8") for name in RUNTIME]
    return "\n\n".join((*head, *texts))


def emit(analysis: Analysis, places: Places) -> InC:
    """The reader of a library; `NotInC` where C cannot do what it needs. It takes over Python's numbers of places."""
    return _Emitter(analysis, CWriter(), places).all()


@dataclass
class _Emitter:
    analysis: Analysis
    writer: CWriter
    places: Places

    def all(self) -> InC:
        try:
            return self._all()
        except ExpressionError as error:
            raise NotInC(str(error)) from None

    def _all(self) -> InC:
        types, root = self.analysis.types_used(), self.analysis.library.root
        reader = CReader(self.analysis, self.writer, self.places)
        storer = CStorer(self.analysis, self.writer, self.places, set())
        for type_ in types:
            for item in type_.instances.values():
                storer.look_at(item)
        self._declare(types)
        enums = self._enums(types)
        for type_ in types:
            self._make(type_)
        for type_ in types:
            self._read(reader, type_)
            for item in type_.instances.values():
                self._compute(reader, item)
            for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
                self._give(item)
        at = len(self.writer.lines)
        for type_ in types:
            storer.store_type(type_)
        self._root(reader, storer, root)
        storer.store_unions()
        self.writer.lines[at:at] = [
            f"static void {name}(Ctx *ctx, Any a, Column *c, i64 rows, int at);" for name in storer.unions.values()
        ]
        self._table(root)
        return InC(self.writer.text, enums, f"reader_{root.ident}")

    def _declare(self, types: list[Type]) -> None:
        writer = self.writer
        for number, type_ in enumerate(types, 1):
            name = type_.ident
            given = parameters(self.analysis, type_)
            fields = " ".join(f"{kind} {word};" for kind, word in fields_of(self.analysis, type_))
            writer.add(f"enum {{ {type_id(type_)} = {number} }};")
            writer.add(f"typedef struct {{ Head h; {fields} }} T_{name};")
            head = "Ctx *ctx, Stream *io, Head *parent, Head *root, int little"
            writer.add(f"static Head *read_{name}({head}{given});", f"static void fields_{name}(Ctx *ctx, void *v);")
            writer.add(f"static void put_{name}(Ctx *ctx, void *v, Column *c, i64 rows);")
            for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
                kind = c_type(self.analysis.kind(item))
                if item.is_instance:
                    writer.add(f"static int s_{name}__{item.name}(Ctx *ctx, void *v);")
                if self._is_called(item):
                    writer.add(f"static inline {kind} g_{name}__{item.name}(Ctx *ctx, T_{name} *x);")
        writer.add("")

    def _is_called(self, item: Field) -> bool:
        if item.is_instance:
            return True
        is_switch = isinstance(item.data.get("type"), dict)
        return ("if" in item.data or is_switch) and not is_object(self.analysis.kind(item))

    def _enums(self, types: list[Type]) -> dict[str, int]:
        found: dict[str, Enum] = {}
        for type_ in types:
            for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
                found |= {enum.ident: enum for enum in _enums_in(self.analysis.kind(item))}
        for ident, enum in found.items():
            labels = sorted(enum.labels.items())
            numbers = ", ".join(f"({literal(number)})" for number, _ in labels)
            shown = ", ".join(f"{{(const u8 *){quoted(it.encode())}, {len(it.encode())}}}" for _, it in labels)
            self.writer.add(f"static const i128 N_{ident}[] = {{{numbers or '0'}}};")
            self.writer.add(f"static const Span L_{ident}[] = {{{shown or '{0}'}}};")
        root = self.analysis.library.root.ident
        every = ", ".join(f"{{{len(enum.labels)}, N_{ident}, L_{ident}}}" for ident, enum in found.items())
        self.writer.add(f"static const Labels LABELS_{root}[] = {{{every or '{0}'}}};", "")
        return {ident: index for index, ident in enumerate(found)}

    def _make(self, type_: Type) -> None:
        """The function that makes and reads a structure."""
        writer, name = self.writer, type_.ident
        given = parameters(self.analysis, type_)
        head = "Ctx *ctx, Stream *io, Head *parent, Head *root, int little"
        with writer.block(f"static Head *new_{name}({head}{given})"):
            writer.add(f"T_{name} *x = make(ctx, sizeof(T_{name}), {type_id(type_)}, io, parent, root, little);")
            for item in type_.params.values():
                writer.add(f"x->f_{item.name} = p_{item.name};")
            writer.add("return &x->h;")
        passed = "".join(f", p_{item.name}" for item in type_.params.values())
        with writer.block(f"static Head *read_{name}({head}{given})"):
            writer.add(f"Head *x = new_{name}(ctx, io, parent, root, little{passed});")
            writer.add(f"enter(ctx, x, fields_{name});", "return x;")

    def _read(self, reader: CReader, type_: Type) -> None:
        with self.writer.block(f"static void fields_{type_.ident}(Ctx *ctx, void *v)"):
            self.writer.add(f"T_{type_.ident} *x = v;", "Stream *io = x->h.io; (void)io;")
            self._choose_order(type_)
            for item in type_.seq:
                reader.read_field(item)

    def _choose_order(self, type_: Type) -> None:
        """The order of bytes of a type where it depends on what is read."""
        switched = type_.switched_by()
        if switched is None:
            return
        if switched is type_:
            self._switch_order(type_, type_.data["meta"]["endian"])
        self.writer.add('if (x->h.little < 0) fail(ctx, "endian", "no case says which order the bytes have");')

    def _switch_order(self, type_: Type, switch: dict[str, object]) -> None:
        item = Field(type_, (*type_.keys, "meta", "endian"), "endian", switch)
        expression, cases = Expression(self.analysis, Scope(type_)), switch.get("cases")
        on, word = expression.of(item, "switch-on"), "if"
        for key, order in cases.items() if isinstance(cases, dict) else ():
            if key == "_":
                head = "else" if word == "else if" else "if (1)"
            else:
                head = f"{word} ({compared('==', on, expression.of(item, source=key)).code})"
            word = "else if"
            self.writer.add(f"{head} x->h.little = {int(order == 'le')};")

    # Instances

    def _give(self, item: Field) -> None:
        """A field that may not be there, for expressions."""
        if not self._is_called(item):
            return
        kind, owner = self.analysis.kind(item), item.owner.ident
        of, name = c_type(kind), item.name
        with self.writer.block(f"static inline {of} g_{owner}__{name}(Ctx *ctx, T_{owner} *x)"):
            is_absent = "0"
            if item.is_instance:
                is_absent = f"x->d_{name} != 1 && s_{owner}__{name}(ctx, x) != 1"
            elif has_flag(self.analysis, item):
                is_absent = f"!x->h_{name}"
            if is_object(kind):
                self.writer.add(f"if ({is_absent}) {{ {of} none; memset(&none, 0, sizeof none); return none; }}")
            else:
                self.writer.add(f'if ({is_absent}) fail(ctx, "value", "%s is not there", {quoted(name.encode())});')
            self.writer.add(f"return x->{stored(item)};")

    def _compute(self, reader: CReader, item: Field) -> None:
        """An instance: computed or read when it is needed, once."""
        writer, name, owner = self.writer, item.name, item.owner.ident
        with writer.block(f"static int s_{owner}__{name}(Ctx *ctx, void *v)"):
            writer.add(f"T_{owner} *x = v;", f"if (x->d_{name} == 1 || x->d_{name} == 2) return x->d_{name};")
            wrong = f'"%s depends on itself, or on too many others", {quoted(name.encode())}'
            writer.add(f'if (x->d_{name} == 3 || ctx->depth >= MAX_DEPTH) fail(ctx, "depth", {wrong});')
            writer.add("int was_at = ctx->at; i64 was_began = ctx->began;")
            writer.add(f"ctx->at = {self.places.number(item)}; x->d_{name} = 3; ctx->depth++;")
            writer.add(f"ctx->undo[ctx->undos++] = (Undo){{&x->d_{name}, 0, 0}};")
            if is_object(self.analysis.kind(item)):
                writer.add("if (x->h.serial <= ctx->mark) ctx->is_dirty = 1;")
            self._compute_when_there(reader, item)
            writer.add("ctx->undos--; ctx->depth--; ctx->at = was_at; ctx->began = was_began;")
            writer.add(f"return x->d_{name};")

    def _compute_when_there(self, reader: CReader, item: Field) -> None:
        scope = Scope(item.owner)
        if "if" not in item.data:
            self._compute_now(reader, item, scope)
            return
        with self.writer.block(f"if ({Expression(self.analysis, scope).of(item, 'if').code})"):
            self._compute_now(reader, item, scope)
        self.writer.add(f"else x->d_{item.name} = 2;")

    def _compute_now(self, reader: CReader, item: Field, scope: Scope) -> None:
        writer, kind = self.writer, self.analysis.kind(item)
        target = Value(f"x->v_{item.name}", kind)
        if item.is_value:
            value = Expression(self.analysis, scope).of(item, "value")
            writer.add(f"{target.code} = {converted(value, kind)};")
            if "valid" in item.data:
                reader.check(item, scope, target)
        else:
            self._parse(reader, item, scope)
        unconditional = _without_condition(item)
        is_there = (
            f"x->h_{item.name}" if not item.is_value and has_flag(self.analysis, unconditional) else _is_there(target)
        )
        writer.add(f"x->d_{item.name} = {is_there} ? 1 : 2;")

    def _parse(self, reader: CReader, item: Field, scope: Scope) -> None:
        writer, expression = self.writer, Expression(self.analysis, scope)
        stream = f"stream_of(ctx, {expression.of(item, 'io').code})" if "io" in item.data else "x->h.io"
        writer.add(f"Stream *io = {stream}; i64 pos = io->pos;")
        writer.add("ctx->undo[ctx->undos - 1].io = io; ctx->undo[ctx->undos - 1].pos = pos;")
        if "pos" in item.data:
            writer.add(f"seek(ctx, io, {expression.place(item, 'pos')});")
        unconditional = _without_condition(item)
        self.analysis.kinds[unconditional] = self.analysis.kind(item)
        self.places.numbers[unconditional] = self.places.number(item)
        reader.read_field(unconditional)
        writer.add("io->pos = pos; io->bits_left = 0;")

    # The root

    def _root(self, reader: CReader, storer: CStorer, root: Type) -> None:
        writer, name = self.writer, root.ident
        for index, item in enumerate(root.seq):
            with writer.block(f"static void step_{index}_{name}(Ctx *ctx, T_{name} *x)"):
                writer.add("Stream *io = x->h.io; (void)io;")
                if index == 0:
                    self._choose_order(root)
                reader.read_field(item)
            if "repeat" in item.data:
                self._some(reader, item)
        with writer.block(f"static void step_{name}(Ctx *ctx, void *x, int index)"):
            for index, _ in enumerate(root.seq):
                writer.add(f"if (index == {index}) step_{index}_{name}(ctx, x);")
        repeated = [(index, item) for index, item in enumerate(root.seq) if "repeat" in item.data]
        with writer.block(f"static int some_{name}(Ctx *ctx, void *x, int index, i64 count)"):
            for index, item in repeated:
                writer.add(f"if (index == {index}) return some_{item.name}_{name}(ctx, x, count);")
            writer.add("return 1;")
        with writer.block(f"static void put_root_{name}(Ctx *ctx, void *x, Column *c)"):
            writer.add(f"put_{name}(ctx, x, c, c->rows);")
        with writer.block(f"static i64 put_items_{name}(Ctx *ctx, void *v, int index, Column *c, i64 first)"):
            writer.add(f"T_{name} *x = v; List *l; (void)x; (void)l;")
            for index, item in repeated:
                with writer.block(f"if (index == {index} && (l = x->f_{item.name}))"):
                    self._put_items(storer, item)
            writer.add("return -1;")

    def _put_items(self, storer: CStorer, item: Field) -> None:
        kind = self.analysis.item_kind(item)
        with self.writer.block("for (i64 i = first; i < l->n; i++)"):
            self.writer.add("i64 rows = c->rows;")
            storer.store(kind, f"(({c_type(kind)} *)l->v)[i]", "c", "rows", self.places.number(item), 1)
            self.writer.add("if (c->rows == rows) nulls(ctx, c, 1);")
        if item.name in self.analysis.reads:
            self.writer.add("return l->n;")
        else:
            self.writer.add(f"x->f_{item.name} = 0;")

    def _some(self, reader: CReader, item: Field) -> None:
        """Some more items of a repetition; the caller takes them."""
        writer, name, root = self.writer, item.name, item.owner.ident
        with writer.block(f"static int some_{name}_{root}(Ctx *ctx, T_{root} *x, i64 count)"):
            writer.add("Stream *io = x->h.io;", f"if (!x->f_{name}) x->f_{name} = list(ctx);")
            writer.add(f"i64 limit = x->n_{name} + count;")
            if "if" in item.data:
                condition = Expression(self.analysis, Scope(item.owner)).of(item, "if")
                writer.add(f"if (x->n_{name} == 0 && !{condition.code}) return 1;")
            reader.read_field(item, is_resumable=True)
            writer.add("x->h.end = io->pos;", "return 1;")

    def _table(self, root: Type) -> None:
        name = root.ident
        given = ""
        for index, item in enumerate(root.params.values()):
            given += f", {converted(Value(f'given[{index}]', ANY), self.analysis.kind(item))}"
        with self.writer.block(f"static Head *root_{name}(Ctx *ctx, Stream *io, const Any *given)"):
            self.writer.add(f"return new_{name}(ctx, io, 0, 0, -1{given});")
        functions = (
            f"root_{name}, fields_{name}, step_{name}, some_{name}, put_root_{name}, put_items_{name}, LABELS_{name}"
        )
        self.writer.add(f"extern const Reader reader_{name};", f"const Reader reader_{name} = {{{functions}}};")


def _without_condition(item: Field) -> Field:
    data = {key: value for key, value in item.data.items() if key != "if"}
    return Field(item.owner, item.keys, item.name, data, is_instance=True)


def _is_there(value: Value) -> str:
    if isinstance(value.kind, Union):
        return f"({value.code}.tag != NOTHING)"
    code = c_type(value.kind)
    if code == "Span":
        return f"({value.code}.p != 0)"
    return f"({value.code} != 0)" if code.endswith("*") else "1"


def _enums_in(kind: Kind) -> list[Enum]:
    match kind:
        case Label(enum):
            return [enum]
        case List(item):
            return _enums_in(item)
        case Union(alternatives):
            return [enum for item in alternatives for enum in _enums_in(item)]
    return []
