"""C that appends what was read to columns. A column that gets no value gets its nulls later, all at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.c.expressions import Expression, c_type, is_safe, number_kind, quoted
from thawline.compiler.language.c.reading import presence, struct_id
from thawline.compiler.language.c.writing import CWriter
from thawline.compiler.language.declarations import Field, Type
from thawline.compiler.language.kinds import Bool, Bytes, Int, Kind, List, Real, Struct, Text, Union
from thawline.compiler.language.reading import Places, has_flag, stored
from thawline.compiler.language.storing import alternatives, columns
from thawline.compiler.language.values import Scope, Value

TAGS = {Int: "INT", Real: "REAL", Bool: "BOOL", Bytes: "BYTES", Text: "TEXT", List: "LIST", Struct: "STRUCT"}


@dataclass
class CStorer:
    """Writes what appends structures to columns."""

    analysis: Analysis
    writer: CWriter
    places: Places
    safe: set[str]
    """Instances that cannot fail, by the functions that compute them."""
    unions: dict[tuple[Kind, ...], str] = field(default_factory=dict)
    stored: int = 0

    def store_type(self, type_: Type) -> None:
        """The function that appends a structure of a type."""
        writer, name = self.writer, type_.ident
        head = f"static void put_{name}(Ctx *ctx, void *v, Column *c, i64 rows)"
        with writer.block(head):
            writer.add(f"T_{name} *x = v;", "if (!x) return;")
            writer.add("if (UNLIKELY(c->kind == BLOB)) { put_extent(ctx, c, rows, &x->h); return; }")
            writer.add("level(ctx, c, rows);", f"if (UNLIKELY(!c->kids)) open_kids(ctx, c, {self.labels});")
            writer.add("spend(ctx, 1);", "Column **kids = c->kids, *k;")
            for index, item in enumerate(columns(self.analysis, type_)):
                with writer.block(f"if ((k = kids[{index}]))"):
                    self._store_field(item)
            writer.add("there(c);")

    @property
    def labels(self) -> str:
        """The labels of all enums."""
        return f"LABELS_{self.analysis.library.root.ident}"

    def _store_field(self, item: Field) -> None:
        kind = self.analysis.kind(item)
        value, at = Value(f"x->{stored(item)}", kind), self.places.number(item)
        if item.is_instance:
            name = f"s_{item.owner.ident}__{item.name}"
            state = f"{name}(ctx, x)" if name in self.safe else f"guarded(ctx, {name}, x)"
            with self.writer.block(f"if (x->d_{item.name} == 1 || {state} == 1)"):
                self.store(kind, value.code, "k", "rows", at)
        elif has_flag(self.analysis, item):
            with self.writer.block(f"if (x->h_{item.name})"):
                self.store(kind, value.code, "k", "rows", at)
        else:
            self.store(kind, value.code, "k", "rows", at)

    def store(self, kind: Kind, value: str, column: str, rows: str, at: int, depth: int = 0) -> None:
        """Append a value to a column; one that is not there is a null, later."""
        match number_kind(kind):
            case Int() as number:
                if number.is_word or number.is_unsigned:
                    self.writer.add(f"put_int(ctx, {column}, {rows}, (i64){value});")
                else:
                    self.writer.add(f"put_number(ctx, {column}, {rows}, {value}, {at});")
            case Real():
                self.writer.add(f"put_real(ctx, {column}, {rows}, {value});")
            case Bool():
                self.writer.add(f"put_int(ctx, {column}, {rows}, {value} != 0);")
            case Bytes() | Text():
                self.writer.add(f"put_span(ctx, {column}, {rows}, {value});")
            case Struct(type_):
                self.writer.add(f"put_{type_.ident}(ctx, {value}, {column}, {rows});")
            case Union():
                self.writer.add(f"{self.union(kind)}(ctx, {value}, {column}, {rows}, {at});")
            case List(item):
                self._store_list(item, value, column, rows, at, depth)

    def _store_list(self, item: Kind, value: str, column: str, rows: str, at: int, depth: int) -> None:
        writer, of = self.writer, c_type(item)
        with writer.block(f"if ({value})"):
            writer.add(f"List *l_{depth} = {value};", f"level(ctx, {column}, {rows});")
            writer.add(f"if (UNLIKELY(!{column}->kids)) open_kids(ctx, {column}, {self.labels});")
            writer.add(f"Column *e_{depth} = {column}->kids[0];", f"i64 from_{depth} = {column}->end;")
            with writer.block(f"for (i64 i_{depth} = 0; i_{depth} < l_{depth}->n; i_{depth}++)"):
                writer.add("spend(ctx, 1);")
                one, row = f"(({of} *)l_{depth}->v)[i_{depth}]", f"from_{depth} + i_{depth}"
                self.store(item, one, f"e_{depth}", row, at, depth + 1)
            writer.add(f"ended(ctx, {column}, from_{depth} + l_{depth}->n);")

    def union(self, kind: Kind) -> str:
        """The name of the function that appends a value of a union."""
        found = kind.alternatives if isinstance(kind, Union) else ()
        name = f"put_union_{len(self.unions)}_of_{self.analysis.library.root.ident}"
        return self.unions.setdefault(found, name)

    def store_unions(self) -> None:
        """The functions for all unions that were named. They may name more."""
        while self.stored < len(self.unions):
            kinds, name = list(self.unions.items())[self.stored]
            self._store_union(name, Union(kinds))
            self.stored += 1

    def _store_union(self, name: str, kind: Union) -> None:
        writer = self.writer
        with writer.block(f"static void {name}(Ctx *ctx, Any a, Column *c, i64 rows, int at)"):
            writer.add("if (a.tag == NOTHING) return;", "level(ctx, c, rows);")
            writer.add(f"if (UNLIKELY(!c->kids)) open_kids(ctx, c, {self.labels});")
            writer.add("Column **kids = c->kids, *k; (void)at;")
            word = "if"
            for index, (label, item) in enumerate(alternatives(kind), 1):
                tag = TAGS[type(number_kind(item))]
                is_of = f" && a.h->type == {struct_id(item)}" if tag == "STRUCT" else ""
                with writer.block(f"{word} (a.tag == {tag}{is_of})"):
                    data = label.encode()
                    writer.add(f"if (kids[0]) put_span(ctx, kids[0], rows, span({quoted(data)}, {len(data)}));")
                    with writer.block(f"if ((k = kids[{index}]))"):
                        self._store_alternative(item)
                word = "else if"
            writer.add("there(c);")

    def _store_alternative(self, item: Kind) -> None:
        member = {"INT": "i", "REAL": "r", "BOOL": "i", "LIST": "l", "STRUCT": "h"}
        value = f"a.{member.get(TAGS[type(number_kind(item))], 's')}"
        match number_kind(item):
            case Int() as number if number.is_word or number.is_unsigned:
                self.writer.add(f"put_int(ctx, k, rows, (i64){value});")
            case Int():
                self.writer.add(f"put_number(ctx, k, rows, {value}, at);")
            case _:
                self.store(item, value, "k", "rows", 0)

    # Instances that cannot fail

    def look_at(self, item: Field) -> None:
        """Note whether an instance cannot fail."""
        if not item.is_value or item.data.keys() & {"if", "valid"}:
            return
        value = Expression(self.analysis, Scope(item.owner)).of(item, "value")
        if is_safe(value.code, self.safe) and presence(value) == "1":
            self.safe |= {f"{letter}_{item.owner.ident}__{item.name}" for letter in "gs"}
