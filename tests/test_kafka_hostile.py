"""Segments, names and options that nobody means well with."""

from __future__ import annotations

import gzip
import os
import struct
import time
from pathlib import Path
from random import Random

import lz4.frame
import pyarrow as pa
import pytest
from kafka_damage import with_checksum
from kafka_written import START
from partitions import batch, log, segment_files, three_segments, written
from test_kafka_wrappers import message

from thawline.batches import last
from thawline.cold import open_cold, open_folder
from thawline.errors import SourceError
from thawline.formats.kafka import records, resync
from thawline.options import BadOption
from thawline.verbs.salvage import salvage, write_indexes
from thawline.verbs.stats import ColumnStats, stats
from tools.mutants import varint

BEYOND = "9" * 20
"""The name of a segment whose first offset no record can have."""
YEAR_10000, LATEST = 253_402_300_800_000, 253_402_300_799_999


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def offsets(data: bytes | Path, **options: object) -> list[int]:
    with open_cold(data, "kafka", **options) as cold:
        return [row["offset"] for found in cold.batches(["offset"]) for row in found.to_pylist()]


def test_statistics_cost_a_step_for_many_rows_and_not_for_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[int] = []
    add = ColumnStats.add
    monkeypatch.setattr(ColumnStats, "add", lambda self, column: (added.append(len(column)), add(self, column)))
    data = b"".join(log([batch(offset)]) + bytes(5) for offset in range(0, 1200, 4))
    with open_cold(data, "kafka") as cold:
        columns = list(stats(cold))
        assert columns[0]["rows"] == 1200
        assert len(added) <= 3 * len(columns)


# Names and options.


def test_a_name_that_is_no_offset_is_no_reason_to_fail(tmp_path: Path) -> None:
    files = {name.replace("0" * 20, BEYOND): data for name, data in segment_files(0, [batch(0), batch(4)]).items()}
    folder = written(tmp_path / "t-0", files)
    path = tmp_path / "t-0" / f"{BEYOND}.log"
    assert offsets(path, since=1 << 40) == list(range(8))
    assert offsets(path, offsets=(5, None)) == [5, 6, 7]
    with open_cold(path) as cold, pytest.raises(SourceError, match="no index without a name like"):
        write_indexes(cold, tmp_path / f"{BEYOND}.log")
    assert all(report.ok for report in open_folder(folder.path).reports())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("since", "9" * 20), ("until", "-" + "9" * 20), ("offsets", f"5..{'9' * 20}"), ("offsets", "1" * 5000),
        ("max_batch_bytes", f"{1 << 62}g"), ("since", 1 << 63), ("offsets", (None, 1 << 63)),
    ],
)  # fmt: skip
def test_a_number_beyond_64_bits_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadOption, match="lies beyond 64 bits"):
        open_cold(log([batch(0)]), "kafka", **{name: value})


def test_bounds_at_the_edge_of_64_bits_are_bounds_like_others() -> None:
    data = log([batch(0)])
    assert offsets(data, offsets=f"{-(1 << 63)}..{(1 << 63) - 1}") == [0, 1, 2, 3]
    assert offsets(data, since=str((1 << 63) - 1)) == []


def test_a_timestamp_that_no_calendar_has_is_null_and_breaks_nothing() -> None:
    times = (LATEST, YEAR_10000, 9_223_372_036_854_775, (1 << 63) - 9, -(1 << 63), -62_135_596_800_001)
    data = log([batch(index, 1, base_timestamp=time) for index, time in enumerate(times)])
    with open_cold(data, "kafka") as cold:
        rows = [row for found in cold.batches(["timestamp", "timestamp_ms"]) for row in found.to_pylist()]
        (column,) = [found for found in stats(cold) if found["column"] == "timestamp"]
    assert [row["timestamp_ms"] for row in rows] == list(times)
    assert [row["timestamp"] is not None for row in rows] == [True, False, False, False, False, False]
    assert (column["nulls"], column["max"]) == (5, "9999-12-31T23:59:59.999000Z")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("leader-epoch-checkpoint", b""),
        ("leader-epoch-checkpoint", b"0\n1\n\xd9\xa1 \xd9\xa2\n"),
        ("leader-epoch-checkpoint", b"0\n1\n0 99999999999999999999\n"),
        ("partition.metadata", b"\xff"),
    ],
)
def test_a_damaged_text_file_of_a_partition_is_reported(name: str, data: bytes, tmp_path: Path) -> None:
    folder = open_folder(written(tmp_path / "t-0", three_segments() | {name: data}).path)
    (report,) = [report for report in folder.reports() if report.file.endswith(name)]
    assert [finding.code.id for finding in report.findings] in (["KAF124"], ["KAF125"])


# What `tail`, `cat` and `salvage` say.


def last_value(data: bytes) -> tuple[list[bytes], list[bytes]]:
    with open_cold(data, "kafka") as cold:
        ends = last(cold.batches(["value"]), 1), cold.tail(1, ["value"])
        cat, tail = ([row["value"] for found in batches for row in found.to_pylist()] for batches in ends)
        return cat, tail


def test_the_last_rows_are_those_that_cat_gives_where_the_last_offset_is_wrong() -> None:
    data = b"".join(message(0, offset, b"v%d" % index) for index, offset in enumerate((0, 1, 2, 3, 0)))
    assert last_value(data) == ([b"v3"], [b"v3"])


def test_the_last_rows_are_those_that_cat_gives_behind_a_gap() -> None:
    whole = [message(0, offset, b"v%d" % offset) for offset in range(6)]
    data = b"".join(whole[:5]) + b"garbage" + message(0, 2, b"older")
    assert last_value(data) == ([b"v4"], [b"v4"])


def test_a_batch_is_recovered_only_if_its_records_parse(tmp_path: Path) -> None:
    whole = [batch(offset, 1).build() for offset in range(5)]
    broken = bytearray(whole[1])
    broken[-3] ^= 0x40
    damaged = [whole[0], with_checksum(bytes(broken)), *whole[2:]]
    for index in (1, 3):
        damaged[index] = damaged[index][:9] + b"\1" + damaged[index][10:]
    with open_cold(b"".join(damaged), "kafka") as cold:
        assert [finding.code.id for finding in cold.findings()] == ["KAF104", "KAF104"]
        done = salvage(cold, tmp_path / "intact.log", recover=True)
    assert (tmp_path / "intact.log").read_bytes() == b"".join((whole[0], *whole[2:]))
    assert ([run.recovered for run in done.recovered], len(done.lost)) == (["KAF104"], 1)


# Messages inside of a broken wrapper.


def stored(inner: bytes) -> bytes:
    """A wrapper whose messages lie in it as they are: gzip without compression."""
    return message(1, 5, gzip.compress(inner, 0, mtime=0), attributes=1)


@pytest.mark.parametrize("at", [60, 75, 100])
@pytest.mark.parametrize("change", [b"", b"\xff" * 11], ids=["bytes missing", "bytes put in"])
def test_messages_of_a_broken_wrapper_are_no_rows(at: int, change: bytes, tmp_path: Path) -> None:
    first, behind = message(1, 0, b"plain"), message(1, 6, b"behind")
    inner = b"".join(message(1, index, b"inner %d" % index) for index in range(5))
    whole = stored(inner)
    data = first + whole[:at] + change + whole[at + (0 if change else 7) :] + behind
    assert offsets(data) == [0, 6]
    with open_cold(data, "kafka") as cold:
        done = salvage(cold, tmp_path / "intact.log")
    assert ((tmp_path / "intact.log").read_bytes(), done.units) == (first + behind, 2)


def test_messages_of_a_torn_wrapper_are_no_rows() -> None:
    inner = b"".join(message(1, index, b"inner %d" % index) for index in range(5))
    data = message(1, 0, b"plain") + stored(inner)[:-30]
    assert offsets(data) == [0]


def xerial(data: bytes) -> bytes:
    """Snappy as Java frames it, with the data as literals: nothing is compressed."""
    literal = b"\xf4" + (len(data) - 1).to_bytes(2, "little") + data
    block = varint(len(data)) + literal
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


CODECS = {
    "gzip": (1, lambda data: gzip.compress(data, 0, mtime=0)),
    "snappy": (2, xerial),
    "lz4": (3, lambda data: lz4.frame.compress(data, compression_level=-100)),
}


@pytest.mark.parametrize("between", [b"", b"\xff"], ids=["alone", "among much damage"])
@pytest.mark.parametrize("cut", [0, 9, 17], ids=["overwritten", "shorter", "cut off"])
@pytest.mark.parametrize("codec", CODECS)
def test_messages_of_a_wrapper_whose_head_is_destroyed_are_no_rows(
    codec: str, cut: int, between: bytes, tmp_path: Path
) -> None:
    attributes, compress = CODECS[codec]
    noise = Random(0).randbytes(30)  # so that nothing can be compressed
    inner = b"".join(message(1, 50 + index, noise + b"%d" % index) for index in range(5))
    wrapper = message(1, 90, compress(inner), attributes=attributes)
    assert message(1, 53, noise + b"3") in wrapper
    before = [message(1, index, b"plain") + between for index in range(40)]
    behind = [message(1, 91 + index, b"behind") for index in range(3)]
    data = b"".join((*before, b"\xff" * (34 - cut), wrapper[34:], *behind))
    expected = [*range(40), 91, 92, 93]
    assert offsets(data) == expected
    with open_cold(data, "kafka") as cold:
        done = salvage(cold, tmp_path / "intact.log")
    assert (offsets(tmp_path / "intact.log"), done.rows) == (expected, len(expected))


def test_a_stream_in_the_value_of_a_broken_message_costs_no_message_behind_it() -> None:
    first, broken, *behind = (message(1, index, gzip.compress(b"value", mtime=0)) for index in range(5))
    assert offsets(first + b"\xff" * 34 + broken[34:] + b"".join(behind)) == [0, 2, 3, 4]
    assert offsets(first + b"\xff" * 34 + broken[34:-6] + b"".join(behind)) == [0, 2, 3, 4]


def test_bytes_that_look_like_the_head_of_a_wrapper_cost_no_message_behind_them() -> None:
    """One byte behind its start, a message with a low offset looks like a compressed one of some kilobytes."""
    whole = [message(0, offset, b"value") for offset in range(500)]
    whole[1] = whole[1][:-2]
    assert offsets(b"".join(whole)) == [0, *range(2, 500)]


@pytest.mark.parametrize("left", range(20, 62))
def test_a_segment_may_end_at_any_byte_of_a_head(left: int) -> None:
    data = log([batch(0), batch(4)])
    size = len(log([batch(0)]))
    with open_cold(data[: size + left], "kafka") as cold:
        assert [finding.code.id for finding in cold.findings()] == ["KAF102"]


def test_messages_behind_one_whose_length_alone_is_damaged_are_rows() -> None:
    whole = [message(1, offset, b"value %d" % offset) for offset in range(5)]
    for bit in range(31):
        broken = bytearray(whole[1])
        broken[11 - bit // 8] ^= 1 << bit % 8
        assert offsets(whole[0] + bytes(broken) + b"".join(whole[2:])) == [0, 2, 3, 4]


def test_batches_in_a_value_of_a_broken_batch_are_no_rows() -> None:
    held = log([batch(100), batch(104)])
    whole = log([batch(0)])
    value = message(0, 4, b"before " * 9 + held + b" behind" * 9)
    damaged = value[:40] + b"\xff" * 3 + value[40:]
    assert offsets(whole + damaged + log([batch(5)])) == [0, 1, 2, 3, 5, 6, 7, 8]


# Files that take turns, and batches that yield more than they seem to.


def corrupted(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


TURNS = {
    "garbage between": lambda index: message(0, index, b"") + b"\xff" * 30,
    "garbage between batches": lambda index: batch(index, 1).build() + b"\xff" * 5,
    "every other checksum wrong": lambda index: (corrupted if index % 2 else bytes)(message(0, index, b"v")),
    "old and new": lambda index: message(0, index, b"") if index % 2 else batch(index, 1).build(),
    "single and compressed": lambda index: (
        message(0, index, b"") if index % 2 else message(0, index, gzip.compress(message(0, index, b"")), attributes=1)
    ),
    "outliers": lambda index: message(0, index if index % 3 else (1 << 50) + index * 7919 % 100_003, b""),
}  # fmt: skip
EXPECTED = {"every other checksum wrong": lambda index: index % 2 == 0, "outliers": lambda index: index % 3 != 0}
UNITS = 3000


@pytest.mark.parametrize("name", TURNS)
def test_units_that_take_turns_with_damage_are_all_found_and_soon(name: str, tmp_path: Path) -> None:
    data = b"".join(TURNS[name](index) for index in range(UNITS))
    start = time.process_time()
    with open_cold(data, "kafka") as cold:
        report = cold.verify()
    # A tenth of a megabyte: 50 times the bound of 2 s a megabyte would be missed by what looks at each by itself.
    assert time.process_time() - start < 2
    expected = [index for index in range(UNITS) if EXPECTED.get(name, lambda _: True)(index)]
    assert (offsets(data), report.rows) == (expected, len(expected))
    with open_cold(data, "kafka") as cold:
        done = salvage(cold, tmp_path / "intact.log")
    with open_cold(tmp_path / "intact.log", "kafka") as cold:
        assert (cold.verify().ok, done.rows) == (True, len(expected))


@pytest.mark.parametrize("name", [*TURNS, "cut"])
def test_what_is_followed_in_one_step_is_what_is_found_step_by_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = TURNS.get(name, lambda index: message(index % 2, index, b"value")[: -(index % 3) or None])
    data = b"".join(make(index) for index in range(UNITS // 3))
    with open_cold(data, "kafka") as cold:
        quick = list(cold.scan())
    monkeypatch.setattr(resync._Window, "_follow", lambda *_: None)
    with open_cold(data, "kafka") as cold:
        assert list(cold.scan()) == quick
    assert len(quick) > 1 or name in {"old and new", "single and compressed"}


def test_a_batch_of_very_many_records_is_given_piece_by_piece() -> None:
    count = records.MOST_ROWS + 1000
    data = batch_of(count)
    with open_cold(data, "kafka") as cold:
        assert cold.verify().rows == count
        found = list(cold.batches(["offset"]))
        assert [row["offset"] for row in pa.Table.from_batches(cold.tail(2, ["offset"])).to_pylist()] == [
            count - 2,
            count - 1,
        ]
    assert max(part.num_rows for part in found) <= records.GROUP_ROWS
    assert pa.Table.from_batches(found)["offset"].to_pylist() == list(range(count))


def test_of_a_batch_of_very_many_records_nothing_is_given_if_the_last_is_wrong() -> None:
    count = records.MOST_ROWS + 1000
    data = batch_of(count, more=1)
    assert offsets(data) == []
    with open_cold(data, "kafka") as cold:
        assert [finding.code.id for finding in cold.findings()] == ["KAF108"]


def batch_of(count: int, more: int = 0) -> bytes:
    """A compressed batch of so many empty records, whose head counts some more."""
    made = b"".join(record(index) for index in range(count))
    fields = (1, count + more - 1, START, START, -1, -1, -1, count + more)
    return with_checksum(
        struct.pack(">qiibI", 0, 0, 0, 2, 0) + struct.pack(">hiqqqhii", *fields) + gzip.compress(made, 1)
    )


def record(index: int) -> bytes:
    body = b"\0\0" + varint(2 * index) + b"\1\1\0"
    return varint(2 * len(body)) + body


# Messages that nothing shows to be inside of a wrapper or not.


def raw_snappy(data: bytes) -> bytes:
    """Snappy without a frame, which has no magic, with the data as one literal."""
    return varint(len(data)) + b"\xf4" + (len(data) - 1).to_bytes(2, "little") + data


HIDDEN = {
    "raw snappy": (2, raw_snappy, 34),
    "gzip without its head": (1, lambda data: gzip.compress(data, 0, mtime=0), 34 + 10),
}
"""Attributes, how to compress, and how many bytes have to be destroyed."""


def marks(data: bytes | Path) -> list[tuple[int, bool]]:
    with open_cold(data, "kafka") as cold:
        rows = [row for found in cold.batches(["offset", "suspect"]) for row in found.to_pylist()]
    return [(row["offset"], row["suspect"]) for row in rows]


def wrapped(offset: int) -> bytes:
    return message(1, offset, gzip.compress(message(1, 0, b"wrapped"), mtime=0), attributes=1)


@pytest.mark.parametrize("between", [b"", b"\xff"], ids=["alone", "among much damage"])
@pytest.mark.parametrize("first", [[0], []], ids=["a wrapper before", "none before"])
@pytest.mark.parametrize("name", HIDDEN)
def test_messages_that_may_be_in_a_destroyed_wrapper_are_suspect(
    name: str, first: list[int], between: bytes, tmp_path: Path
) -> None:
    attributes, compress, destroyed = HIDDEN[name]
    inner = b"".join(message(1, 50 + index, b"inner %d" % index) for index in range(5))
    wrapper = message(1, 90, compress(inner), attributes=attributes)
    before = [*map(wrapped, first), *(message(1, 1 + index, b"plain") + between for index in range(20))]
    plain, after = message(1, 91, b"after"), [wrapped(92), message(1, 93, b"plain")]
    data = b"".join((*before, b"\xff" * destroyed, wrapper[destroyed:], plain, *after))
    trusted = [*first, *range(1, 21), 92, 93]
    doubtful = {50, 51, 52, 53, 54, 91}
    found = marks(data)
    assert {offset for offset, is_suspect in found if offset >= 50 and is_suspect} == doubtful
    assert [offset for offset, _ in found] == sorted({*trusted, *doubtful})
    with open_cold(data, "kafka") as cold:
        assert "KAF209" in {finding.code.id for finding in cold.findings()}
        done = salvage(cold, tmp_path / "intact.log")
        salvage(cold, tmp_path / "all.log", include_suspects=True)
    with open_cold(tmp_path / "intact.log", "kafka") as cold:
        assert cold.verify().ok
        kept = offsets(tmp_path / "intact.log")
    assert not doubtful & set(kept)
    assert {92, 93} < set(kept)
    assert done.suspects == sum(is_suspect for _, is_suspect in found)
    assert set(offsets(tmp_path / "all.log")) == {offset for offset, _ in found}


def test_messages_after_damage_are_not_suspect_where_there_are_no_wrappers() -> None:
    whole = [message(1, offset, b"value") for offset in range(9)]
    assert marks(b"".join((*whole[:3], b"\xff" * 60, *whole[4:]))) == [(at, False) for at in range(9) if at != 3]


@pytest.mark.parametrize("change", ["checksum", "length", "no length", "stream"])
def test_messages_are_not_suspect_where_the_broken_unit_is_known_to_end(change: str) -> None:
    broken = bytearray(message(1, 1, gzip.compress(message(1, 0, b"value") * 3, 0, mtime=0), attributes=1))
    if change == "checksum":
        broken[-20] ^= 1
    elif change == "length":
        broken[10] ^= 1
    elif change == "no length":
        broken[8] = 0xFF
    else:
        broken[:34] = b"\xff" * 34
    data = b"".join((wrapped(0), bytes(broken), message(1, 2, b"plain"), wrapped(3)))
    assert marks(data) == [(0, False), (2, False), (3, False)]
