"""manifest.json: what a backup says about itself.

Only the top level is known for certain; what segments and queues are called inside is read tolerantly, and keys that
are not known are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from thawline.errors import FormatError
from thawline.formats.rbak.side_files import Fields, Kind, Text, Whole, doubled, load, shown

FILE = "manifest.json"
FIRST = ("first_timestamp", "first_message_timestamp", "start_timestamp", "min_timestamp")
LAST = ("last_timestamp", "last_message_timestamp", "end_timestamp", "max_timestamp")
TOP_LEVEL = {"backup_id", "queues", "total_segments", "backup_tool_version"}
TOTALS = ("total_segments", "total_messages", "total_bytes")

NAME, KEY, CHECKSUM = Text(1024), Text(4096), Text(256)
COUNT, TIME = Whole(0, 2**63 - 1), Whole(-(2**63), 2**63 - 1)
SEQUENCE = Whole(0, 2**53)
"""A number that others are counted on from."""
SEGMENT: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "key": (KEY, ("key",)),
    "sequence": (SEQUENCE, ("sequence",)),
    "record_count": (COUNT, ("record_count",)),
    "size_bytes": (COUNT, ("size_bytes",)),
    "uncompressed_bytes": (COUNT, ("uncompressed_bytes",)),
    "first_timestamp": (TIME, FIRST),
    "last_timestamp": (TIME, LAST),
    "checksum": (CHECKSUM, ("checksum",)),
}
"""What is read of a segment: what it must be, and the names that it may have, of which the first that is one counts."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A segment as the manifest lists it; None for what it does not say."""

    key: str
    vhost: str = ""
    queue: str = ""
    sequence: int | None = None
    record_count: int | None = None
    size_bytes: int | None = None
    uncompressed_bytes: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    checksum: str = ""

    def as_object(self) -> dict[str, Any]:
        """The entry as the manifest has it."""
        names = ("key", "sequence", "record_count", "size_bytes", "uncompressed_bytes")
        times = {"first_timestamp": self.first_timestamp, "last_timestamp": self.last_timestamp}
        return {name: getattr(self, name) for name in names} | times | {"checksum": self.checksum}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was read, and the segments that it lists."""

    raw: Mapping[str, Any] = field(default_factory=dict)
    """All that it says besides those."""
    segments: tuple[Listed, ...] = ()
    backup_id: str = ""
    """What the backup is called; empty if it does not say."""
    stated: Mapping[str, int] = field(default_factory=dict)
    """Totals."""
    problems: tuple[str, ...] = ()
    """Values that cannot be used, place by place."""

    @property
    def is_interrupted(self) -> bool:
        """Whether the backup never got to its end."""
        return self.raw.get("completed_at") is None

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Totals that it states: name, stated and added up from what it lists."""
        added = {
            "total_segments": len(self.segments),
            "total_messages": _sum(listed.record_count for listed in self.segments),
            "total_bytes": _sum(listed.size_bytes for listed in self.segments),
        }
        for name, value in added.items():
            stated = self.stated.get(name)
            if stated is not None and value is not None:
                yield name, stated, value


def _sum(values: Iterator[int | None]) -> int | None:
    """The sum, if every value is known and it is a number of 64 bits itself."""
    kept = list(values)
    added = sum(value for value in kept if value is not None)
    return added if None not in kept and added <= COUNT.most else None


def is_manifest(data: bytes) -> bool:
    """Whether these bytes are a manifest of a backup."""
    try:
        return bool(TOP_LEVEL & set(load(data, FILE)))
    except FormatError:
        return False


@lru_cache(maxsize=1)  # it is asked for members, for accounts, and by whoever reads single files of a backup
def parse(data: bytes, file: str = FILE) -> Manifest:
    """A manifest from its bytes; `FormatError` if it is none."""
    load(data, file)
    twice = doubled(data)  # before what it holds is in memory, since this takes as much
    raw, fields = load(data, file), Fields()
    queues = raw.get("queues", [])
    if not isinstance(queues, list):
        raise FormatError(f"queues is no array: {shown(queues)}", file=file)
    stated = {name: value for name in TOTALS if (value := fields.take(raw, "", name, COUNT)) is not None}
    backup_id = fields.take(raw, "", "backup_id", NAME) or ""
    segments = tuple(_segments(queues, fields, file))
    for queue in queues:
        queue.pop("segments", None)
    for key in twice:
        fields.note(f"a key stands twice in an object: {shown(key)}")
    return Manifest(raw, segments, backup_id, stated, tuple(fields.told()))


def _segments(queues: list[Any], fields: Fields, file: str) -> Iterator[Listed]:
    for index, queue in enumerate(queues):
        if not isinstance(queue, dict) or not isinstance(queue.get("segments", []), list):
            raise FormatError(f"queues[{index}] is no object with an array of segments: {shown(queue)}", file=file)
        place = f"queues[{index}]."
        facts = {
            "vhost": fields.take(queue, place, "vhost", NAME) or "",
            "queue": fields.take(queue, place, "name", NAME) or "",
        }
        for number, entry in enumerate(queue.get("segments", [])):
            where = f"{place}segments[{number}]"
            if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
                raise FormatError(f"{where} is no object with a key: {shown(entry)}", file=file)
            if (listed := _listed(entry, f"{where}.", facts, fields)) is not None:
                yield listed


def _listed(entry: Mapping[str, Any], place: str, facts: Mapping[str, str], fields: Fields) -> Listed | None:
    """A segment; None where its key can be none of a file."""
    taken: dict[str, Any] = dict(facts)
    for name, (kind, names) in SEGMENT.items():
        for other in names:
            if other in entry and (value := fields.take(entry, place, other, kind)) is not None:
                taken[name] = value
                break
    if "checksum" in taken:
        taken["checksum"] = taken["checksum"].removeprefix("sha256:").lower()
    return Listed(**taken) if "key" in taken else None


def compose(known: Mapping[str, Any], segments: list[Listed]) -> bytes:
    """A manifest of some segments; what is known of the backup besides is kept, totals are added up."""
    queues: dict[tuple[str, str], list[Listed]] = {}
    for listed in segments:
        queues.setdefault((listed.vhost, listed.queue), []).append(listed)
    head = {"backup_id": "", "created_at": None, "completed_at": None, "source_cluster": None}
    head |= {"rabbitmq_version": None, "backup_tool_version": "thawline", "definitions": None}
    totals = {
        "total_messages": sum(listed.record_count or 0 for listed in segments),
        "total_bytes": sum(listed.size_bytes or 0 for listed in segments),
        "total_segments": len(segments),
    }
    old = {_place(item): item for item in known.get("queues", []) if isinstance(item, dict)}
    made = [_queue(old.get(place, {}), *place, found) for place, found in queues.items()]
    return orjson.dumps({**head, **known, "queues": made, **totals}, option=orjson.OPT_INDENT_2) + b"\n"


def _place(queue: Mapping[str, Any]) -> tuple[str, str]:
    fields = Fields()
    return fields.take(queue, "", "vhost", NAME) or "", fields.take(queue, "", "name", NAME) or ""


def _queue(old: Mapping[str, Any], vhost: str, name: str, segments: list[Listed]) -> dict[str, Any]:
    times = [
        time for listed in segments for time in (listed.first_timestamp, listed.last_timestamp) if time is not None
    ]
    facts = {
        "name": name,
        "vhost": vhost,
        "message_count": sum(listed.record_count or 0 for listed in segments),
        "first_message_timestamp": min(times, default=None),
        "last_message_timestamp": max(times, default=None),
    }
    return {**old, **facts, "segments": [listed.as_object() for listed in segments]}
