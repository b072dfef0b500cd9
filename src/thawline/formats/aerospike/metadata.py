"""metadata.yaml, which the Backup Service writes beside a backup: a few counts, read as if somebody hostile wrote them.

YAML can name any type, repeat itself through anchors and merge keys until memory ends, and nest until a parser gives
up. Nothing of that is in such a file, so nothing of it is read here: what is taken are the events of one flat mapping,
of which the fields below are typed and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LARGEST = 16 << 10
"""Bytes that are read; the service writes some hundred."""
DEEPEST = 8
"""Levels of nesting in what is passed over."""
COUNTS = ("record-count", "byte-count", "file-count", "secondary-index-count", "udf-count")
NUMBER = re.compile(r"0|[1-9][0-9]{0,63}")
MOST = (1 << 63) - 1


class NoMetadata(ValueError):
    """Why the file is none that the service wrote."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the service says about a backup."""

    namespace: str
    """Empty where it is not said."""
    counts: Mapping[str, int]


def metadata_of(text: bytes) -> Metadata:
    r"""The fields of the file; `NoMetadata` with the reason if one of them is not what it should be.

    >>> metadata_of(b"namespace: test\nrecord-count: 3\n").counts
    {'record-count': 3}
    """
    if len(text) > LARGEST:
        raise NoMetadata(f"it has {len(text)} bytes, and {LARGEST} are the most that are read")
    fields = _fields(text)
    if "record-count" not in fields:
        raise NoMetadata("it has no record-count")
    namespace = fields.get("namespace")
    if namespace is not None and not isinstance(namespace.value, str):
        raise NoMetadata("namespace is no text")
    counts = {name: _count(name, fields[name]) for name in COUNTS if name in fields}
    return Metadata(str(namespace.value) if namespace else "", counts)


@dataclass(frozen=True, slots=True)
class _Field:
    value: str | None
    """None where it is a list or a mapping."""
    is_plain: bool
    """Whether it stands without quotes, as numbers do."""


def _count(name: str, field: _Field) -> int:
    if field.value is None or not field.is_plain or not NUMBER.fullmatch(field.value):
        raise NoMetadata(f"{name} is no count")
    if int(field.value) > MOST:
        raise NoMetadata(f"{name} does not fit 64 bits")
    return int(field.value)


def _fields(text: bytes) -> dict[str, _Field]:
    """The fields of the mapping that the file is, as they are written."""
    events = _events(text)
    found: dict[str, _Field] = {}
    if type(next(events, None)).__name__ != "MappingStartEvent":
        raise NoMetadata("it is no mapping of names to values")
    while (name := _next(events)) is not None:
        value = _next(events)
        if name.value is None or value is None:
            raise NoMetadata("a name in it is no text")
        if name.value in found:
            raise NoMetadata(f"it says {name.value[:64]!r} more than once")
        found[name.value] = value
    return found


def _next(events: Iterator[Any]) -> _Field | None:
    """The scalar or the collection that comes next; None at the end of the mapping."""
    event = next(events)
    match type(event).__name__:
        case "ScalarEvent":
            return _Field(event.value, event.style is None)
        case "MappingEndEvent":
            return None
    depth = 1
    while depth:
        name = type(next(events)).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > DEEPEST:
            raise NoMetadata(f"it is nested deeper than {DEEPEST} levels")
    return _Field(None, is_plain=False)


def _events(text: bytes) -> Iterator[Any]:
    """What is in the first document of the file; its parser is asked for no more than is looked at."""
    import yaml  # noqa: PLC0415 - only backups of the service have such a file

    try:
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            if isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise NoMetadata("it has anchors, aliases or tags, which the service does not write")
            if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                yield event
    except yaml.YAMLError as error:
        raise NoMetadata(f"it is no YAML: {getattr(error, 'problem', None) or 'a character that is none'}") from None
    except (ArithmeticError, RecursionError, ValueError) as error:
        raise error if isinstance(error, NoMetadata) else NoMetadata("it is no YAML") from None
