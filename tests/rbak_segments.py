"""Segments to test with, built by construct from tools/samples, and what a scan says of them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import lz4.block
import lz4.frame
import zstandard

import thawline
from thawline.model import Finding, Report, Run
from tools.samples.rbak import NONE, RECORD, Codec, Json, Segment

CODECS: dict[str, Codec] = {
    "none": NONE,
    "zstd": Codec("zstd", "zstd", "zst", zstandard.ZstdCompressor(write_content_size=False).compress),
    "lz4 block": Codec("lz4", "lz4_sized_block", "lz4", lz4.block.compress),
    "lz4 frame": Codec("lz4", "lz4", "lz4", lz4.frame.compress),
}
"""With matches and several blocks, unlike those of the golden files."""
START = 1712756400123


def records(count: int, body: bytes = b"message") -> list[Json]:
    """Messages a second apart."""
    return [
        RECORD | {"body": list(body + b" %d" % number), "delivery_tag": number, "backed_up_at": START + 1000 * number}
        for number in range(count)
    ]


def segment(messages: Sequence[Json], codec: Codec = NONE) -> bytes:
    """A valid segment of some records."""
    return Segment(messages, codec).build()


def sealed(covered: bytes) -> bytes:
    """A header and payload of any bytes, with the right footer."""
    return covered + zlib.crc32(covered).to_bytes(4, "little") + b"KABR"


def stored(*documents: bytes, count: int | None = None, times: tuple[int, int] = (START, START)) -> bytes:
    """A segment of documents of any bytes, not compressed."""
    payload = b"".join(len(document).to_bytes(4, "little") + document for document in documents)
    return sealed(head(0, len(documents) if count is None else count, times) + payload)


def head(compression: int, count: int, times: tuple[int, int] = (START, START), version: int = 1) -> bytes:
    """The 32 bytes of a header, by the page's table."""
    numbers = count.to_bytes(8, "little") + b"".join(time.to_bytes(8, "little", signed=True) for time in times)
    return b"RBAK" + bytes([version, compression, 0, 0]) + numbers


def document(**changes: Any) -> bytes:
    """The JSON of the page's record, changed."""
    return json.dumps(RECORD | changes, separators=(",", ":"), ensure_ascii=False).encode()


def verified(data: bytes, **options: object) -> Report:
    with thawline.open(data, "rbak", **options) as cold:
        return cold.verify()


def codes(report: Report) -> list[str]:
    return [finding.code.id for finding in report.findings]


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


def rows(data: bytes, columns: list[str] | None = None, **options: object) -> list[dict[str, Any]]:
    with thawline.open(data, "rbak", **options) as cold:
        return [row for batch in cold.batches(columns) for row in batch.to_pylist()]


def scanned(data: bytes) -> list[Run | Finding]:
    with thawline.open(data, "rbak") as cold:
        return list(cold.scan())
