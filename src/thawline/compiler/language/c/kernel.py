"""What a C compiler made of a reader, from Python: one unit is read, and its rows are Arrow without a copy."""

from __future__ import annotations

import ctypes
import threading
import zlib
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from thawline.compiler.language.c.filling import Wanted
from thawline.compiler.language.processes import PROCESSES

OPEN, READ, STEP, SOME, PUT, EXPORT = range(6)
ENCODING, PROCESS, BEYOND, VALUE = range(1, 5)
"""What an answer to a question can be, besides 0."""
MOST_NOTES = 100
LONGEST_REASON = 200
INT, REAL, BOOL, BYTES, TEXT = range(1, 6)
ARROW = 80
"""Bytes of an array in Arrow's C data interface."""
MAX_OUTPUT = 1 << 28
"""Bytes that a process may make."""
MEMORY, LEAST_MEMORY = 512, 64 << 20
"""Bytes of structures that a reading may have for each byte of its input, and those that it may have besides."""


class _Question(Structure):
    _fields_ = (("word", c_char_p), ("number", c_int64), ("size", c_int64), ("data", c_void_p), ("given", c_void_p),
                ("made", c_void_p), ("reason", c_void_p))  # fmt: skip


class _Note(Structure):
    _fields_ = (("kind", c_char_p), ("at", c_int64), ("began", c_int64), ("position", c_int64),
                ("reason", ctypes.c_char * LONGEST_REASON))  # fmt: skip


class _Answer(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("result", "rows", "bytes", "start", "end", "at", "began", "position")),
        *((name, c_int64) for name in ("notes", "is_beyond")),
        ("kind", c_char_p),
        ("reason", c_char_p),
    )


class _Any(Structure):
    """A value of one of several kinds; 16 bytes for its number, or for where its bytes are."""

    _fields_ = (("tag", c_int64), ("_", c_int64), ("low", ctypes.c_uint64), ("high", c_int64))


_ASK = CFUNCTYPE(c_int, POINTER(_Question))


class _Functions(Structure):
    _fields_ = (
        ("version", c_int64),
        ("open", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_int64, _ASK)),
        ("act", CFUNCTYPE(None, c_void_p, c_int, c_int, c_int64, c_void_p, c_void_p, POINTER(_Answer))),
        ("notes", CFUNCTYPE(POINTER(_Note), c_void_p)),
        ("close", CFUNCTYPE(None, c_void_p)),
    )


class Beyond(Exception):
    """The reader in C gives up: only Python can do this."""


@dataclass(frozen=True, slots=True)
class Said:
    """Why reading cannot go on, or what could not be computed."""

    at: int
    position: int
    kind: str
    reason: str


class Kernel:
    """A compiled reader, or several in one library."""

    def __init__(self, place: Path) -> None:
        self.library = ctypes.CDLL(str(place))
        self.functions = _Functions.in_dll(self.library, "thawline_kernel")

    def reader(self, name: str) -> int:
        """Where the table of a reader's functions is."""
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, name))


class CReading:
    """One unit while it is read."""

    def __init__(self, kernel: Kernel, reader: int, data: memoryview, start: int, work: int) -> None:
        self.functions = kernel.functions
        self.buffer = pa.py_buffer(data)
        self.answer = _Answer()
        memory = LEAST_MEMORY + MEMORY * len(data)
        address = self.buffer.address if len(data) else 0
        self.handle = self.functions.open(reader, address, len(data), start, work, memory, _answered)
        if not self.handle:
            raise MemoryError

    def close(self) -> None:
        """Give its memory back."""
        self.functions.close(self.handle)

    def act(
        self, what: int, index: int = -1, count: int = 0, facts: ctypes.Array[c_int64] | None = None, given: Any = None
    ) -> Said | None:
        """Do one thing; what is said if that fails."""
        self.functions.act(self.handle, what, index, count, facts, given, byref(self.answer))
        answer = self.answer
        if answer.is_beyond:
            raise Beyond
        if answer.result >= 0:
            return None
        position = answer.position if answer.position >= 0 else answer.began
        return Said(answer.at, position, answer.kind.decode(), answer.reason.decode("utf-8", "replace"))

    def open(self, given: Sequence[object]) -> None:
        """Make the root, with the parameters of the spec."""
        values = (_Any * max(len(given), 1))(*map(_any, given))
        failure = self.act(OPEN, given=values)
        if failure:
            raise Beyond

    def notes(self) -> list[Said]:
        """What could not be computed since this was asked last."""
        count = min(self.answer.notes, MOST_NOTES)
        self.answer.notes = 0
        found = self.functions.notes(self.handle) if count else None
        return [_said(found[index]) for index in range(count)] if found else []

    def array(self, wanted: Wanted) -> pa.Array:
        """The values of the columns, which are empty afterwards."""
        room = ctypes.create_string_buffer(ARROW + wanted.most_marks)
        failure = self.act(EXPORT, given=room)
        if failure:
            raise MemoryError(failure.reason)
        filled = wanted.filled(room.raw[ARROW:])
        found = pa.Array._import_from_c(ctypes.addressof(room), filled.type)  # noqa: SLF001 - Arrow's C data interface
        return filled.completed(found)


def _said(note: _Note) -> Said:
    position = note.position if note.position >= 0 else note.began
    return Said(note.at, position, note.kind.decode(), note.reason.decode("utf-8", "replace"))


def _any(value: object) -> _Any:
    """A parameter as C has it."""
    if isinstance(value, bool):
        return _Any(BOOL, 0, int(value), 0)
    if isinstance(value, int) and -(1 << 127) <= value < 1 << 127:
        return _Any(INT, 0, value & (1 << 64) - 1, value >> 64)
    raise Beyond


class _Made(threading.local):
    """What was made for a question, until the reader takes it."""

    data = b""


_made = _Made()


def _answer(pointer: Any) -> int:
    """Answer what only Python can: encodings, decompression, numbers as people write them, custom processes."""
    question = pointer.contents
    word, _, name = question.word.decode().partition(":")
    if word == "take":
        ctypes.memmove(question.made, _made.data, len(_made.data))
        _made.data = b""
        return 0
    try:
        _made.data = ACTIONS[word](question, name)
    except _Refused as error:
        reason = str(error).encode()[: LONGEST_REASON - 1]
        ctypes.memmove(question.reason, reason + b"\0", len(reason) + 1)
        return error.how
    except Exception:  # noqa: BLE001 - Python reads the unit again, and says what is wrong
        return BEYOND
    question.size = len(_made.data)
    return 0


_answered = _ASK(_answer)


class _Refused(Exception):
    def __init__(self, how: int, reason: str) -> None:
        super().__init__(reason)
        self.how = how


def _data(question: _Question) -> bytes:
    return ctypes.string_at(question.data, question.size) if question.size else b""


def _decode(question: _Question, encoding: str) -> bytes:
    try:
        text = _data(question).decode(encoding)
    except LookupError:
        raise _Refused(ENCODING, f"the encoding {encoding!r} is not known") from None
    except ValueError as error:
        raise _Refused(ENCODING, f"these bytes are not {encoding}: {error}") from None
    return text.encode()


def _inflate(question: _Question, _: str) -> bytes:
    decoder = zlib.decompressobj()
    try:
        made = decoder.decompress(_data(question), MAX_OUTPUT)
    except zlib.error as error:
        raise _Refused(PROCESS, f"cannot be decompressed: {error}") from None
    if not decoder.eof:
        long = len(made) >= MAX_OUTPUT
        why = f"has more than {MAX_OUTPUT} bytes when decompressed" if long else "the compressed data is not complete"
        raise _Refused(PROCESS, why)
    return made


def _number(question: _Question, _: str) -> bytes:
    text = _data(question).decode()
    try:
        return int(text, question.number).to_bytes(16, "little", signed=True)
    except ValueError:
        raise _Refused(VALUE, f"{text[:40]!r} is no number") from None


def _custom(question: _Question, name: str) -> bytes:
    process = PROCESSES.get(name)
    if process is None:
        raise _Refused(PROCESS, f"the process {name} is not registered")
    given = (_Any * question.number).from_address(question.given) if question.number else ()
    made = bytes(process(_data(question), *map(_value, given)))
    if len(made) > MAX_OUTPUT:
        raise _Refused(PROCESS, f"has more than {MAX_OUTPUT} bytes after {name}")
    return made


def _value(found: _Any) -> object:
    """An argument of a process."""
    tag = found.tag & 0xFFFFFFFF
    if tag in (INT, BOOL):
        number = found.high << 64 | found.low
        return bool(number) if tag == BOOL else number
    if tag in (BYTES, TEXT):
        data = ctypes.string_at(found.low, found.high) if found.high else b""
        return data if tag == BYTES else data.decode()
    if tag == REAL:
        return ctypes.c_double.from_buffer_copy(bytes(ctypes.c_uint64(found.low))).value
    raise Beyond


ACTIONS: dict[str, Callable[[_Question, str], bytes]] = {
    "decode": _decode, "zlib": _inflate, "number": _number, "custom": _custom
}  # fmt: skip
