"""What a batch or a compressed message holds, opened for a look at its fields."""

from __future__ import annotations

from dataclasses import replace

from thawline import codecs
from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.errors import CodecError
from thawline.formats.contract import Content
from thawline.formats.kafka.heads import HEAD_SIZE, LATEST_MAGIC, MESSAGES, Heads, head_at
from thawline.model import Span
from thawline.source import Source


def content_of(source: Source, span: Span, max_bytes: int) -> Content | None:
    """The records of a batch, or the messages inside a compressed one; None where the head cannot be read."""
    head = head_at(source, span.start)
    if not isinstance(head, Heads):
        return None
    facts = head.rows.to_pylist()[0]
    if head.is_legacy:
        return _messages(source, Span(head.start, head.end), facts["compression"], max_bytes)
    stored = Span(head.start + HEAD_SIZE, head.end)
    content = Content("records", "kafka_records", (facts["num_records"],), stored)
    if facts["compression"] == "none":
        return content
    return _opened(content, facts["compression"], LATEST_MAGIC, source.view(stored.start, stored.end), max_bytes)


def _messages(source: Source, span: Span, compression: str, max_bytes: int) -> Content | None:
    """A message that is not compressed is a record, and has no other inside."""
    if compression == "none":
        return None
    message = next(columns.scan(MESSAGES, source.view(span.start, span.end), columns=("value", "magic")))
    assert isinstance(message, Chunk)  # noqa: S101 - the head was read from the same bytes
    magic, value = (message.batch[name][0].as_py() for name in ("magic", "value"))
    content = Content("value", "kafka_segment", (), span)
    return _opened(content, compression, magic, memoryview(value), max_bytes) if value else None


def _opened(content: Content, compression: str, magic: int, data: memoryview, max_bytes: int) -> Content:
    try:
        codec = codecs.kafka_codec(compression, magic, data)
    except CodecError as error:
        return replace(content, data=b"", codec=compression, problem=error.message)
    return content.decompressed(compression, codecs.decompress_chunks(codec, data, max_bytes=max_bytes))
