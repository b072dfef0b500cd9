"""Kafka segments, and files beside them, that cost as much as they can."""

from __future__ import annotations

import struct
from collections.abc import Callable

import lz4.block
import lz4.frame
import zstandard

from thawline.checksums import crc32, crc32c
from tools.bench.data import zigzag
from tools.bench.worst_cases import Hostile, noise, numbered, repeated, single


def batch(offset: int, records: bytes, count: int, codec: int = 0) -> bytes:
    """A batch with a right checksum, whatever its records are."""
    covered = struct.pack(">hiqqqhii", codec, max(count - 1, 0), 0, 0, -1, -1, -1, count) + records
    body = struct.pack(">iBI", 0, 2, crc32c(covered)) + covered
    return struct.pack(">qi", offset, len(body)) + body


def message(offset: int, value: bytes = b"", magic: int = 0) -> bytes:
    """A message of v0 or v1 with a right checksum."""
    times = struct.pack(">q", 0) if magic else b""
    covered = struct.pack(">BB", magic, 0) + times + struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(covered) + 4, crc32(covered)) + covered


def record(value: bytes = b"", headers: int = 0) -> bytes:
    """A record without a key."""
    body = b"\0\0\0" + zigzag(-1) + zigzag(len(value)) + value + zigzag(headers) + b"\0\1" * headers
    return zigzag(len(body)) + body


ONE = batch(0, record(), 1)


def _outliers(number: int) -> bytes:
    return batch(number if number % 2 else (1 << 40) - number, record(), 1)


def _claims(size: int) -> bytes:
    """Heads that lie in each other, each of which claims all bytes after it."""
    count = size // 61
    heads = (struct.pack(">qiiBI", n, (count - n) * 61 - 12, 0, 2, 0) + bytes(40) for n in range(count))
    return ONE + b"".join(heads) + ONE


def _bomb(size: int) -> bytes:
    """Batches of 1 MB of the shortest records, as small as zstd makes them."""
    count = 100_000
    records = zstandard.compress(record() * count, 19)
    return repeated(batch(0, records, count, 4), size)


def _headers(size: int) -> bytes:
    return batch(0, record(headers=size // 2), 1)


def _wrappers(size: int) -> bytes:
    inner = b"".join(message(n, magic=1) for n in range(200))
    covered = struct.pack(">BBqii", 1, 1, 0, -1, len(packed := _gzip(inner))) + packed
    return repeated(struct.pack(">qiI", 199, len(covered) + 4, crc32(covered)) + covered, size)


def _cut(number: int) -> bytes:
    """A message, and one that lacks its last bytes, so that its length leads into the next."""
    return message(2 * number, b"value") + message(2 * number + 1, b"value")[:-2]


def _headless(number: int) -> bytes:
    """A message, and a compressed one without its head: what is in it can be seen."""
    return message(9 * number, b"x") + _gzip(message(9 * number + 4))[:-8] + bytes(8)


def _control(number: int) -> bytes:
    """A marker that aborts a transaction of a producer of its own."""
    marker = b"\0\0\0" + zigzag(4) + b"\0\0\0\0" + zigzag(6) + bytes(6) + b"\0"
    covered = struct.pack(">hiqqqhii", 0x30, 0, 0, 0, number, 0, -1, 1) + zigzag(len(marker)) + marker
    body = struct.pack(">iBI", 0, 2, crc32c(covered)) + covered
    return struct.pack(">qi", number, len(body)) + body


def _packed(number: int) -> bytes:
    """A batch of one record, compressed."""
    packed = (_gzip(record()), zstandard.compress(record()), lz4.frame.compress(record()))[number % 3]
    return batch(number, packed, 1, (1, 4, 3)[number % 3])


def _partition(name: str, side: Callable[[int], bytes]) -> Hostile:
    """A partition of a few batches with a large file beside them."""
    log = b"".join(batch(offset, record(), 1) for offset in range(100)) + _control(100)
    suffix = name.rpartition(".")[2]
    return Hostile("kafka", f"large {suffix}", lambda size: {f"t-0/{LOG}": log, f"t-0/{name}": side(size)}, "t-0")


def _snapshot(size: int) -> bytes:
    """Producers of one entry each."""
    entry = struct.Struct(">qhiqiqiq")
    count = size // entry.size
    covered = struct.pack(">i", count) + b"".join(entry.pack(n, 0, 0, n % 100, 0, 0, 0, -1) for n in range(count))
    return struct.pack(">hI", 1, crc32c(covered)) + covered


def _gzip(data: bytes) -> bytes:
    import gzip  # noqa: PLC0415 - only here

    return gzip.compress(data, 9, mtime=0)


LOG = "00000000000000000000.log"
KAFKA = [
    single(
        "kafka", "garbage between v0 messages", LOG, lambda size: numbered(lambda n: message(n) + b"\xff" * 30, size)
    ),
    single(
        "kafka",
        "garbage between batches",
        LOG,
        lambda size: numbered(lambda n: batch(n, record(), 1) + b"\xff" * 30, size),
    ),
    single(
        "kafka", "a byte between batches", LOG, lambda size: numbered(lambda n: batch(n, record(), 1) + b"\xff", size)
    ),
    single("kafka", "a byte between v0 messages", LOG, lambda size: numbered(lambda n: message(n) + b"\xff", size)),
    single(
        "kafka", "a byte between empty batches", LOG, lambda size: numbered(lambda n: batch(n, b"", 0) + b"\xff", size)
    ),
    single(
        "kafka", "zeros between batches", LOG, lambda size: numbered(lambda n: batch(n, record(), 1) + bytes(64), size)
    ),
    single(
        "kafka",
        "every other v0 message broken",
        LOG,
        lambda size: numbered(lambda n: message(n)[: -(n % 2) or None] + b"x" * (n % 2), size),
    ),
    single(
        "kafka",
        "every other batch broken",
        LOG,
        lambda size: numbered(lambda n: batch(n, record(), 1)[: -(n % 2) or None] + b"x" * (n % 2), size),
    ),
    single("kafka", "offsets that jump", LOG, lambda size: numbered(_outliers, size)),
    single(
        "kafka",
        "v0 offsets that jump",
        LOG,
        lambda size: numbered(lambda n: message(n if n % 2 else (1 << 40) - n), size),
    ),
    single("kafka", "the same offset", LOG, lambda size: repeated(ONE, size)),
    single("kafka", "empty batches", LOG, lambda size: numbered(lambda n: batch(n, b"", 0), size)),
    single(
        "kafka",
        "batches whose records do not parse",
        LOG,
        lambda size: numbered(lambda n: batch(n, b"\xff" * 8, 1), size),
    ),
    single(
        "kafka",
        "batches that do not decompress",
        LOG,
        lambda size: numbered(lambda n: batch(n, b"\xff" * 8, 1, 1 + n % 4), size),
    ),
    single("kafka", "heads in each other", LOG, _claims),
    single("kafka", "nothing but heads", LOG, lambda size: ONE + repeated(ONE[:20], size)),
    single(
        "kafka",
        "v0 and v2 in turns",
        LOG,
        lambda size: numbered(lambda n: batch(n, record(), 1) if n % 2 else message(n), size),
    ),
    single("kafka", "records as short as can be, zstd", LOG, _bomb, 3000),
    single("kafka", "headers without end", LOG, _headers, 4),
    single("kafka", "compressed v1 wrappers", LOG, _wrappers, 30),
    single("kafka", "messages that lead into the next", LOG, lambda size: numbered(_cut, size)),
    single("kafka", "wrappers without heads", LOG, lambda size: numbered(_headless, size)),
    single(
        "kafka",
        "magics of streams",
        LOG,
        lambda size: message(0) + repeated(b"\x1f\x8b\x08\0\0\0\0\0\0\xff", size) + message(1),
    ),
    single("kafka", "markers of transactions", LOG, lambda size: numbered(_control, size)),
    single("kafka", "compressed batches of one record", LOG, lambda size: numbered(_packed, size)),
    Hostile("kafka", "markers in a partition", lambda size: {f"t-0/{LOG}": numbered(_control, size)}, "t-0"),
    _partition(LOG.replace("log", "index"), lambda size: numbered(lambda n: struct.pack(">ii", n, 69 * n), size)),
    _partition(LOG.replace("log", "timeindex"), lambda size: numbered(lambda n: struct.pack(">qi", n, n), size)),
    _partition(
        LOG.replace("log", "txnindex"), lambda size: numbered(lambda n: struct.pack(">hqqqq", 0, n, n, n, n), size)
    ),
    _partition(LOG.replace("log", "snapshot").replace("0.", "9."), _snapshot),
    _partition(
        "leader-epoch-checkpoint",
        lambda size: b"0\n%d\n" % (size // 14) + b"".join(b"%d %d\n" % (n, n) for n in range(size // 14)),
    ),
    single("kafka", "random bytes", LOG, lambda size: ONE + noise(size)),
    single("kafka", "zeros", LOG, lambda size: ONE + bytes(size)),
]
