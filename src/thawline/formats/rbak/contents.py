"""What a segment holds, opened for a look at its fields."""

from __future__ import annotations

from thawline.codecs import decompress_chunks, rbak_codec
from thawline.errors import FormatError
from thawline.formats.contract import Content
from thawline.formats.rbak.lz4_prefix import decoded_prefix
from thawline.formats.rbak.segment import END_MAGIC, FOOTER, HEADER, LEAST, header_of
from thawline.model import Span
from thawline.source import Source


def content_of(source: Source, span: Span, max_bytes: int) -> Content | None:
    """The records of a segment, also of one without an end; None where the header cannot be read."""
    if span.size < LEAST:
        return None
    try:
        header = header_of(bytes(source.view(span.start, span.start + HEADER)))
    except FormatError:
        return None
    is_closed = source.view(span.end - len(END_MAGIC), span.end) == END_MAGIC
    stored = Span(span.start + HEADER, span.end - FOOTER * is_closed)
    content = Content("payload", "rbak_payload", (), stored)
    if header.compression == "none":
        return content
    data = source.view(stored.start, stored.end)
    codec = rbak_codec(header.compression, data)
    opened = content.decompressed(header.compression, decompress_chunks(codec, data, max_bytes=max_bytes))
    if opened.problem and codec == "lz4_sized_block":  # the library gives all of a block or nothing
        return content.decompressed(header.compression, decoded_prefix(data, max_bytes))
    return opened
