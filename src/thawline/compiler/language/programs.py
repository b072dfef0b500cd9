"""A spec, compiled: its tables, and the rows of a unit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.c import emission as in_c
from thawline.compiler.language.c.expressions import NotInC
from thawline.compiler.language.c.filling import Wanted, wanted
from thawline.compiler.language.c.kernel import PUT, READ, SOME, STEP, Beyond, CReading, Kernel, Said
from thawline.compiler.language.declarations import Field, Library
from thawline.compiler.language.emission import Emitted, emit, module
from thawline.compiler.language.failures import Failure, Refusal, refusals_of
from thawline.compiler.language.kinds import Label, List, Struct
from thawline.compiler.language.layout import GROUP, Node, TooManyColumns, layout, table
from thawline.compiler.language.processes import PROCESSES
from thawline.ksy.documents import Spec, SpecError
from thawline.native.plain.cython_names import executed

ROOT = "root"
MAX_ROWS = 65_536
MAX_BYTES = 8 << 20
"""A batch of a repetition ends after this many rows, or with the rows that cross this many bytes."""
ITEMS_A_STEP = 1024
"""Items that are read between two looks at how many bytes there are."""
LEAST_WORK = 1 << 20
WORK = 64
"""Steps that a reading may take for each byte of its input, and in addition."""
MOST_CHOSEN = 64
FRAMES = 12
"""Frames of Python's stack that a nested structure takes where a reader runs uncompiled."""

Data = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Named:
    """A field as it is told of: its name, its path in the spec, and the labels of its numbers."""

    name: str
    path: str
    is_instance: bool
    labels: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Program:
    """A spec that was compiled."""

    spec: Spec
    text: str
    """The text of the reader in Python, without what all readers start with."""
    compiled: in_c.InC | None = field(repr=False)
    """The reader in C; None if C cannot do what the spec needs."""
    kernel: Kernel | None = field(repr=False)
    """The reader in C, compiled."""
    paths: tuple[str, ...] = field(repr=False)
    whole: Node = field(repr=False)
    streamed: Mapping[str, tuple[int, Node]] = field(repr=False)
    """Repetitions in the root: the index of the field, and the columns of an item."""
    nested: Mapping[str, str] = field(repr=False)
    """Other repetitions that are not in another: the path of the field."""
    ident: str
    """What names of the root in the reader end with."""
    params: tuple[Any, ...] = ()
    not_in_c: str = ""
    """What C cannot do of what the spec needs."""
    named: tuple[Named, ...] = field(default=(), repr=False)
    """The fields that a traced reader tells of, by their numbers."""
    chosen: dict[tuple[str, frozenset[str] | None], _Chosen] = field(default_factory=dict, compare=False, repr=False)
    """The columns that were requested lately."""

    @property
    def is_compiled(self) -> bool:
        """Whether the reader is native."""
        return self.kernel is not None

    @property
    def reader(self) -> Mapping[str, Any]:
        """The reader in Python."""
        return _executed(self.text)

    @property
    def id(self) -> str:
        """The id of the spec."""
        return self.spec.id

    @property
    def source(self) -> str:
        """The text of the reader in C, complete; of one that C cannot do, that in Python."""
        return in_c.translation_unit(self.compiled.text) if self.compiled else module(self.text)

    @property
    def key(self) -> str:
        """A digest of the reader's text, which says whether a compiled one is of the same spec and version."""
        return sha256(self.source.encode()).hexdigest()

    @property
    def tables(self) -> dict[str, pa.Schema]:
        """The schemas of the tables, `root` first."""
        found = {ROOT: pa.schema(self.whole.fields())}
        found |= {name: _schema(node) for name, (_, node) in self.streamed.items()}
        return found | {name: pa.schema(_item_at(self.whole, path).fields()) for name, path in self.nested.items()}

    def read(
        self,
        data: Data,
        table: str = ROOT,
        columns: Collection[str] | None = None,
        *,
        start: int = 0,
        end: int | None = None,
        max_rows: int = MAX_ROWS,
    ) -> Iterator[pa.RecordBatch | Failure]:
        """The rows of one unit, and what cannot be read or computed. Positions count from the start of the data."""
        chosen = self._chosen(table, columns)
        given = 0
        try:
            for item in self._native(data, start, end, chosen, max_rows):
                given += isinstance(item, Failure) or item.num_rows
                yield item
        except Beyond:
            reading = self._open(data, start, end)
            yield from _after(given, reading.items(chosen, max_rows))

    def _native(
        self, data: Data, start: int, end: int | None, chosen: _Chosen, max_rows: int
    ) -> Iterator[pa.RecordBatch | Failure]:
        if self.kernel is None or self.compiled is None:
            raise Beyond
        with closing(_CReading(self, _view(data, end), start)) as reading:
            yield from reading.items(chosen, max_rows)

    def _chosen(self, table: str, columns: Collection[str] | None) -> _Chosen:
        key = (table, None if columns is None else frozenset(columns))
        if key not in self.chosen:
            if len(self.chosen) >= MOST_CHOSEN:
                self.chosen.clear()
            self.chosen[key] = self._choose(table, columns)
        return self.chosen[key]

    def _choose(self, table: str, columns: Collection[str] | None) -> _Chosen:
        enums = self.compiled.enums if self.compiled else {}
        index, node, path = -1, self.whole, ""
        if table in self.streamed:
            index, node = self.streamed[table]
        elif table in self.nested:
            path = self.nested[table]
            columns = {path} if columns is None else {f"{path}.{column}" for column in columns}
        elif table != ROOT:
            raise KeyError(table)
        node = node if columns is None or node.kind != GROUP else node.only(columns)
        return _Chosen(table, index, node, path, wanted(node, enums) if self.compiled else None)

    def extent(self, data: Data, start: int = 0, end: int | None = None) -> int | Failure:
        """Where the unit ends that starts at a position, or why there is none."""
        if self.kernel is not None:
            try:
                with closing(_CReading(self, _view(data, end), start)) as reading:
                    return reading.extent()
            except Beyond:
                pass
        return self._open(data, start, end).extent()

    def _open(self, data: Data, start: int, end: int | None) -> Reading:
        view = _view(data, end)
        made = self.reader
        ctx = made["context"](_work(view, start), PROCESSES)
        root = made[f"root_{self.ident}"](made["stream"](ctx, view, start), *self.params)
        return Reading(self, ctx, root)


def _view(data: Data, end: int | None) -> memoryview:
    return memoryview(data).cast("B")[:end]


def _work(data: memoryview, start: int) -> int:
    """The steps that a reading may take."""
    return LEAST_WORK + WORK * max(len(data) - start, 0)


def _after(given: int, items: Iterator[pa.RecordBatch | Failure]) -> Iterator[pa.RecordBatch | Failure]:
    """What follows the rows and failures that were given already."""
    for item in items:
        count = 1 if isinstance(item, Failure) else item.num_rows
        if given < count:
            yield item if isinstance(item, Failure) else item.slice(given)
        given = max(0, given - count)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A table with the columns that are wanted of it."""

    table: str
    index: int
    """Of the repetition in the root; -1 if it is none."""
    node: Node
    path: str
    """Of a repetition that is elsewhere."""
    asked: Wanted | None
    """What is requested of a reader in C."""

    @property
    def wanted(self) -> Wanted:
        if self.asked is None:
            raise Beyond
        return self.asked

    def flat(self, items: Iterator[pa.RecordBatch | Failure]) -> Iterator[pa.RecordBatch | Failure]:
        """The rows of the table."""
        for item in items:
            yield item if isinstance(item, Failure) or not self.path else _flat(item, self.path)


class _CReading:
    """One unit while a compiled reader reads it."""

    def __init__(self, program: Program, data: memoryview, start: int) -> None:
        if program.kernel is None or program.compiled is None:
            raise Beyond
        self.program = program
        reader = program.kernel.reader(program.compiled.reader)
        self.reading = CReading(program.kernel, reader, data, start, _work(data, start))
        self.reading.open(program.params)

    def close(self) -> None:
        self.reading.close()

    def items(self, chosen: _Chosen, max_rows: int) -> Iterator[pa.RecordBatch | Failure]:
        return chosen.flat(self.whole(chosen) if chosen.index < 0 else self.repetition(chosen, max_rows))

    def whole(self, chosen: _Chosen) -> Iterator[pa.RecordBatch | Failure]:
        failure = self.reading.act(READ) or self.reading.act(PUT, facts=chosen.wanted.facts)
        if failure is None:
            yield self.table(chosen)
        yield from self.notes()
        if failure is not None:
            yield self.failure(failure, is_fatal=True)

    def repetition(self, chosen: _Chosen, max_rows: int) -> Iterator[pa.RecordBatch | Failure]:
        act, answer = self.reading.act, self.reading.answer
        for before in range(chosen.index):
            if failure := act(STEP, before):
                yield self.failure(failure, is_fatal=True)
                return
        is_done = False
        while not is_done:
            failure = act(SOME, chosen.index, min(ITEMS_A_STEP, max_rows))
            is_done = bool(answer.result) or failure is not None
            failure = act(PUT, chosen.index, facts=chosen.wanted.facts) or failure
            is_done = is_done or failure is not None
            if answer.rows and (is_done or answer.rows >= max_rows or answer.bytes >= MAX_BYTES):
                yield self.table(chosen)
            yield from self.notes()
            if failure is not None:
                yield self.failure(failure, is_fatal=True)

    def extent(self) -> int | Failure:
        failure = self.reading.act(READ)
        return self.failure(failure, is_fatal=True) if failure else int(self.reading.answer.end)

    def table(self, chosen: _Chosen) -> pa.RecordBatch:
        found = self.reading.array(chosen.wanted)
        if chosen.node.kind != GROUP:
            return pa.RecordBatch.from_arrays([found], names=["value"])
        return pa.RecordBatch.from_struct_array(found)

    def notes(self) -> Iterator[Failure]:
        for said in self.reading.notes():
            yield self.failure(said, is_fatal=False)

    def failure(self, said: Said, *, is_fatal: bool) -> Failure:
        return Failure(said.position, self.program.paths[said.at], said.reason, said.kind, is_fatal)


@dataclass(frozen=True, slots=True)
class Reading:
    """One unit while it is read in Python."""

    program: Program
    ctx: Any
    root: Any

    def items(self, chosen: _Chosen, max_rows: int) -> Iterator[pa.RecordBatch | Failure]:
        """The rows of a table, and what is wrong."""
        node = chosen.node
        is_whole = chosen.index < 0
        return chosen.flat(
            self.whole(node) if is_whole else self.repetition(chosen.table, chosen.index, node, max_rows)
        )

    def whole(self, node: Node) -> Iterator[pa.RecordBatch | Failure]:
        """The row of the root."""
        column = node.build(self.program.reader["column"])
        failure = self.attempt(lambda: self.program.reader["read_whole"](self.root))
        if failure is None:
            failure = self.attempt(lambda: self.put_root(column))
        self.root.release()
        if failure is None:
            yield table(node, column)
        yield from self.notes()
        if failure is not None:
            yield failure

    def put_root(self, column: Any) -> None:
        """Append the root to a column; instances are computed."""
        self.program.reader[f"put_root_{self.program.ident}"](self.root, column)

    def repetition(self, name: str, index: int, node: Node, max_rows: int) -> Iterator[pa.RecordBatch | Failure]:
        """The rows of a repetition of the root."""
        reader = self.program.reader
        column = node.build(reader["column"])
        for before in range(index):
            failure = self.attempt(lambda step=before: self.root.step(step))  # type: ignore[misc]
            if failure is not None:
                yield failure
                return
        put = reader[f"put_{name}_rows_of_{self.program.ident}"]
        state = _Progress(getattr(self.root, f"some_{name}"), put, min(ITEMS_A_STEP, max_rows))
        while not state.is_done:
            failure = self.attempt(lambda: state.advance(self.root, column))
            is_done = state.is_done = state.is_done or failure is not None
            if column.count() and (is_done or column.count() >= max_rows or column.bytes_held() >= MAX_BYTES):
                yield table(node, column)
            yield from self.notes()
            if failure is not None:
                yield failure

    def extent(self) -> int | Failure:
        """Where the root ends."""
        failure = self.attempt(lambda: self.program.reader["read_whole"](self.root))
        return int(self.root.extent()[1]) if failure is None else failure

    def notes(self) -> Iterator[Failure]:
        """What could not be computed."""
        for at, began, error in self.ctx.noted():
            yield self.failure(error, at, began, is_fatal=False)

    def attempt(self, action: Callable[[], object]) -> Failure | None:
        """Run a step of a reader; its errors become failures. A reader raises nothing else."""
        limit, was_collecting = sys.getrecursionlimit(), gc.isenabled()
        gc.disable()  # a reading makes many objects and no garbage, so a collection would find nothing
        try:
            sys.setrecursionlimit(max(limit, depth_of_stack() + FRAMES * self.program.reader["MAX_DEPTH"]))
            action()
        except Exception as error:  # noqa: BLE001 - every error here is about the data
            return self.failure(error, *self.ctx.state(), is_fatal=True)
        finally:
            sys.setrecursionlimit(limit)
            if was_collecting:
                gc.enable()
        return None

    def failure(self, error: BaseException, at: int, began: int, *, is_fatal: bool) -> Failure:
        """An error as what a reading gives."""
        position = getattr(error, "position", -1)
        return Failure(position if position >= 0 else began, self.program.paths[at], str(error), _kind(error), is_fatal)


@dataclass(slots=True)
class _Progress:
    """The position in a repetition."""

    some: Callable[[int], bool]
    put: Callable[[Any, Any, int], int]
    step: int
    first: int = 0
    """The first item that is not in the columns yet."""
    is_done: bool = False

    def advance(self, root: Any, column: Any) -> None:
        """Read some items, and put those that were read into their columns."""
        try:
            self.is_done = self.some(self.step)
        finally:
            self.first = self.put(root, column, self.first)


def depth_of_stack() -> int:
    """How many frames there are."""
    frame, count = sys._getframe(), 0  # noqa: SLF001 - there is no other way
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


def _kind(error: BaseException) -> str:
    found = getattr(error, "kind", None)
    if isinstance(found, str):
        return found
    return "depth" if isinstance(error, RecursionError) else "value"


def _schema(node: Node) -> pa.Schema:
    return pa.schema(node.fields() if node.kind == GROUP else [pa.field("value", node.arrow())])


def _item_at(node: Node, path: str) -> Node:
    for name in path.split("."):
        found = dict(node.kids)[name]
        if found is None:
            raise KeyError(path)
        node = found
    item = node.kids[0][1]
    if item is None:
        raise KeyError(path)
    return item


def _flat(batch: pa.RecordBatch, path: str) -> pa.RecordBatch:
    """The items of a list in the one row of a batch."""
    found = batch.to_struct_array()
    for name in path.split("."):
        found = found.field(name)
    return pa.RecordBatch.from_struct_array(found.flatten())


# From a file to a program


def load(
    file: Path | str,
    params: Mapping[str, Any] | None = None,
    kernel: Kernel | None = None,
    *,
    spec: Spec | None = None,
    native: Callable[[str], Path | None] = lambda _text: None,
    prefix: str = "",
) -> Program:
    """A spec, compiled; `SpecError` says what is refused and where.

    `params` are the parameters of the root. `kernel` is a compiled library with its reader, or `native` gives that for
    a source; without either the reader runs as Python. `spec` is read in place of the file, whose folder still has the
    imports. With prefixes, readers of several specs can be one library.
    """
    library, analysis, emitted, whole = _compiled(Path(file), spec, prefix)
    root = library.root
    compiled, not_in_c = _in_c(analysis, emitted)
    if kernel is None and compiled is not None and (place := native(in_c.translation_unit(compiled.text))):
        kernel = Kernel(place)
    repeated = {item.name for item in root.seq if "repeat" in item.data}
    return Program(
        spec=root.spec,
        text=emitted.text,
        compiled=compiled,
        kernel=kernel,
        paths=tuple(emitted.places.paths),
        whole=whole,
        streamed=_streamed(analysis, library),
        nested=_nested(whole, repeated),
        ident=root.ident,
        params=_given(library, params or {}),
        not_in_c=not_in_c,
    )


def load_traced(file: Path | str, spec: Spec | None = None) -> Program:
    """A spec as a reader in Python that tells where each field is; see `fields`."""
    library, analysis, emitted, whole = _compiled(Path(file), spec, is_traced=True)
    named = [Named("", "/", is_instance=False, labels={})] * len(emitted.places.paths)
    for item, number in emitted.places.numbers.items():
        kind = analysis.kind(item) if item.is_value else analysis.item_kind(item)
        labels = kind.enum.labels if isinstance(kind, Label) else {}
        named[number] = Named(item.name, item.path, item.is_instance, labels)
    return Program(
        library.root.spec, emitted.text, None, None, tuple(emitted.places.paths), whole, {}, {}, library.root.ident,
        named=tuple(named),
    )  # fmt: skip


def _compiled(
    file: Path, spec: Spec | None = None, prefix: str = "", *, is_traced: bool = False
) -> tuple[Library, Analysis, Emitted, Node]:
    """The text of the reader of a spec, and the columns of its root."""
    library = Library(file, spec, prefix)
    analysis = Analysis(library)
    emitted = emit(analysis, library, is_traced=is_traced)
    try:
        return library, analysis, emitted, layout(analysis, Struct(library.root))
    except TooManyColumns:
        raise library.root.spec.error((), "has too many columns, however early its structures are cut") from None


def check(file: Path | str) -> list[Refusal]:
    """What the compiler refuses in a spec."""
    try:
        _compiled(Path(file))
    except SpecError as error:
        return refusals_of(error)
    return []


def _in_c(analysis: Analysis, emitted: Emitted) -> tuple[in_c.InC | None, str]:
    try:
        return in_c.emit(analysis, emitted.places), ""
    except NotInC as error:
        return None, str(error)


@cache
def _executed(text: str) -> dict[str, Any]:
    return executed(module(text))


def _given(library: Library, params: Mapping[str, Any]) -> tuple[Any, ...]:
    names = library.root.params
    if names.keys() != params.keys():
        wanted = ", ".join(names) or "none"
        raise library.root.spec.error(("params",), f"the parameters of this spec are {wanted}")
    return tuple(params[name] for name in names)


def _streamed(analysis: Analysis, library: Library) -> dict[str, tuple[int, Node]]:
    found: dict[str, tuple[int, Node]] = {}
    for index, item in enumerate(library.root.seq):
        if "repeat" in item.data and "id" in item.data:
            found[item.name] = (index, _item_layout(analysis, item))
    return found


def _item_layout(analysis: Analysis, item: Field) -> Node:
    kind = analysis.kind(item)
    return layout(analysis, kind.item if isinstance(kind, List) else kind)


def _nested(node: Node, taken: set[str], above: str = "") -> dict[str, str]:
    """Repetitions of structures that stand in no other, by a name of their own."""
    found: dict[str, str] = {}
    for name, kid in node.kids:
        path = f"{above}{name}"
        if kid is None or (not above and name in taken):
            continue
        if kid.kind == GROUP:
            found |= {
                _free(key, {*found, *taken}, inner): inner for key, inner in _nested(kid, taken, f"{path}.").items()
            }
        elif kid.kids and kid.kids[0][1] and kid.kids[0][1].kind == GROUP:
            found[_free(name, {*found, *taken, ROOT}, path)] = path
    return found


def _free(name: str, taken: set[str], path: str) -> str:
    return path.replace(".", "_") if name in taken else name
