"""A smaller backup: some of the messages, without some of their headers. All else stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from json import JSONDecoder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters import Filter
from thawline.formats.rbak.write import Coding, RbakWriter, SegmentBuilder
from thawline.outputs import replacing

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile

DECODER = JSONDecoder(parse_int=str, parse_float=str)
"""Numbers stay text: their values do not matter, and thousands of digits take long."""
COLUMNS = ("vhost", "queue", "backed_up_at_ms", "record_json", "headers", "headers_json", "headers_at")


@dataclass(slots=True)
class Rewritten:
    """How many messages were read, kept and edited."""

    read: int = 0
    kept: int = 0
    edited: int = 0
    """Messages that lost a header."""
    headers: int = 0
    """Headers that were dropped."""
    untouched: int = 0
    """Messages whose headers have no known shape, so that none could be dropped."""


@dataclass(frozen=True, slots=True)
class Message:
    """A record on its way into another segment."""

    document: bytes
    vhost: str
    queue: str
    backed_up_at: int


def chosen(files: Iterable[OpenFile], where: Filter, drop_headers: Sequence[str], done: Rewritten) -> Iterator[Message]:
    """The messages that meet the conditions, without the headers whose names match one of the patterns."""
    patterns = [pattern.lower() for pattern in drop_headers]
    for cold in files:
        bound = cold.bound(where)
        for batch in cold.batches({*COLUMNS, *bound.columns}):
            done.read += batch.num_rows
            for kept in bound.matching([batch]):
                yield from _messages(kept, patterns, done)


def _messages(batch: pa.RecordBatch, patterns: list[str], done: Rewritten) -> Iterator[Message]:
    done.kept += batch.num_rows
    documents = batch["record_json"].cast(pa.binary()).to_pylist()
    for row in _rows_with(batch, patterns, done):
        documents[row], dropped = without(
            documents[row], batch["headers_json"][row].as_py(), batch["headers_at"][row].as_py(), patterns
        )
        done.edited += dropped > 0
        done.headers += dropped
    names = (batch[name].to_pylist() for name in ("vhost", "queue", "backed_up_at_ms"))
    for document, vhost, queue, at in zip(documents, *names, strict=True):
        yield Message(document, vhost or "", queue or "", at or 0)


def _rows_with(batch: pa.RecordBatch, patterns: list[str], done: Rewritten) -> list[int]:
    """Rows that have a header to drop. Each distinct key is compared once: few keys occur in many rows."""
    headers = batch["headers"]
    if not patterns:
        return []
    done.untouched += pc.sum(pc.and_(pc.is_null(headers), pc.is_valid(batch["headers_json"]))).as_py() or 0
    keys = pc.struct_field(pc.list_flatten(headers), 0)
    meant = [key for key in pc.unique(keys).to_pylist() if is_meant(key, patterns)]
    found = pc.filter(pc.list_parent_indices(headers), pc.is_in(keys, pa.array(meant, pa.string())))
    rows: list[int] = pc.unique(found).to_pylist()
    return rows


def is_meant(key: str, patterns: Iterable[str]) -> bool:
    """Whether a header is to be dropped, in whatever case it is spelt: a secret must not slip through."""
    return any(fnmatchcase(key.lower(), pattern) for pattern in patterns)


def without(document: bytes, headers: str, at: int, patterns: Iterable[str]) -> tuple[bytes, int]:
    """A record without some of its headers, everything else verbatim; and the number of dropped headers.

    >>> without(b'{"headers":[["a",1],["B",2]]}', '[["a",1],["B",2]]', 11, ["b"])
    (b'{"headers":[["a",1]]}', 1)
    """
    entries = list(header_texts(headers))
    kept = [text for key, text in entries if not is_meant(key, patterns)]
    edited = (headers[0] + ",".join(kept) + headers[-1]).encode()
    return document[:at] + edited + document[at + len(headers.encode()) :], len(entries) - len(kept)


def header_texts(text: str) -> Iterator[tuple[str, str]]:
    """Key and verbatim text of each header. The JSON has been checked, and its shape is one of the known ones.

    >>> list(header_texts('[["a",1], {"key": "b", "value": 2}]')), list(header_texts('{"a" : 1,"b":2}'))
    ([('a', '["a",1]'), ('b', '{"key": "b", "value": 2}')], [('a', '"a" : 1'), ('b', '"b":2')])
    """
    at = _after_blanks(text, 1)
    while text[at] not in "]}":
        start = at
        key, at = DECODER.raw_decode(text, at)
        if text[0] == "{":
            _, at = DECODER.raw_decode(text, _after_blanks(text, _after_blanks(text, at) + 1))
        else:
            key = key["key"] if isinstance(key, dict) else key[0]
        yield key, text[start:at]
        at = _after_blanks(text, at)
        at = _after_blanks(text, at + 1) if text[at] == "," else at


def _after_blanks(text: str, at: int) -> int:
    while text[at] in " \t\n\r":
        at += 1
    return at


def to_backup(messages: Iterable[Message], target: Path, **options: Any) -> int:
    """Write messages as a new backup; its number of segments."""
    with RbakWriter(target, **options) as writer:
        for message in messages:
            writer.append_json(
                message.document, vhost=message.vhost, queue=message.queue, backed_up_at=message.backed_up_at
            )
    return len(writer.segments)


def to_segment(messages: Iterable[Message], target: Path, coding: Coding, *, overwrite: bool) -> int:
    """Write messages as one segment; its size in bytes."""
    builder = SegmentBuilder(coding)
    with replacing(target, overwrite=overwrite) as file:
        for message in messages:
            builder.add(message.document, message.backed_up_at)
        return sum(file.write(part) for part in builder.finish())
