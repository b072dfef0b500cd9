"""Compressed messages of magic 0 and 1 whose inner set is not whole: what Kafka gives of them is given."""

from __future__ import annotations

import gzip
import struct
import zlib

import pytest

import thawline
from thawline.model import Finding, Run, Span

GZIP = 1


def message(magic: int, offset: int, value: bytes, *, attributes: int = 0) -> bytes:
    """A message by the document: offset, length, checksum, magic, attributes, timestamp, null key, value."""
    time = struct.pack(">q", 1_700_000_000_000 + offset) if magic else b""
    covered = struct.pack(">bb", magic, attributes) + time + struct.pack(">ii", -1, len(value)) + value
    body = struct.pack(">I", zlib.crc32(covered)) + covered
    return struct.pack(">qi", offset, len(body)) + body


def wrapper(magic: int, offset: int, inner: bytes) -> bytes:
    return message(magic, offset, gzip.compress(inner, mtime=0), attributes=GZIP)


def offsets(data: bytes) -> list[int]:
    with thawline.open(data, "kafka") as cold:
        return [row["offset"] for batch in cold.batches(["offset"]) for row in batch.to_pylist()]


def found(data: bytes) -> list[Finding]:
    with thawline.open(data, "kafka") as cold:
        return list(cold.findings())


@pytest.mark.parametrize("magic", [0, 1])
def test_whole_messages_before_a_partial_one_are_given(magic: int) -> None:
    whole = [message(magic, n, b"value %d" % n) for n in range(3)]
    first, last = message(magic, 0, b"before"), message(magic, 9, b"behind")
    for cut in range(1, len(whole[2])):
        inner = b"".join(whole)[:-cut]
        data = first + wrapper(magic, 5, inner) + last
        # Magic 0 stores offsets as they are; magic 1 counts back from the last message that is whole, as Kafka does.
        assert offsets(data) == [0, *((0, 1) if magic == 0 else (4, 5)), 9]
        (finding,) = found(data)
        end = len(data) - len(last)
        assert (finding.code.id, finding.severity, finding.span) == ("KAF208", "warning", Span(end, end))
        assert finding.detail == {"payload_offset": len(whole[0] + whole[1]), "left": len(whole[2]) - cut}


def test_what_is_said_of_a_cut_wrapper_comes_before_the_message_behind_it() -> None:
    last = message(1, 9, b"behind")
    data = wrapper(1, 5, b"".join(message(1, n, b"value") for n in range(2))[:-3]) + last
    with thawline.open(data, "kafka") as cold:
        assert [item.span.end for item in cold.scan()] == [len(data) - len(last), len(data) - len(last), len(data)]
        assert cold.verify().rows == 2


def test_wrappers_around_a_cut_one_are_not_touched() -> None:
    sets = [b"".join(message(1, n, b"value") for n in range(2)) for _ in range(3)]
    sets[1] = sets[1][:-3]
    data = b"".join(wrapper(1, 2 * index + 1, inner) for index, inner in enumerate(sets))
    assert offsets(data) == [0, 1, 3, 4, 5]
    with thawline.open(data, "kafka") as cold:
        runs = [item for item in cold.scan() if isinstance(item, Run)]
        assert sum(run.rows for run in runs) == cold.verify().rows == 5
        assert [row["offset"] for batch in cold.tail(3, ["offset"]) for row in batch.to_pylist()] == [3, 4, 5]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_set_without_one_whole_message_is_damage(magic: int) -> None:
    data = message(magic, 0, b"a") + wrapper(magic, 5, message(magic, 0, b"value")[:-1]) + message(magic, 9, b"b")
    assert offsets(data) == [0, 9]
    (finding,) = found(data)
    assert (finding.code.id, finding.detail["reason"]) == ("KAF110", "it holds no whole message")


@pytest.mark.parametrize("length", [13, 0, -1])
def test_a_length_that_kafka_refuses_is_damage_and_no_partial_message(length: int) -> None:
    inner = message(1, 0, b"value") + struct.pack(">qi", 1, length) + b"rest of it"
    data = message(1, 0, b"a") + wrapper(1, 5, inner)
    assert offsets(data) == [0]
    assert [finding.code.id for finding in found(data)] == ["KAF110"]
