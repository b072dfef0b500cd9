"""Code that appends what was read to columns, and which columns a structure has."""

from __future__ import annotations

from dataclasses import dataclass, field

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.declarations import Field, Type
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
)
from thawline.compiler.language.reading import Places, has_flag, stored
from thawline.compiler.language.writing import Writer

WORDS = {Int: "int", Real: "float", Bool: "bool", Bytes: "bytes", Text: "str", List: "list", Label: "enum"}


def columns(analysis: Analysis, type_: Type) -> list[Field]:
    """The parameters, fields and instances of a type that are columns, in their order."""
    named = [item for item in type_.seq if "id" in item.data]
    every = (*type_.params.values(), *named, *type_.instances.values())
    return [item for item in every if is_column(analysis.kind(item))]


def is_column(kind: Kind) -> bool:
    """Whether values of a kind can be in a column."""
    match kind:
        case Io():
            return False
        case Union(alternatives):
            return bool(alternatives) and all(is_column(item) for item in alternatives)
        case List(item):
            return is_column(item)
    return True


def alternatives(kind: Union) -> list[tuple[str, Kind]]:
    """The alternatives of a union, with the names of their columns."""
    names = [item.type.name if isinstance(item, Struct) else WORDS[type(item)] for item in kind.alternatives]
    found: list[tuple[str, Kind]] = []
    for name, item in zip(names, kind.alternatives, strict=True):
        full = item.type.ident if isinstance(item, Struct) and names.count(name) > 1 else name
        while any(full == other for other, _ in found):
            full += "_"
        found.append((full, item))
    return found


@dataclass
class Storer:
    """Writes what appends structures to columns."""

    analysis: Analysis
    writer: Writer
    places: Places
    unions: dict[tuple[Kind, ...], str] = field(default_factory=dict)
    stored: int = 0
    """How many of the unions have their function."""

    def store_type(self, type_: Type) -> None:
        """The function that appends a structure of a type."""
        writer, name = self.writer, type_.ident
        with writer.function(f"put_{name}(x: T_{name} | None, c: Column) -> cython.int"):
            with writer.block("if x is None:"):
                writer.add("c.null()", "return 0")
            with writer.block("if c.kind == BLOB:"):
                writer.add("put_span(c, x.io, x.start, x.end)", "return 0")
            writer.add("if c.behind: c.catch_up()")
            writer.add("ctx: Context = x.ctx", "spend(ctx, 1)", "kids: list = c.kids", "k: Column", "state: cython.int")
            for index, item in enumerate(columns(self.analysis, type_)):
                writer.add(f"k = kids[{index}]")
                with writer.block("if k is not None:"):
                    self._store_field(item)
            writer.add("c.there()", "return 0")

    def _store_field(self, item: Field) -> None:
        writer, kind = self.writer, self.analysis.kind(item)
        value, at = f"x.{stored(item)}", self.places.number(item)
        if item.is_instance:
            with writer.block("try:"):
                writer.add(f"state = x.s_{item.name}()")
            with writer.block("except Exception as error:"):
                writer.add("note(ctx, ctx.at, ctx.began, error)", "state = 2")
            with writer.block("if state == 1:"):
                self.store(kind, value, "k", at)
            with writer.block("else:"):
                writer.add("k.null()")
        elif has_flag(self.analysis, item):
            with writer.block(f"if x.h_{item.name}:"):
                self.store(kind, value, "k", at)
            with writer.block("else:"):
                writer.add("k.null()")
        else:
            self.store(kind, value, "k", at)

    def store(self, kind: Kind, value: str, column: str, at: int, depth: int = 0) -> None:  # noqa: C901 - a case for each kind
        """Append a value to a column."""
        match kind:
            case Label(number=number):
                self.store(number, value, column, at, depth)
            case Int() if kind.is_word:
                self.writer.add(f"put_int({column}, {value})")
            case Int() if kind.is_unsigned:
                self.writer.add(f"put_word({column}, {value})")
            case Int():
                self.writer.add(f"put_number({column}, {value}, ctx, {at})")
            case Real():
                self.writer.add(f"put_real({column}, {value})")
            case Bool():
                self.writer.add(f"put_int({column}, 1 if {value} else 0)")
            case Bytes():
                self.writer.add(f"put_bytes({column}, {value})")
            case Text():
                self.writer.add(f"put_text({column}, {value}, ctx, {at})")
            case Struct(type_):
                self.writer.add(f"put_{type_.ident}(as_{type_.ident}({value}), {column})")
            case Union():
                self.writer.add(f"{self.union(kind)}({value}, {column}, ctx, {at})")
            case List(item):
                self._store_list(item, value, column, at, depth)

    def _store_list(self, item: Kind, value: str, column: str, at: int, depth: int) -> None:
        writer = self.writer
        with writer.block(f"if {value} is None:"):
            writer.add(f"{column}.null()")
        with writer.block("else:"):
            writer.add(f"e_{depth}: Column = {column}.kids[0]", f"l_{depth}: list = {value}")
            with writer.block(f"for v_{depth} in l_{depth}:"):
                writer.add("spend(ctx, 1)")
                self.store(item, f"v_{depth}", f"e_{depth}", at, depth + 1)
            writer.add(f"ended({column}, e_{depth}.rows)")

    def union(self, kind: Union) -> str:
        """The name of the function that appends a value of a union."""
        name = f"put_union_{len(self.unions)}_of_{self.analysis.library.root.ident}"
        return self.unions.setdefault(kind.alternatives, name)

    def store_unions(self) -> None:
        """The functions for all unions that were named. They may name more."""
        while self.stored < len(self.unions):
            kinds, name = list(self.unions.items())[self.stored]
            self._store_union(name, Union(kinds))
            self.stored += 1

    def _store_union(self, name: str, kind: Union) -> None:
        writer = self.writer
        with writer.function(f"{name}(x: object, c: Column, ctx: Context, at: cython.int) -> cython.int"):
            with writer.block("if x is None:"):
                writer.add("c.null()", "return 0")
            writer.add("if c.behind: c.catch_up()")
            writer.add("kids: list = c.kids", "k: Column", "found: cython.bint = False", "name: Column = kids[0]")
            for index, (word, item) in enumerate(alternatives(kind), 1):
                writer.add(f"k = kids[{index}]")
                with writer.block(f"if not found and {_is_of(item)}:"):
                    writer.add("found = True")
                    with writer.block("if name is not None:"):
                        writer.add(f"put_bytes(name, {word.encode()!r})")
                    with writer.block("if k is not None:"):
                        self.store(item, "x", "k", 0)
                with writer.block("elif k is not None:"):
                    writer.add("k.null()")
            with writer.block("if not found and name is not None:"):
                writer.add("name.null()")
            writer.add("c.there()", "return 0")


def _is_of(kind: Kind) -> str:
    match kind:
        case Struct(type_):
            return f"isinstance(x, T_{type_.ident})"
        case Bool():
            return "isinstance(x, bool)"
        case Int() | Label():
            return "isinstance(x, int) and not isinstance(x, bool)"
        case Real():
            return "isinstance(x, float)"
        case Text():
            return "isinstance(x, str)"
        case List():
            return "isinstance(x, list)"
    return "isinstance(x, bytes)"
