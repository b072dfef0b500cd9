"""manifest.json, and other JSON beside segments, read with bounds.

Only the top level of a manifest is documented. What segments and queues are called inside it is read tolerantly, and
unknown keys are kept. `load` bounds what reading costs, whatever the file says. `Fields` takes single values out of
objects, each checked by a rule; a value that breaks its rule is None, and noted with its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import orjson

from thawline.errors import FormatError
from thawline.wording import counted, grouped

FILE = "manifest.json"

LARGEST = 64 << 20
"""The most bytes of such a file, decompressed."""
MOST_VALUES = 2 << 20
"""The most values of such a file. Each takes a hundred bytes of memory or more, and a segment has about ten."""
DEEPEST = 128
NAMED = 100
"""The most problems of a file that are described; the rest is counted."""
SHOWN = 40
"""The most characters of a value that are shown."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A segment as the manifest lists it; None for what it does not state."""

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


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was read, and the segments that it lists."""

    raw: Mapping[str, Any] = field(default_factory=dict)
    """All that it states besides the segments."""
    segments: tuple[Listed, ...] = ()
    backup_id: str = ""
    """The name of the backup; empty if it is not stated."""
    stated: Mapping[str, int] = field(default_factory=dict)
    """Totals."""
    problems: tuple[str, ...] = ()
    """Values that cannot be used, with their places."""

    @property
    def is_interrupted(self) -> bool:
        """Whether the backup was not completed."""
        return self.raw.get("completed_at") is None

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Each stated total that can be checked: its name, its value, and the sum of what is listed."""
        sums = {
            "total_segments": len(self.segments),
            "total_messages": _sum(listed.record_count for listed in self.segments),
            "total_bytes": _sum(listed.size_bytes for listed in self.segments),
        }
        for name, value in sums.items():
            stated = self.stated.get(name)
            if stated is not None and value is not None:
                yield name, stated, value


def _sum(values: Iterator[int | None]) -> int | None:
    """The sum; None if a value is not known or the sum exceeds 64 bits."""
    kept = list(values)
    added = sum(value for value in kept if value is not None)
    return added if None not in kept and added <= COUNT.most else None


# Values and their rules.


class Rule(Protocol):
    """What a value must be."""

    def refusal(self, value: object) -> str:
        """What a value is not; empty if it keeps the rule."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """Text of at most this number of characters."""

    most: int

    def refusal(self, value: object) -> str:
        """What a value is not."""
        if not isinstance(value, str):
            return "no text"
        is_long = len(value) > self.most
        return f"text of {counted(len(value), 'character')}, {grouped(self.most)} are the most" if is_long else ""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range, both ends included."""

    least: int
    most: int

    def refusal(self, value: object) -> str:
        """What a value is not."""
        if not isinstance(value, int) or isinstance(value, bool):
            return "no whole number of 64 bits"
        return "" if self.least <= value <= self.most else f"not within {self.least} and {self.most}"


@dataclass(slots=True)
class Fields:
    """Takes values out of objects, and notes those that break their rule."""

    problems: list[str] = field(default_factory=list)
    """The first of them: place, rule, and value."""
    count: int = 0

    def take(self, entry: Mapping[str, Any], place: str, name: str, rule: Rule) -> Any:
        """The value of a name; None if it is missing, null or breaks the rule."""
        value = entry.get(name)
        if value is None:
            return None
        if not (reason := rule.refusal(value)):
            return value
        self.note(f"{place}{name} is {reason}: {shown(value)}")
        return None

    def note(self, problem: str) -> None:
        """Keep a problem, or count it."""
        self.count += 1
        if len(self.problems) < NAMED:
            self.problems.append(problem)

    def noted(self) -> Iterator[str]:
        """The problems; the last line may say how many more there are."""
        yield from self.problems
        if self.count > len(self.problems):
            yield f"{grouped(self.count - len(self.problems))} more"


def shown(value: object) -> str:
    """The start of a value as JSON; of a container only its kind and size, since writing it out may take long."""
    if isinstance(value, dict | list) and value:
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {counted(len(value), 'item')}"
    text = json.dumps(value[: SHOWN + 1] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


NAME, KEY, CHECKSUM = Text(1024), Text(4096), Text(256)
COUNT, TIME = Whole(0, 2**63 - 1), Whole(-(2**63), 2**63 - 1)
SEQUENCE = Whole(0, 2**53)
"""Others are counted on from it, so it is smaller than a number of 64 bits."""
TOP_LEVEL = {"backup_id", "queues", "total_segments", "backup_tool_version"}
TOTALS = ("total_segments", "total_messages", "total_bytes")
FIRST = ("first_timestamp", "first_message_timestamp", "start_timestamp", "min_timestamp")
LAST = ("last_timestamp", "last_message_timestamp", "end_timestamp", "max_timestamp")
SEGMENT: dict[str, tuple[Rule, tuple[str, ...]]] = {
    "key": (KEY, ("key",)),
    "sequence": (SEQUENCE, ("sequence",)),
    "record_count": (COUNT, ("record_count",)),
    "size_bytes": (COUNT, ("size_bytes",)),
    "uncompressed_bytes": (COUNT, ("uncompressed_bytes",)),
    "first_timestamp": (TIME, FIRST),
    "last_timestamp": (TIME, LAST),
    "checksum": (CHECKSUM, ("checksum",)),
}
"""The fields of a segment: their rule, and the names that they may have. The first name with a usable value counts."""


# Reading.


def load(data: bytes, file: str) -> dict[str, Any]:
    """The object that a file holds; `FormatError` says why it cannot be read."""
    values = 1 + data.count(b",") + data.count(b"[") + data.count(b"{")
    if values > MOST_VALUES:
        raise FormatError(f"may hold {grouped(values)} values, {grouped(MOST_VALUES)} are the most", file=file)
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"is not JSON: {error}", file=file, offset=error.pos) from error
    if not isinstance(found, dict):
        raise FormatError("is no JSON object", file=file)
    if _is_deep(found):
        raise FormatError(f"is nested more than {DEEPEST} levels deep", file=file)
    return found


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        lists = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in lists for item in items]
        if not level:
            return False
    return True


def _duplicate_keys(data: bytes) -> list[str]:
    """Keys that an object of a loadable file has twice, up to a limit; readers disagree on which value counts."""
    found: dict[str, None] = {}

    def note(pairs: list[tuple[str, None]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs) and len(found) < NAMED:
            seen: set[str] = set()
            found.update(dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]

    # Numbers are not converted: thousands of digits take long.
    json.loads(data, object_pairs_hook=note, parse_int=len, parse_float=len)
    return list(found)[:NAMED]


def is_manifest(data: bytes) -> bool:
    """Whether these bytes are a manifest of a backup."""
    try:
        return bool(TOP_LEVEL & set(load(data, FILE)))
    except FormatError:
        return False


@lru_cache(maxsize=1)  # the members, the accounts and single files of a backup each need it
def parse(data: bytes, file: str = FILE) -> Manifest:
    """A manifest from its bytes; `FormatError` if they are none."""
    load(data, file)
    duplicates = _duplicate_keys(data)  # before the values are in memory, since this takes as much
    raw, fields = load(data, file), Fields()
    queues = raw.get("queues", [])
    if not isinstance(queues, list):
        raise FormatError(f"queues is no array: {shown(queues)}", file=file)
    stated = {name: value for name in TOTALS if (value := fields.take(raw, "", name, COUNT)) is not None}
    backup_id = fields.take(raw, "", "backup_id", NAME) or ""
    segments = tuple(_segments(queues, fields, file))
    for queue in queues:
        queue.pop("segments", None)
    for key in duplicates:
        fields.note(f"a key stands twice in an object: {shown(key)}")
    return Manifest(raw, segments, backup_id, stated, tuple(fields.noted()))


def _segments(queues: list[Any], fields: Fields, file: str) -> Iterator[Listed]:
    for index, queue in enumerate(queues):
        if not isinstance(queue, dict) or not isinstance(queue.get("segments", []), list):
            raise FormatError(f"queues[{index}] is no object with an array of segments: {shown(queue)}", file=file)
        place = f"queues[{index}]."
        vhost, name = _queue_name(queue, fields, place)
        for number, entry in enumerate(queue.get("segments", [])):
            where = f"{place}segments[{number}]"
            if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
                raise FormatError(f"{where} is no object with a key: {shown(entry)}", file=file)
            if (listed := _listed(entry, f"{where}.", {"vhost": vhost, "queue": name}, fields)) is not None:
                yield listed


def _queue_name(queue: Mapping[str, Any], fields: Fields, place: str = "") -> tuple[str, str]:
    """Virtual host and name of a queue."""
    return fields.take(queue, place, "vhost", NAME) or "", fields.take(queue, place, "name", NAME) or ""


def _listed(entry: Mapping[str, Any], place: str, queue: Mapping[str, str], fields: Fields) -> Listed | None:
    """A segment; None where its key cannot be used."""
    taken: dict[str, Any] = dict(queue)
    for name, (rule, names) in SEGMENT.items():
        for other in names:
            if other in entry and (value := fields.take(entry, place, other, rule)) is not None:
                taken[name] = value
                break
    if "checksum" in taken:
        taken["checksum"] = taken["checksum"].removeprefix("sha256:").lower()
    return Listed(**taken) if "key" in taken else None


# Writing.


def compose(known: Mapping[str, Any], segments: list[Listed]) -> bytes:
    """A manifest that lists segments. What else is known of the backup is kept; totals are computed."""
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
    old = {_queue_name(item, Fields()): item for item in known.get("queues", []) if isinstance(item, dict)}
    made = [_queue(old.get(name, {}), *name, found) for name, found in queues.items()]
    return orjson.dumps({**head, **known, "queues": made, **totals}, option=orjson.OPT_INDENT_2) + b"\n"


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
    entries = [{name: getattr(listed, name) for name in SEGMENT} for listed in segments]
    return {**old, **facts, "segments": entries}
