"""The generated parsers by the name of their spec, with every error they raise translated.

ksc's parsers raise what the runtime or Python raises: end of stream without a place,
validation errors with a place in a substream, `UnicodeDecodeError`, `ValueError`. Here all
of them become one `FormatError` with file, byte and spec path. Where the error itself names
no place, the same bytes are read once more with the build that records positions, and the
field that has a start and no end is the one that failed.
"""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import kaitaistruct

from thawline.errors import FormatError, ThawlineError, Truncated
from thawline.generated.kernels.tables import INTRINSICS
from thawline.wording import counted, grouped


@dataclass(frozen=True, slots=True)
class Place:
    """Where reading failed: a byte of the data, and the field as `path` in `spec`."""

    offset: int
    spec: str
    path: str


PARSE_ERRORS = (
    kaitaistruct.KaitaiStructError,
    EOFError,
    UnicodeDecodeError,
    ValueError,  # `.to_i` of text that is no number
    OverflowError,
    struct.error,
    AttributeError,  # a field that an `if` left out, used by an expression of a damaged unit
    TypeError,
    IndexError,
    RecursionError,
)
"""What bytes can make a parser raise. A lack of memory is none of it: it says nothing about the file."""


def class_name(spec: str) -> str:
    """The name ksc gives a class: `kafka_record_batch` becomes `KafkaRecordBatch`."""
    return "".join(part.capitalize() for part in spec.split("_"))


def parser(spec: str) -> type[Any]:
    """The plain parser of a spec, or of a type in it (`rbf_file::entry`)."""
    return _load("parsers", spec)


def structure(spec: str) -> type[Any]:
    """The read-write parser of a spec, which records the position of every field."""
    return _load("structures", spec)


def has_structure(spec: str) -> bool:
    """Whether the parser of a spec was generated; that of a spec which is compiled at run time was not."""
    module = spec.partition("::")[0]
    return importlib.util.find_spec(f"thawline.generated.structures.{module}") is not None


def _load(build: str, spec: str) -> type[Any]:
    module, *types = spec.split("::")
    found: Any = importlib.import_module(f"thawline.generated.{build}.{module}")
    for name in (module, *types):
        found = getattr(found, class_name(name))
    loaded: type[Any] = found
    return loaded


def parse(spec: str, data: bytes, *params: object, file: str | None = None, base: int = 0) -> Any:
    r"""One structure, read from the start of `data`, which lies at byte `base` of `file`.

    >>> parse("rbf_address", bytes(8)).is_null
    True
    >>> parse("rbf_address", b"\x04", file="a.rbf", base=0x10)
    Traceback (most recent call last):
    ...
    thawline.errors.Truncated: a.rbf: byte 0x10: needs 8 bytes, 1 left (rbf_address: /seq/0)
    """
    with translated(spec, data, *params, file=file, base=base):
        return parser(spec)(*params, kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data)))


@contextmanager
def translated(spec: str, data: bytes, *params: object, file: str | None = None, base: int = 0) -> Iterator[None]:
    """Turn what a generated parser raises over `data` into `FormatError`."""
    try:
        yield
    except ThawlineError:
        raise
    except PARSE_ERRORS as error:
        kind = Truncated if isinstance(error, EOFError) else FormatError
        place = locate(spec, data, *params)
        if place is None:
            raise kind(reason_of(error), file=file) from error
        raise kind(reason_of(error), file=file, offset=base + place.offset, spec=place.spec, path=place.path) from error


def reason_of(error: BaseException) -> str:
    """What is wrong, in a person's words and without the place."""
    match error:
        case kaitaistruct.EndOfStreamError():
            return f"needs {counted(error.bytes_needed, 'byte')}, {grouped(error.bytes_available)} left"
        case kaitaistruct.ValidationNotEqualError():
            return f"is {_shown(error.actual)}, must be {_shown(error.expected)}"
        case kaitaistruct.ValidationLessThanError():
            return f"is {_shown(error.actual)}, must be at least {_shown(error.min)}"
        case kaitaistruct.ValidationGreaterThanError():
            return f"is {_shown(error.actual)}, must be at most {_shown(error.max)}"
        case kaitaistruct.ValidationNotInEnumError():
            return f"is {_shown(error.actual)}, which names nothing"
        case kaitaistruct.ValidationFailedError():
            return f"is {_shown(error.actual)}, which breaks the rule of its spec"
        case kaitaistruct.InvalidArgumentError() | kaitaistruct.NoTerminatorFoundError() | UnicodeDecodeError():
            return str(error)
        case RecursionError():
            return "is nested too deeply"
        case ValueError():
            return f"is no number: {str(error).partition(': ')[2] or error}"  # without what Python calls it
        case _:
            return f"cannot be read: {error}"


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return "0x" + value[:16].hex() + ("…" if len(value) > 16 else "")  # noqa: PLR2004 - as much as fits a line
    if isinstance(value, kaitaistruct.KaitaiStruct):
        return _shown(getattr(value, "value", type(value).__name__))
    return str(value)


def locate(spec: str, data: bytes, *params: object) -> Place | None:
    """The field at which reading `data` fails; None if it does not fail."""
    root, error = read(spec, data, *params)
    if error is None:
        return None
    part = last_part(root, 0, error)
    while part.is_half_read:
        part = last_part(part.value, part.origin, error)
    return Place(part.start, part.spec, part.path)


def read(spec: str, data: bytes, *params: object) -> tuple[Any, BaseException | None]:
    """A structure with the positions of its fields, as far as it could be read, and what stopped it."""
    root = structure(spec)(*params, kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data)))
    try:
        root._read()
        root._fetch_instances()
    except PARSE_ERRORS as error:
        return root, error
    return root, None


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a structure, or one item of a repeated field, as far as it was read."""

    name: str
    index: int | None
    start: int
    end: int
    """After its last byte; of a field that was not read to its end, after the last byte that could be its own."""
    value: Any
    spec: str
    path: str
    origin: int
    """The byte that positions inside the value count from, where it is a structure."""
    is_open: bool
    """Whether reading stopped inside it."""

    @property
    def is_structure(self) -> bool:
        """Whether it has fields of its own.

        A varint or a token is a structure to ksc; to a person it is one value of the structure that holds it.
        """
        if not isinstance(self.value, kaitaistruct.ReadWriteKaitaiStruct):
            return False
        return _spec(self.value) not in INTRINSICS or _spec(self.value) == self.spec

    @property
    def is_half_read(self) -> bool:
        """Whether it is a structure of which reading has begun and not ended."""
        return self.is_structure and self.value._dirty and any("start" in span for span in self.value._debug.values())


def parts(node: Any, origin: int) -> Iterator[Part]:
    """The fields of a structure that were read to their end, repeated ones item by item, in the spec's order.

    Instances are not among them: what they look at lies in a field as well.
    """
    for name in node.SEQ_FIELDS:
        span = node._debug.get(name, {})
        for index, item in enumerate(span.get("arr", ())):
            if "end" in item:
                yield _part(node, origin, name, index)
        if "arr" not in span and "end" in span:
            yield _part(node, origin, name, None)


def last_part(node: Any, origin: int, error: BaseException) -> Part:
    """The field or instance that was being read when an error stopped it."""
    started = [name for name, span in node._debug.items() if "start" in span]
    # A failed `valid` closes the field before it raises, so look for what is open and else take the last. Of several
    # open ones the last is the innermost: an instance that the size of an earlier field uses.
    name = next((name for name in reversed(started) if "end" not in node._debug[name]), started[-1])
    items = node._debug[name].get("arr")
    # Where the stream ended, all that was left of it may be the field's. It may not have been read: the runtime asks
    # for many bytes only if they are there.
    stop = node._io.size() if isinstance(error, EOFError) else node._io.pos()
    return _part(node, origin, name, len(items) - 1 if items else None, origin + stop)


def _part(node: Any, origin: int, name: str, index: int | None, stop: int = 0) -> Part:
    span: dict[str, Any] = node._debug[name]
    value: Any = getattr(node, name, None)
    if index is not None:
        span, value = span["arr"][index], value[index] if index < len(value) else None
    # A bit field that moves the stream nowhere came out of the byte read before it.
    is_buffered_bits = isinstance(value, int) and span["start"] == span.get("end")
    start = origin + span["start"] - is_buffered_bits
    return Part(
        name=name.removeprefix("_m_"),
        index=index,
        start=start,
        end=origin + span["end"] if "end" in span else max(start, stop),
        value=value,
        spec=_spec(node),
        path=_path(node, name),
        origin=origin if getattr(value, "_io", None) is node._io else start,
        is_open="end" not in span,
    )


def _spec(node: Any) -> str:
    return type(node).__module__.rpartition(".")[2]


def _path(node: Any, name: str) -> str:
    """Spec path of a field, the way ksc writes it: `/types/body/seq/3`."""
    nesting = "".join(f"/types/{_snake(part)}" for part in type(node).__qualname__.split(".")[1:])
    fields: list[str] = node.SEQ_FIELDS
    return (
        f"{nesting}/seq/{fields.index(name)}" if name in fields else f"{nesting}/instances/{name.removeprefix('_m_')}"
    )


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
