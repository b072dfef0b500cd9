"""A manifest made from the segments that are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from thawline.checksums import sha256
from thawline.errors import ThawlineError
from thawline.folder import Folder
from thawline.formats.rbak import Rbak, manifest
from thawline.formats.rbak.backup import Backup
from thawline.formats.rbak.manifest import Listed
from thawline.formats.rbak.reading import Reading
from thawline.model import Finding
from thawline.source import Source, open_source

PLACE = ["vhost", "queue"]


@dataclass(slots=True)
class Rebuilt:
    """A manifest, and what is to be said about it."""

    data: bytes = b""
    segments: list[Listed] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Files that the backup tool would refuse, and why."""
    mixed: list[str] = field(default_factory=list)
    """Segments with messages of several queues, which are listed under that of the first."""


def rebuild(path: str, *, backup_id: str = "", completed_at: int | None = None) -> Rebuilt:
    """The manifest of a folder of segments. What an old one says besides its list is kept."""
    folder, done = Folder(path), Rebuilt()
    for member in Rbak().members(folder):
        rbak: Any = member.format
        done.segments += _entries(member.path, rbak, done)
    done.segments = list(_numbered(done.segments))
    old = Backup(folder).manifest
    known: dict[str, Any] = dict(old.raw) if old else {}
    times = [time for listed in done.segments for time in (listed.first_timestamp, listed.last_timestamp) if time]
    known["created_at"] = known.get("created_at") or min(times, default=None)
    known["backup_id"] = backup_id or known.get("backup_id") or folder.name
    if completed_at is not None:
        known["completed_at"] = completed_at
    done.data = manifest.compose(known, done.segments)
    return done


def _entries(path: str, rbak: Rbak, done: Rebuilt) -> Iterator[Listed]:
    """The entry of one file; none if the tool would refuse it."""
    try:
        with open_source(path) as source:
            reading = rbak.reading(source, PLACE)
            if isinstance(reading, Reading):
                yield from _entry(source, rbak, reading, done)
            else:
                done.left_out.append((rbak.key, f"{reading.code.id} {reading.message}"))
    except ThawlineError as error:
        done.left_out.append((rbak.key, str(error)))


def _entry(source: Source, rbak: Rbak, reading: Reading, done: Rebuilt) -> Iterator[Listed]:
    places = _places(reading)
    problem: Finding | None = next((found for found in reading.remarks() if found.severity == "error"), None)
    if problem is not None:
        done.left_out.append((rbak.key, f"{problem.code.id} {problem.message}"))
        return
    old = rbak.listed or Listed(rbak.key)
    if len(places) > 1:
        done.mixed.append(rbak.key)
    vhost, queue = places[0] if places else (old.vhost, old.queue)
    header = reading.header
    yield Listed(
        old.key,
        vhost,
        queue,
        old.sequence,
        header.num_records,
        source.size,
        reading.ending.size,
        header.first_timestamp,
        header.last_timestamp,
        sha256(source.view(0, source.size)).hex(),
    )


def _places(reading: Reading) -> list[tuple[str, str]]:
    """Virtual hosts and queues of the messages, in the order in which they appear."""
    places: dict[tuple[str, str], None] = {}
    for batch in reading.batches():
        found = pa.Table.from_batches([batch]).group_by(PLACE, use_threads=False).aggregate([])
        for row in found.to_pylist():
            places.setdefault((row["vhost"] or "", row["queue"] or ""))
    return list(places)


def _numbered(segments: list[Listed]) -> Iterator[Listed]:
    """The segments, those without a number with the next one of their queue."""
    last: dict[tuple[str, str], int] = {}
    for listed in segments:
        place = (listed.vhost, listed.queue)
        number = listed.sequence if listed.sequence is not None else last.get(place, 0) + 1
        last[place] = max(number, last.get(place, 0))
        yield replace(listed, sequence=number)
