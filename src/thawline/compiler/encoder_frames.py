"""Encoders of single structures as source: the bytes around their parts, which are not copied, or all bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from thawline.compiler import encoder_ir as er
from thawline.compiler import ir
from thawline.compiler.encoder_emission import Emitter, counters
from thawline.compiler.terms import bare, text
from thawline.engine.encoders import Encoder, has_tokens
from thawline.engine.tables import SLICES, Column


def emit_frame(encoder: er.Encoder) -> tuple[Encoder, str]:
    """What the encoder of a single structure is given, and its source."""
    if encoder.is_whole:
        whole = _Whole(encoder)
        source = whole.source()
        return Encoder(encoder.name, encoder.spec, encoder.columns, whole.refusals, encoder.hidden), source
    emitter = _Frame(encoder)
    source = emitter.source()
    sizes = () if emitter.sums else tuple(part.column.name for part in emitter.parts)
    columns, determined = encoder.columns, tuple(emitter.determined())
    made = Encoder(encoder.name, encoder.spec, columns, emitter.refusals, encoder.hidden, sizes, determined)
    return made, source + (_Head(_unsummed(encoder), failures=emitter.failures).source() if emitter.parts else "")


def _unsummed(encoder: er.Encoder) -> er.Encoder:
    return replace(encoder, written=[it for it in encoder.written if not isinstance(it, er.PutChecksum)])


class _Frame(Emitter):
    """The encoder of a single structure: the bytes around its parts, which are not copied."""

    room = "len(made)"
    prefix: ClassVar[str] = "frame"

    @property
    def parts(self) -> list[er.PutSlice]:
        return [it for it in self.encoder.written if isinstance(it, er.PutSlice) and it.is_part]

    @property
    def sums(self) -> list[er.PutChecksum]:
        return [it for it in self.encoder.written if isinstance(it, er.PutChecksum)]

    def source(self) -> str:
        parameters = [self.declared(column) for column in self.encoder.columns]
        self.write(f"\n\ndef {self.prefix}_{self.encoder.name}(\n    " + ",\n    ".join(parameters) + ",\n):")
        self.depth += 1
        self.declare("pos", "word", *(f"cut_{index}" for index in range(len(self.parts))))
        self.write("out: cython.pointer(cython.uchar)")
        self.statements(self.encoder.measured)
        made = " - ".join((text(self.encoder.size), *map(_taken, self.parts)))
        self.write(f"made: bytearray = bytearray({made})")
        self.write("out = made")
        self.statements(self.encoder.written)
        self.write(f"return {', '.join(self.pieces())},")
        self.depth -= 1
        return "\n".join(self.lines) + "\n"

    def declared(self, column: Column) -> str:
        is_size = not self.sums and column.name in {part.column.name for part in self.parts}
        if column.kind in SLICES and not is_size:
            return f"{_place((), column)}: cython.const[cython.uchar][::1]"
        return _place((), column) if column.nullable else f"{_place((), column)}: cython.longlong"

    def pieces(self) -> list[str]:
        """The bytes before, between and after the parts. There are none after the last one if it ends the structure."""
        cuts = [f"cut_{index}" for index in range(len(self.parts))]
        if not cuts:
            return ["made"]
        pieces = [f"made[{start}:{end}]" for start, end in zip(["", *cuts], [*cuts, ""], strict=True)]
        last = self.encoder.written[-1] if not self.sums else self.encoder.written[-1 - len(self.sums)]
        if isinstance(last, er.PutSlice) and last.is_part:
            pieces.pop()
        return ["made"] if len(pieces) == 1 else pieces

    def determined(self) -> Iterator[tuple[int, int]]:
        """Where the fields before the first part are that follow from the spec and the parts."""
        at = 0
        for put in self.encoder.written:
            match put:
                case er.PutContents(contents):
                    yield at, at + len(contents)
                    at += len(contents)
                case er.PutInteger(_, size):
                    if put.is_determined:
                        yield at, at + size
                    at += size
                case er.PutSlice(is_part=False):
                    at += put.column.size
                case er.PutSlice() | ir.Loop():
                    return

    def refuse(self, number: int) -> None:
        self.write(f"return {number}")

    def load(self, load: er.Load) -> None:
        self.write(f"{load.target.name} = {_given_or(load.column, 0)}")

    def load_given(self, load: er.LoadGiven) -> None:
        self.write(f"{load.target.name} = {_place((), load.column)} is not None")

    def load_length(self, load: er.LoadLength) -> None:
        is_buffer = self.declared(load.column).endswith("[::1]")
        length = f"{_place((), load.column)}.shape[0]" if is_buffer else _given_or(load.column, load.missing)
        self.write(f"{load.target.name} = {length}")

    def bytes_of(self, rows: ir.Rows, column: Column) -> tuple[str, str]:  # noqa: ARG002 - there is one row
        return _place((), column), "0"

    def put_slice(self, put: er.PutSlice) -> None:
        if put.is_part:
            index = [part.column.name for part in self.parts].index(put.column.name)
            self.write(f"cut_{index} = pos")
        else:
            self.copy(_place((), put.column), "0", text(put.length))

    def put_checksum(self, put: er.PutChecksum) -> None:
        """The checksum goes on from piece to piece; all parts are within its range."""
        cuts = [f"cut_{index}" for index in range(len(self.parts))]
        end = " - ".join((text(put.end), *map(_taken, self.parts)))
        bounds = [bare(put.start), *(cut for cut in cuts for _ in range(2)), end]
        self.write("word = 0")
        for index, (first, last) in enumerate(zip(bounds[::2], bounds[1::2], strict=True)):
            self.write(f"word = _{put.algorithm}_at(word, out, {first}, {last})")
            if index < len(self.parts):
                part = _place((), self.parts[index].column)
                self.write(f"word = _{put.algorithm}_on(word, {part}, 0, {part}.shape[0])")
        self.put_bytes("word", put.size, put.at.name, is_big_endian=put.is_big_endian)


class _Head(_Frame):
    """The same bytes up to the first part, without a checksum; all parts are given by their size."""

    prefix = "head"

    def pieces(self) -> list[str]:
        return ["made[:cut_0]"]


class _Whole(Emitter):
    """The encoder of a single structure without parts: all of its bytes, from values of Python and lists of tuples."""

    room = "out.shape[0]"

    def source(self) -> str:
        columns = self.encoder.columns
        parameters = [_place((), column) for column in columns]
        if has_tokens(columns):
            parameters.append("has_escapes: cython.bint")
        self.write(f"\n\ndef frame_{self.encoder.name}(\n    " + ",\n    ".join(parameters) + ",\n):")
        self.depth += 1
        self.declare("pos", "start", "word", *counters(columns))
        self.declare_views(columns, ())
        self.write("out: cython.uchar[::1]")
        self.take_views(columns, ())
        self.statements(self.encoder.measured)
        self.write(f"made: bytearray = bytearray({bare(self.encoder.size)})")
        self.write("out = made if cython.compiled else memoryview(made)")
        self.statements(self.encoder.written)
        self.write("return made,")
        self.depth -= 1
        return "\n".join(self.lines) + "\n"

    def declare_views(self, columns: tuple[Column, ...], path: tuple[str, ...]) -> None:
        for column in columns:
            if column.kind in SLICES:
                self.write(f"{_place(path, column, 'view')}: cython.pointer(cython.const[cython.uchar])")
            self.declare_views(column.items, (*path, column.name))

    def take_views(self, columns: tuple[Column, ...], path: tuple[str, ...]) -> None:
        """Look at the bytes that are given; C has their address, and refuses what is not `bytes`."""
        for column in columns:
            if column.kind in SLICES:
                view, given = _place(path, column, "view"), _place(path, column)
                with self.indented("if not cython.compiled:"):
                    self.write(f"{view} = memoryview({given} if {given} is not None else b'')")
                with self.indented(f"elif {given} is not None:"):
                    self.write(f"{view} = {given}")
                with self.indented("else:"):
                    self.write(f"{view} = no_bytes")

    def refuse(self, number: int) -> None:
        self.write(f"return {number}")

    def load(self, load: er.Load) -> None:
        given = _place(load.rows.path, load.column)
        missing = f" if {given} is not None else 0" if load.column.nullable else ""
        self.write(f"{load.target.name} = _given_number({given}){missing}")

    def load_given(self, load: er.LoadGiven) -> None:
        self.write(f"{load.target.name} = {_place(load.rows.path, load.column)} is not None")

    def load_length(self, load: er.LoadLength) -> None:
        given = _place(load.rows.path, load.column)
        self.write(f"{load.target.name} = len({given}) if {given} is not None else {load.missing}")

    def load_count(self, load: er.LoadCount) -> None:
        self.write(f"{load.target.name} = len({_given_list(load.items)})")

    def items(self, items: er.Items) -> None:
        counter, given, path = items.rows.counter, _given_list(items.rows), items.rows.path
        columns = _within(self.encoder.columns, path)
        self.write(f"{counter} = 0")
        with self.indented(f"while {counter} < len({given}):"):
            self.write(f"{', '.join(_place(path, column) for column in columns)}, = {given}[{counter}]")
            self.take_views(columns, path)
            self.statements(items.body)
            self.write(f"{counter} += 1")

    def readable(self, data: str, start: str, length: str) -> str:  # noqa: ARG002 - a value by itself
        return length

    def bytes_of(self, rows: ir.Rows, column: Column) -> tuple[str, str]:
        return _place(rows.path, column, "view"), "0"

    def measure_slice(self, measure: er.MeasureSlice) -> None:
        data, length, name = (
            _place(measure.rows.path, measure.column, "view"),
            text(measure.length),
            measure.target.name,
        )
        if measure.column.kind == "base64":
            self.write(f"{name} = _base64_size({length})")
        else:
            self.write(f"{name} = _escaped_size({data}, 0, {length}) if has_escapes else max(0, {length})")

    def put_slice(self, put: er.PutSlice) -> None:
        data, length = _place(put.rows.path, put.column, "view"), text(put.length)
        if put.column.kind == "base64":
            self.write(f"pos = _write_base64(out, pos, {data}, 0, {length})")
        elif put.column.kind == "escaped":
            with self.indented("if has_escapes:"):
                self.write(f"pos = _write_escaped(out, pos, {data}, 0, {length})")
            with self.indented("else:"):
                self.copy(data, "0", length)
        else:
            self.copy(data, "0", length)
        if put.terminator is not None:
            self.write(f"out[pos] = cython.cast(cython.uchar, {text(put.terminator)})")
            self.write("pos += 1")


def _place(path: tuple[str, ...], column: Column, part: str = "given") -> str:
    """The variable that holds what is given for a column, or the view of its bytes."""
    return "__".join((part, *path, column.name))


def _given_list(rows: ir.Rows) -> str:
    return "__".join(("given", *rows.path))


def _within(columns: tuple[Column, ...], path: tuple[str, ...]) -> tuple[Column, ...]:
    """The columns of a list's items."""
    for name in path:
        columns = next(column.items for column in columns if column.name == name)
    return columns


def _taken(part: er.PutSlice) -> str:
    """How many bytes a part takes: none where it is absent."""
    length = text(part.length)
    return f"({length} if {length} > 0 else 0)" if part.column.nullable else length


def _given_or(column: Column, missing: int) -> str:
    """What is given for a column, or a number where that is None."""
    name = _place((), column)
    return f"{name} if {name} is not None else {missing}" if column.nullable else name
