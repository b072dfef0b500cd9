"""What KafkaSegmentWriter takes: columns, values and options, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from kafka_written import HEADERS, START, Written, append_all, names, numbered, one_column, records

from thawline.formats.kafka import rows
from thawline.formats.kafka import write as writer_module
from thawline.formats.kafka.write import BadCompression, BadRecord, KafkaSegmentWriter


@pytest.mark.parametrize(
    "type_", [pa.binary(), pa.string(), pa.large_binary(), pa.large_string(), pa.binary_view(), pa.string_view()]
)
def test_text_and_binary_of_any_kind_is_a_value(tmp_path: Path, type_: pa.DataType) -> None:
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        writer.append_batch(one_column("value", pa.array(["", "text", None, "ß" * 50], type_)).slice(1))
    read = [record.value for record in records(tmp_path / "segment.log")]
    assert read == [b"text", None, "ß".encode() * 50]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1_700_000_000, None], pa.timestamp("s")),
        pa.array([1_700_000_000_000, None], pa.timestamp("ms", "UTC")),
        pa.array([1_700_000_000_000_999, None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([1_700_000_000_000_999_999, None], pa.timestamp("ns")),
        pa.array([1_700_000_000_000, -1], pa.int64()),
        pa.array([1_700_000_000_000_000, -1000], pa.timestamp("us")),
    ],
    ids=str,
)
def test_timestamps_of_any_unit_are_milliseconds_and_null_is_none(tmp_path: Path, column: pa.Array) -> None:
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        writer.append_batch(one_column("timestamp", column))
    assert [record.timestamp for record in records(tmp_path / "segment.log")] == [START, -1]


def test_columns_that_are_missing_or_null_count_on(tmp_path: Path) -> None:
    nulls = {name: pa.nulls(2) for name in ("key", "value", "offset", "timestamp", "timestampType", "headers")}
    with KafkaSegmentWriter(tmp_path / "segment.log", base_offset=7) as writer:
        assert writer.append_batch(pa.RecordBatch.from_pydict(nulls)) == 9
        assert writer.append_batch(one_column("value", pa.array([b"v"]))) == 10
        assert writer.append_batch(pa.RecordBatch.from_pydict({"value": pa.array([], pa.binary())})) == 10
        assert writer.append(value=b"w") == 10
    assert records(tmp_path / "segment.log") == [
        Written(7, -1, None, None),
        Written(8, -1, None, None),
        Written(9, -1, None, b"v"),
        Written(10, -1, None, b"w"),
    ]


def test_lists_of_headers_may_be_null_or_empty(tmp_path: Path) -> None:
    headers: list[list[dict[str, Any]] | None] = [
        [{"key": "skipped", "value": b"x"}],
        None,
        [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
        [],
        [{"key": "c", "value": b""}],
    ]
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        writer.append_batch(one_column("headers", pa.array(headers, HEADERS)).slice(1))
    read = [record.headers for record in records(tmp_path / "segment.log")]
    assert read == [(), (("a", b"1"), ("b", None)), (), (("c", b""),)]


REFUSED_COLUMNS = {
    "unknown": (one_column("payload", pa.array([b""])), "no record has a column payload"),
    "twice": (pa.RecordBatch.from_arrays([pa.array([b""])] * 2, ["key", "key"]), "have the same name"),
    "key of numbers": (one_column("key", pa.array([1])), "the column key is int64, not binary or text"),
    "offset of text": (one_column("offset", pa.array(["1"])), "offsets are numbers"),
    "offset with a null": (one_column("offset", pa.array([1, None])), "with 1 nulls"),
    "offset too large": (one_column("offset", pa.array([2**64 - 1], pa.uint64())), "more than 63 bits"),
    "offset at the end": (one_column("offset", pa.array([2**63 - 1])), "the offset 9223372036854775807 is not"),
    "offset below the next": (one_column("offset", pa.array([3, 4])), "row 0: the offset 3 is not above 4"),
    "offset twice": (one_column("offset", pa.array([5, 6, 6])), "row 2: the offset 6 is not above 6"),
    "timestamp of text": (one_column("timestamp", pa.array(["now"])), "neither a timestamp nor milliseconds"),
    "timestamp before 1970": (one_column("timestamp", pa.array([-1, -2])), "the timestamp -2 is before 1970"),
    "microseconds before 1970": (
        one_column("timestamp", pa.array([-1000, -999], pa.timestamp("us"))),
        "the timestamp -999 is before 1970",
    ),
    "timestamp too late": (one_column("timestamp", pa.array([2**63 - 1])), "too late"),
    "timestamp type of text": (one_column("timestampType", pa.array(["CreateTime"])), "0 for CreateTime"),
    "headers of text": (one_column("headers", pa.array(["a"])), "not a list of structures of key and value"),
    "headers of pairs": (
        one_column("headers", pa.array([[{"k": "a"}]], pa.list_(pa.struct([("k", pa.string())])))),
        "not a list of structures of key and value",
    ),
    "null header": (one_column("headers", pa.array([[None]], HEADERS)), "Kafka has no such headers"),
    "null header key": (
        one_column("headers", pa.array([[{"key": None, "value": b""}]], HEADERS)),
        "Kafka has no such headers",
    ),
    "header key of bytes": (
        one_column("headers", pa.array([[{"key": b"\xff", "value": b""}]])),
        "the key of a header is not UTF-8",
    ),
}


@pytest.mark.parametrize("name", REFUSED_COLUMNS)
def test_rows_that_cannot_be_written_are_refused_and_the_writer_goes_on(tmp_path: Path, name: str) -> None:
    refused, reason = REFUSED_COLUMNS[name]
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        append_all(writer, numbered(0, 5))
        with pytest.raises(BadRecord, match=reason):
            writer.append_batch(refused)
        assert writer.next_offset == 5
        append_all(writer, numbered(5, 2))
    assert records(tmp_path / "segment.log") == [*numbered(0, 5), *numbered(5, 2)]


def test_a_table_is_not_taken_for_a_batch(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "one.log") as writer, pytest.raises(BadRecord, match="not Table; to_batches"):
        writer.append_batch(pa.table({"value": [b""]}))


def test_a_row_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rows, writer_module):
        monkeypatch.setattr(module, "LONGEST_RECORD", 1000)
    long = pa.RecordBatch.from_pydict({"key": [b"k", b"k" * 400], "value": [bytes(300), bytes(900)]})
    with KafkaSegmentWriter(tmp_path / "segment.log", batch_bytes=1000) as writer:
        with pytest.raises(BadRecord, match=r"row 1: its 1\d* bytes are more than 1000"):
            writer.append_batch(long)
        with pytest.raises(BadRecord, match="a record of 1300 bytes is longer than 1000"):
            writer.append(key=bytes(400), value=bytes(900))
        writer.append(value=bytes(900))
    assert len(records(tmp_path / "segment.log")) == 1


REFUSED_VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "key of text": ({"key": "text"}, "a key is bytes or None, not str"),
    "value of a number": ({"value": 5}, "a value is bytes or None, not int"),
    "header value of text": ({"headers": [("a", "b")]}, "a header value is bytes or None, not str"),
    "headers without values": ({"headers": ["a"]}, "headers are pairs of a key and a value"),
    "headers of a number": ({"headers": 5}, "headers are pairs of a key and a value"),
    "header key of a number": ({"headers": [(5, b"")]}, "a header key is bytes or None, not int"),
    "header key None": ({"headers": [(None, b"")]}, "the key of a header is None"),
    "header key of bytes": ({"headers": [(b"\xff", b"")]}, "not UTF-8"),
    "timestamp below -1": ({"timestamp": -2}, "the timestamp -2 is neither"),
    "timestamp too late": ({"timestamp": 2**63 - 1}, "is neither -1, for none, nor milliseconds"),
    "timestamp with a fraction": ({"timestamp": 1.5}, "the timestamp 1.5 is neither"),
    "time without a zone": ({"timestamp": datetime(2025, 1, 1)}, "has no zone"),  # noqa: DTZ001 - that is what is refused
    "time before 1970": ({"timestamp": datetime(1969, 1, 1, tzinfo=UTC)}, "is neither"),
    "offset below the next": ({"offset": 4}, "the offset 4 is not at least 5"),
    "offset at the end": ({"offset": 2**63 - 1}, "and 9223372036854775806 at most"),
    "offset of text": ({"offset": "5"}, "the offset 5 is not at least 5"),
}


@pytest.mark.parametrize("name", REFUSED_VALUES)
def test_a_record_that_cannot_be_written_is_refused_and_the_writer_goes_on(tmp_path: Path, name: str) -> None:
    refused, reason = REFUSED_VALUES[name]
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        append_all(writer, numbered(0, 5))
        with pytest.raises(BadRecord, match=reason):
            writer.append(**refused)
        assert writer.next_offset == 5
        append_all(writer, numbered(5, 2))
    assert records(tmp_path / "segment.log") == [*numbered(0, 5), *numbered(5, 2)]


def test_values_may_be_any_bytes_and_headers_any_pairs(tmp_path: Path) -> None:
    berlin = timezone(timedelta(hours=1))
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        writer.append(
            key=bytearray(b"key"),
            value=memoryview(b"value"),
            headers={"a": bytearray(b"1"), "b": None},
            timestamp=datetime(2023, 11, 14, 23, 13, 20, 999, tzinfo=berlin),
        )
        writer.append(headers=iter([(b"a", b"1"), ("a", b"2")]))
    assert records(tmp_path / "segment.log") == [
        Written(0, START, b"key", b"value", (("a", b"1"), ("b", None))),
        Written(1, -1, None, None, (("a", b"1"), ("a", b"2"))),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "brotli"},
        {"compression": "gzip", "compression_level": 0},
        {"compression": "zstd", "compression_level": 23},
        {"compression": "snappy", "compression_level": 1},
    ],
    ids=str,
)
def test_a_compression_that_kafka_does_not_have_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(BadCompression):
        KafkaSegmentWriter(tmp_path / "t-0", **options)
    assert names(tmp_path) == []


@pytest.mark.parametrize("compression", [("gzip", 1, 9), ("lz4", 0, 12), ("zstd", -5, 19)])
def test_a_higher_level_makes_fewer_bytes(tmp_path: Path, compression: tuple[str, int, int]) -> None:
    name, *levels = compression
    sizes = []
    for level in levels:
        path = tmp_path / f"{level}.log"
        with KafkaSegmentWriter(path, compression=name, compression_level=level) as writer:
            append_all(writer, numbered(0, 2000))
        assert records(path) == list(numbered(0, 2000))
        sizes.append(path.stat().st_size)
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    "option",
    [{"batch_records": 0}, {"batch_bytes": 0}, {"segment_bytes": 2**31}, {"base_offset": -1}, {"leader_epoch": -2}],
)
def test_an_option_out_of_range_is_refused(tmp_path: Path, option: dict[str, int]) -> None:
    with pytest.raises(BadRecord, match=f"{next(iter(option))} is .*, must be between"):
        KafkaSegmentWriter(tmp_path / "t-0", **option)  # type: ignore[arg-type]
    with pytest.raises(BadRecord, match="no timestamp type 'now'"):
        KafkaSegmentWriter(tmp_path / "t-0", timestamp_type="now")  # type: ignore[arg-type]
    assert names(tmp_path) == []
