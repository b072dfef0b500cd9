"""Segments of record batches: codecs, nulls, compaction, time, producers, and the limits of every number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tools.samples.golden import Sample
from tools.samples.kafka.codings import CODECS, FRAMINGS, GZIP, LZ4, NONE, SNAPPY_XERIAL, ZSTD
from tools.samples.kafka.entries import START, Batch, Record, numbered, segment

INT16_MAX = 2**15 - 1
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

ALL_KINDS = numbered(
    Record(b"key", b"value"),
    Record(None, b"null key, empty value in the header", headers=((b"h", b""),)),
    Record(b"", b"empty key, null value in the header", headers=((b"h", None),)),
    Record(b"null value", None, headers=((b"first", b"1"), (b"second", b"2"), (b"third", b"3"))),
    Record(b"empty value", b"", headers=((b"twice", b"1"), (b"twice", b"2"), (b"", b"empty header key"))),
    Record(None, None, headers=((b"not UTF-8: \xff\xfe", b"\x00\xff"),)),
    Record("schlüssel".encode(), b"wert" * 20, headers=(("größe".encode(), "ß".encode()),)),
)
"""Null and empty where Kafka allows them, header keys that repeat, are empty, or are not UTF-8."""

MANY = tuple(
    Batch(
        base_offset=143 * n,
        records=numbered(*(Record(None, b"%x" % record) for record in range(143))),
        coding=(NONE, LZ4, ZSTD, GZIP, SNAPPY_XERIAL)[n % 5],
        base_timestamp=START + 1000 * n,
    )
    for n in range(7)
)
"""1,001 records, seven batches."""

EXTREME_TIMES = (
    Record(b"latest", b"10-byte varlong", timestamp_delta=INT64_MAX),
    Record(b"earliest", b"10-byte varlong", timestamp_delta=INT64_MIN, offset_delta=1),
    Record(b"before base", b"1-byte varlong", timestamp_delta=-1, offset_delta=2),
)
EXTREME_OFFSETS = (
    Record(b"4 bytes", b"", offset_delta=2**27 - 1),
    Record(b"5 bytes", b"", offset_delta=2**27),
    Record(b"largest", b"", offset_delta=INT32_MAX),
)


def samples() -> Iterator[Sample]:
    """Yield segments of magic 2 without control batches."""
    yield from _codecs()
    yield segment("empty.log", "a segment to which nothing was written")
    yield segment("one-record.log", "the smallest batch that holds a record", Batch(records=(Record(None, None),)))
    yield segment("many-records.log", "1,001 records in seven batches of five codecs", *MANY)
    yield _offset_gaps()
    yield _compacted_empty()
    yield _log_append_time()
    yield _delete_horizon()
    yield _idempotent()
    yield _extremes()
    yield _overlong_varints()
    yield _unused_bits()


def _codecs() -> Iterator[Sample]:
    for coding in CODECS:
        what = f"every kind of key, value and header; records stored as {coding.name}"
        yield segment(f"v2-{coding.name}.log", what, Batch(base_offset=100, records=ALL_KINDS, coding=coding))
    for coding in FRAMINGS:
        what = f"records stored as {coding.name}, another framing of {coding.compression}"
        yield segment(f"v2-{coding.name}.log", what, Batch(base_offset=100, records=ALL_KINDS[:3], coding=coding))


def _offset_gaps() -> Sample:
    # Compaction keeps the offsets of the remaining records: gaps are normal, never damage.
    first, last = Record(b"a", b"1"), Record(b"c", b"3", offset_delta=7, timestamp_delta=7)
    return segment(
        "offset-gaps.log",
        "three batches, offsets missing between and inside them, the leader's epoch rising",
        Batch(base_offset=10, records=numbered(first, Record(b"b", b"2")), leader_epoch=1),
        Batch(base_offset=20, records=(first, last), last_offset_delta=9, leader_epoch=1),
        Batch(base_offset=1_000_000, records=numbered(first), leader_epoch=4),
    )


def _compacted_empty() -> Sample:
    # An empty batch remains to keep the producer's last sequence number.
    empty = Batch(last_offset_delta=0, base_timestamp=-1, max_timestamp=START)
    return segment(
        "compacted-empty.log",
        "batches that compaction has left without records: of data, of a marker, and one that names a codec",
        replace(empty, base_offset=5, last_offset_delta=4, producer_id=7, producer_epoch=0, base_sequence=5),
        replace(empty, base_offset=10, producer_id=7, producer_epoch=0, is_control=True, is_transactional=True),
        replace(empty, base_offset=11, coding=GZIP),
        Batch(base_offset=12, records=numbered(Record(b"key", b"kept"))),
    )


def _log_append_time() -> Sample:
    # The broker rewrites only the type and maxTimestamp; the producer's times remain in base and deltas.
    return segment(
        "log-append-time.log",
        "every record has the broker's time, maxTimestamp",
        Batch(records=ALL_KINDS, timestamp_type="log_append_time", max_timestamp=START + 86_400_000),
        Batch(
            base_offset=7,
            records=ALL_KINDS[:2],
            coding=LZ4,
            timestamp_type="log_append_time",
            max_timestamp=START + 86_400_001,
        ),
    )


def _delete_horizon() -> Sample:
    # KIP-534: baseTimestamp is the time when tombstones may be removed; deltas are relative to it, and so negative.
    horizon = 86_400_000
    tombstones = (
        Record(b"gone", None, timestamp_delta=-horizon),
        Record(b"gone too", None, timestamp_delta=1 - horizon, offset_delta=1),
    )
    return segment(
        "delete-horizon.log",
        "tombstones in a batch whose base timestamp is its delete horizon",
        Batch(records=tombstones, has_delete_horizon=True, base_timestamp=START + horizon, max_timestamp=START + 1),
    )


def _idempotent() -> Sample:
    # Sequence numbers continue at 0 after the largest.
    four = numbered(*(Record(b"key", b"%d" % n) for n in range(4)))
    batch = Batch(records=four, producer_id=4000, producer_epoch=2, base_sequence=INT32_MAX - 5)
    return segment(
        "idempotent.log",
        "an idempotent producer whose sequence numbers wrap inside the second batch",
        batch,
        replace(batch, base_offset=4, base_sequence=INT32_MAX - 1),
        replace(batch, base_offset=8, base_sequence=2),
    )


def _extremes() -> Sample:
    # Sums of base and delta fit 64 bits: Kafka computes them in a long.
    return segment(
        "extremes.log",
        "the smallest and largest timestamps, offsets, deltas, epochs, producer and sequence numbers",
        Batch(records=EXTREME_TIMES, base_timestamp=0),
        Batch(base_offset=3, records=(Record(None, b"smallest base timestamp"),), base_timestamp=INT64_MIN),
        Batch(
            base_offset=4,
            records=(Record(None, b"largest base timestamp"), Record(None, b"1970", (), -INT64_MAX, 1)),
            base_timestamp=INT64_MAX,
        ),
        Batch(
            base_offset=INT64_MAX - 1 - INT32_MAX,
            records=EXTREME_OFFSETS,
            leader_epoch=INT32_MAX,
            producer_id=INT64_MAX,
            producer_epoch=INT16_MAX,
            base_sequence=INT32_MAX,
        ),
    )


def _overlong_varints() -> Sample:
    # Kafka reads overlong varints of up to 5 and 10 bytes.
    header = ((b"header", b"value"), (b"null", None))
    return segment(
        "overlong-varints.log",
        "varints one group too long, then as long as they may be",
        Batch(
            records=numbered(
                Record(b"key", b"value", header, spare_groups=1),
                Record(None, None, header, spare_groups=9),
                Record(b"", b"", spare_groups=9),
            )
        ),
    )


def _unused_bits() -> Sample:
    # Kafka ignores unused bits; a record's attributes are one byte, not a varint.
    records = (Record(b"key", b"value", attributes=-128), Record(b"key", b"value", offset_delta=1, attributes=127))
    return segment("unused-bits.log", "all unused bits of the attributes set", Batch(records=records, unused=0x1FF))
