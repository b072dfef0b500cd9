"""A spec, compiled: its tables, and the rows of a unit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.declarations import Field, Library
from thawline.compiler.language.emission import Emitted, emit, module
from thawline.compiler.language.failures import Failure, Refusal, Refused
from thawline.compiler.language.kinds import List, Struct
from thawline.compiler.language.layout import GROUP, Node, TooManyColumns, layout, table
from thawline.compiler.language.processes import PROCESSES
from thawline.ksy.documents import Spec, SpecError
from thawline.native.plain.cython_names import executed

ROOT = "root"
MAX_ROWS = 65_536
MAX_BYTES = 8 << 20
"""A batch of a repetition ends after this many rows, or with the rows that cross this many bytes."""
STEP = 1024
"""Items that are read between two looks at how many bytes there are."""
LEAST_WORK = 1 << 20
WORK = 64
"""Steps that a reading may take for each byte of its input, and those that it may take besides."""
FRAMES = 12
"""Frames of Python's stack that a nested structure takes where a reader runs uncompiled."""

Data = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Program:
    """A spec that was compiled."""

    spec: Spec
    text: str
    """The text of the reader, without what all readers start with."""
    is_compiled: bool
    reader: Mapping[str, Any] = field(repr=False)
    paths: tuple[str, ...] = field(repr=False)
    whole: Node = field(repr=False)
    streamed: Mapping[str, tuple[int, Node]] = field(repr=False)
    """Repetitions in the root: the index of the field, and the columns of an item."""
    nested: Mapping[str, str] = field(repr=False)
    """Other repetitions that are not in another: the path of the field."""
    ident: str
    """What names of the root in the reader end with."""
    params: tuple[Any, ...] = ()

    @property
    def id(self) -> str:
        """The id of the spec."""
        return self.spec.id

    @property
    def source(self) -> str:
        """The text of the reader, complete: Cython in pure Python mode."""
        return module(self.text)

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
        """The rows of one unit, and what cannot be read or computed."""
        reading = self._open(data, start, end)
        if table == ROOT:
            yield from reading.whole(self.whole if columns is None else self.whole.only(columns))
        elif table in self.streamed:
            index, node = self.streamed[table]
            wanted = node if columns is None or node.kind != GROUP else node.only(columns)
            yield from reading.repetition(table, index, wanted, max_rows)
        elif table in self.nested:
            path = self.nested[table]
            paths = {path} if columns is None else {f"{path}.{column}" for column in columns}
            for item in reading.whole(self.whole.only(paths)):
                yield item if isinstance(item, Failure) else _flat(item, path)
        else:
            raise KeyError(table)

    def extent(self, data: Data, start: int = 0, end: int | None = None) -> int | Failure:
        """Where the unit ends that starts at a position, or why there is none."""
        return self._open(data, start, end).extent()

    def _open(self, data: Data, start: int, end: int | None) -> _Reading:
        view = memoryview(data).cast("B")[start:end]
        made = self.reader
        ctx = made["context"](LEAST_WORK + WORK * len(view), PROCESSES)
        root = made[f"root_{self.ident}"](made["stream"](ctx, view, start), *self.params)
        return _Reading(self, ctx, root, start)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One unit while it is read."""

    program: Program
    ctx: Any
    root: Any
    start: int

    def whole(self, node: Node) -> Iterator[pa.RecordBatch | Failure]:
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
        self.program.reader[f"put_root_{self.program.ident}"](self.root, column)

    def repetition(self, name: str, index: int, node: Node, max_rows: int) -> Iterator[pa.RecordBatch | Failure]:
        reader = self.program.reader
        column = node.build(reader["column"])
        for before in range(index):
            failure = self.attempt(lambda step=before: self.root.step(step))  # type: ignore[misc]
            if failure is not None:
                yield failure
                return
        put = reader[f"put_{name}_rows_of_{self.program.ident}"]
        state = _Progress(getattr(self.root, f"some_{name}"), put, min(STEP, max_rows))
        while not state.is_done:
            failure = self.attempt(lambda: state.advance(self.root, column))
            is_done = state.is_done = state.is_done or failure is not None
            if column.count() and (is_done or column.count() >= max_rows or column.bytes_held() >= MAX_BYTES):
                yield table(node, column)
            yield from self.notes()
            if failure is not None:
                yield failure

    def extent(self) -> int | Failure:
        failure = self.attempt(lambda: self.program.reader["read_whole"](self.root))
        return self.start + self.root.extent()[1] if failure is None else failure

    def notes(self) -> Iterator[Failure]:
        for at, began, error in self.ctx.noted():
            yield self.failure(error, at, began, is_fatal=False)

    def attempt(self, action: Callable[[], object]) -> Failure | None:
        """Do it, and say why it could not be done. A reader never raises anything else."""
        limit, was_collecting = sys.getrecursionlimit(), gc.isenabled()
        gc.disable()  # a reading makes many objects and no garbage: what it looks through is all in use
        try:
            if not self.program.is_compiled:
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
        position = getattr(error, "position", -1)
        return Failure(position if position >= 0 else began, self.program.paths[at], str(error), _kind(error), is_fatal)


@dataclass(slots=True)
class _Progress:
    """How far a repetition has been read."""

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
    kernel: Mapping[str, Any] | None = None,
    *,
    spec: Spec | None = None,
    native: Callable[[str], Mapping[str, Any] | None] = lambda _text: None,
    prefix: str = "",
) -> Program:
    """A spec, compiled; `SpecError` says what is refused and where.

    `params` are the parameters of the root. `kernel` is what a compiled module of the same source defines, or `native`
    gives that for a source; without either the reader runs as Python. `spec` is read in place of the file, whose folder
    still has the imports. With prefixes, readers of several specs can be one module.
    """
    library, analysis, emitted, whole = _compiled(Path(file), spec, prefix)
    root = library.root
    text = module(emitted.text)
    kernel = native(text) if kernel is None else kernel
    made = dict(kernel) if kernel is not None else _executed(text)
    repeated = {item.name for item in root.seq if "repeat" in item.data}
    return Program(
        spec=root.spec,
        text=emitted.text,
        is_compiled=kernel is not None,
        reader=made,
        paths=emitted.paths,
        whole=whole,
        streamed=_streamed(analysis, library),
        nested=_nested(whole, repeated),
        ident=root.ident,
        params=_given(library, params or {}),
    )


def _compiled(file: Path, spec: Spec | None = None, prefix: str = "") -> tuple[Library, Analysis, Emitted, Node]:
    """The text of the reader of a spec, and the columns of its root."""
    library = Library(file, spec, prefix)
    analysis = Analysis(library)
    emitted = emit(analysis, library)
    try:
        return library, analysis, emitted, layout(analysis, Struct(library.root))
    except TooManyColumns:
        raise library.root.spec.error((), "has too many columns, however early its structures are cut") from None


def check(file: Path | str) -> list[Refusal]:
    """What the compiler refuses in a spec."""
    try:
        _compiled(Path(file))
    except SpecError as error:
        reasons = error.reasons if isinstance(error, Refused) else (str(error),)
        return [Refusal(place, reason) for place, _, reason in (it.partition(": ") for it in reasons)]
    return []


@cache
def _executed(text: str) -> dict[str, Any]:
    return executed(text)


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
