"""Segments of magic 0 and 1: plain messages, compressed wrappers, and mixes of all three magics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tools.samples.golden import Sample
from tools.samples.kafka.codings import GZIP, LZ4, LZ4_OF_MAGIC_0, SNAPPY, SNAPPY_XERIAL, ZSTD, Coding
from tools.samples.kafka.entries import START, Batch, Message, Record, numbered, segment

KEYS_AND_VALUES = ((b"key", b"value"), (None, b"null key"), (b"null value", None), (b"", b""), (None, None))
CODINGS = {0: (GZIP, SNAPPY, SNAPPY_XERIAL, LZ4_OF_MAGIC_0), 1: (GZIP, SNAPPY, SNAPPY_XERIAL, LZ4)}


def samples() -> Iterator[Sample]:
    """Yield segments as Kafka wrote them before 0.11, and mixed ones from upgrades."""
    for magic in (0, 1):
        yield segment(f"v{magic}-plain.log", f"messages of magic {magic}, null and empty", *_plain(magic, 0))
        for coding in CODINGS[magic]:
            yield _wrapped(magic, coding)
    yield _log_append_time()
    yield _compacted_wrapper()
    yield _wrapper_at_zero()
    yield _wrapper_with_key()
    yield _other_magic_inside()
    yield _trailing_bytes()
    yield _mixed_magics()


def _plain(magic: int, first: int) -> tuple[Message, ...]:
    return tuple(
        Message(magic=magic, offset=first + n, timestamp=START + n, key=key, value=value)
        for n, (key, value) in enumerate(KEYS_AND_VALUES)
    )


def _wrapper(coding: Coding, offset: int, inner: tuple[Message, ...], magic: int) -> Message:
    latest = max(message.timestamp for message in inner)
    return Message(magic=magic, offset=offset, timestamp=latest, inner=inner, coding=coding)


def _wrapped(magic: int, coding: Coding) -> Sample:
    # Magic 0 stores absolute offsets inside a wrapper, magic 1 relative ones; the wrapper has the last.
    wrappers = (
        _wrapper(coding, 4, _plain(magic, 0), magic),
        _wrapper(coding, 6, _plain(magic, 0 if magic == 1 else 5)[:2], magic),
    )
    what = f"messages of magic {magic} in two wrappers, compressed as {coding.name}"
    return segment(f"v{magic}-{coding.name}.log", what, *wrappers, notes={"offsets": list(range(7))})


def _log_append_time() -> Sample:
    # The bit on the wrapper overrides the times of the messages inside.
    wrapper = replace(_wrapper(GZIP, 5, _plain(1, 0), 1), timestamp=START + 60_000, timestamp_type="log_append_time")
    plain = Message(magic=1, offset=0, value=b"plain", timestamp=START + 50_000, timestamp_type="log_append_time")
    return segment(
        "v1-log-append-time.log",
        "a plain message and a wrapper that have the broker's time",
        plain,
        wrapper,
        notes={"offsets": list(range(6)), "timestamps": [START + 50_000, *[START + 60_000] * 5]},
    )


def _compacted_wrapper() -> Sample:
    # Relative offsets keep their gaps: the absolute one is wrapper - last inner + inner.
    inner = tuple(Message(magic=1, offset=offset, value=b"kept") for offset in (0, 1, 2, 10))
    absolute = tuple(Message(magic=0, offset=offset, value=b"kept") for offset in (21, 25))
    return segment(
        "v1-compacted-wrapper.log",
        "wrappers of magic 1 and 0 from which compaction took messages",
        _wrapper(LZ4, 20, inner, 1),
        _wrapper(GZIP, 25, absolute, 0),
        notes={"offsets": [10, 11, 12, 20, 21, 25]},
    )


def _wrapper_at_zero() -> Sample:
    # Old librdkafka left the wrapper's offset at 0; Kafka then counts from 0.
    return segment(
        "v1-wrapper-at-zero.log",
        "a wrapper whose offset is 0 although the last message inside has 4",
        _wrapper(SNAPPY, 0, _plain(1, 0), 1),
        notes={"offsets": list(range(5))},
    )


def _wrapper_with_key() -> Sample:
    # The document requires a null key on the wrapper; Kafka does not check it.
    return segment(
        "v1-wrapper-with-key.log",
        "a wrapper that has a key",
        replace(_wrapper(GZIP, 4, _plain(1, 0), 1), key=b"ignored"),
        notes={"offsets": list(range(5))},
    )


def _other_magic_inside() -> Sample:
    # KAFKA-4298: the wrapper's magic decides about offsets, the inner magic about the layout.
    return segment(
        "inner-magic.log",
        "a wrapper of magic 1 around messages of magic 0, and the other way round",
        _wrapper(GZIP, 4, _plain(0, 0), 1),
        _wrapper(GZIP, 9, _plain(1, 5), 0),
        notes={"offsets": list(range(10))},
    )


def _trailing_bytes() -> Sample:
    return segment(
        "trailing-bytes.log",
        "messages that are longer than their key and value; Kafka reads past the rest",
        Message(magic=0, offset=0, key=b"key", value=b"value", trailing=b"\x00\xff"),
        Message(magic=1, offset=1, key=b"key", value=b"value", trailing=b"rest"),
    )


def _mixed_magics() -> Sample:
    # A segment that was open while the broker was upgraded, twice.
    return segment(
        "mixed-magics.log",
        "magic 0, 1 and 2 in one file, plain and compressed",
        *_plain(0, 0),
        _wrapper(LZ4_OF_MAGIC_0, 9, _plain(0, 5), 0),
        *_plain(1, 10),
        _wrapper(LZ4, 19, _plain(1, 0), 1),
        Batch(base_offset=20, records=numbered(Record(b"key", b"value"), Record(None, None)), coding=LZ4),
        Batch(base_offset=22, records=numbered(Record(b"key", b"value")), coding=ZSTD),
        notes={"offsets": list(range(23))},
    )
