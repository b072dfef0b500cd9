"""What KafkaSegmentWriter writes, refuses, and leaves behind."""

from __future__ import annotations

import io
import resource
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kaitaistruct
import pyarrow as pa
import pytest
from accounts import golden_files
from engines import plainly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka_written import (
    CODECS,
    EVERY_KIND,
    FIRST,
    HEADERS,
    START,
    Written,
    append_all,
    batches,
    names,
    numbered,
    one_column,
    records,
    records_of,
    write_everything,
)

from thawline import specs
from thawline.errors import SourceError, ThawlineError
from thawline.formats.kafka import write as writer_module
from thawline.formats.kafka.write import (
    BadRecord,
    KafkaSegmentWriter,
    OutOfTurn,
    Producer,
    SegmentFull,
)

GOLDEN = {golden.file.name: golden.data for golden in golden_files("kafka")}


def table(written: tuple[Written, ...]) -> pa.RecordBatch:
    """Records as the table `records` has them."""
    times = [1000 * record.timestamp for record in written]
    headers = [[{"key": key, "value": value} for key, value in record.headers] for record in written]
    columns = {
        "key": pa.array([record.key for record in written], pa.binary()),
        "value": pa.array([record.value for record in written], pa.binary()),
        "topic": pa.array(["orders"] * len(written)),
        "partition": pa.array([0] * len(written), pa.int32()),
        "offset": pa.array([record.offset for record in written], pa.int64()),
        "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
        "timestampType": pa.array([0] * len(written), pa.int32()),
        "headers": pa.array(headers, HEADERS),
    }
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("compression", CODECS)
def test_what_is_appended_is_read_back(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"{FIRST}.log"
    assert tuple(write_everything(path, compression)) == tuple(records(path))


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("rows_at_once", [1, 4, 1000])
def test_rows_and_records_give_the_same_bytes(tmp_path: Path, compression: str, rows_at_once: int) -> None:
    written = (*EVERY_KIND, *numbered(6, 30), *numbered(100, 20))
    with KafkaSegmentWriter(tmp_path / "one.log", compression=compression, batch_records=11) as writer:
        append_all(writer, written)
    with KafkaSegmentWriter(tmp_path / "rows.log", compression=compression, batch_records=11) as writer:
        whole = table(written)
        for start in range(0, len(written), rows_at_once):
            part = whole.slice(start, rows_at_once)
            assert writer.append_batch(part) == part["offset"][-1].as_py() + 1
    assert (tmp_path / "one.log").read_bytes() == (tmp_path / "rows.log").read_bytes()
    assert records(tmp_path / "rows.log") == list(written)


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_the_uncompiled_encoder_writes_the_same_bytes(tmp_path: Path, compression: str) -> None:
    write_everything(tmp_path / "native.log", compression)
    with plainly():
        write_everything(tmp_path / "uncompiled.log", compression)
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        native, uncompiled = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("native", "uncompiled"))
        assert native == uncompiled


def test_heads_are_what_the_spec_writes(tmp_path: Path) -> None:
    path = tmp_path / "segment.log"
    write_everything(path, "none")
    written = path.read_bytes()
    assert b"".join(by_structure(batch) for batch in batches(path)) == written


def by_structure(read: Any) -> bytes:
    """A batch written by the generated structure, field by field from what a parser read."""
    batch = specs.structure("kafka_record_batch")()
    batch.base_offset, batch.len_body = read.base_offset, read.len_body
    batch.body = body = type(batch).Body(None, batch, batch._root)
    body.attributes = attributes = type(batch).Attributes(None, body, batch._root)
    for node, source in ((body, read.body), (attributes, read.body.attributes)):
        for name in set(node.SEQ_FIELDS) - {"attributes"}:
            setattr(node, name, getattr(source, name))
    attributes.compression = batch.Compression(attributes.compression.value)  # each build has enums of its own
    attributes.timestamp_type = batch.TimestampType(attributes.timestamp_type.value)
    attributes._check()
    body._check()
    batch._check()
    with kaitaistruct.KaitaiStream(io.BytesIO(bytearray(12 + batch.len_body))) as stream:
        batch._write(stream)
        return bytes(stream.to_byte_array())


def test_the_golden_transactions_and_their_index_are_written_byte_for_byte(tmp_path: Path) -> None:
    aborted = Producer(1000, 5, is_transactional=True)
    committed = Producer(1001, is_transactional=True)
    turns = {1000: aborted, 1001: committed, -1: None}
    path = tmp_path / "transactions.log"
    golden = tmp_path / "golden.log"
    golden.write_bytes(GOLDEN["transactions.log"])
    with KafkaSegmentWriter(path) as writer:
        for batch in batches(golden):
            producer = turns[batch.body.producer_id]
            if batch.body.attributes.is_control:
                end = writer.abort if producer is aborted else writer.commit
                assert producer
                producer.producer_epoch = batch.body.producer_epoch  # of the commit one more than before (KIP-890)
                end(producer, coordinator_epoch=3, timestamp=batch.body.base_timestamp)
            else:
                append_all(writer, tuple(records_of(batch)), producer=producer)
                writer.flush()
    assert path.read_bytes() == GOLDEN["transactions.log"]
    assert path.with_suffix(".txnindex").read_bytes() == GOLDEN["transactions.txnindex"]


def test_the_golden_idempotent_producer_is_written_byte_for_byte(tmp_path: Path) -> None:
    golden = tmp_path / "golden.log"
    golden.write_bytes(GOLDEN["idempotent.log"])
    producer = Producer(4000, 2, sequence=2**31 - 1 - 5)
    with KafkaSegmentWriter(tmp_path / "idempotent.log", batch_records=4) as writer:
        append_all(writer, tuple(records(golden)), producer=producer)
    assert (tmp_path / "idempotent.log").read_bytes() == GOLDEN["idempotent.log"]
    assert producer.sequence == 6


VALUES = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.tuples(VALUES, VALUES, st.integers(-1, 2**62), st.integers(1, 2**33), st.lists(st.tuples(st.text(), VALUES)))
)


@given(given=RECORDS, batch_bytes=st.integers(1, 500), compression=st.sampled_from(CODECS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_record_is_read_back(
    tmp_path: Path, given: list[tuple[Any, ...]], batch_bytes: int, compression: str
) -> None:
    offset, written = -1, []
    for key, value, timestamp, step, headers in given:
        offset += step
        written.append(Written(offset, timestamp, key, value, tuple(headers)))
    folder = tmp_path / "any-0"
    with KafkaSegmentWriter(folder, batch_bytes=batch_bytes, compression=compression) as writer:
        append_all(writer, tuple(written))
    logs = [path for path in writer.files if path.suffix == ".log"]
    assert [record for log in logs for record in records(log)] == written
    for path in (*writer.files, folder):
        path.rmdir() if path.is_dir() else path.unlink()


def test_a_batch_ends_where_it_has_enough_records(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "segment.log", batch_records=7) as writer:
        append_all(writer, numbered(0, 20))
    assert [batch.body.num_records for batch in batches(tmp_path / "segment.log")] == [7, 7, 6]


def test_a_batch_ends_before_it_has_too_many_bytes(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "segment.log", batch_bytes=500) as writer:
        append_all(writer, (*numbered(0, 50), Written(50, START, None, bytes(600)), *numbered(51, 2)))
    *many, long, last = batches(tmp_path / "segment.log")
    assert all(400 < len(batch.body.records) <= 500 for batch in many[:-1])
    assert (long.base_offset, long.body.num_records, len(long.body.records) > 600) == (50, 1, True)
    assert last.base_offset == 51


def test_a_batch_ends_where_offsets_are_too_far_apart(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "far-0") as writer:
        for offset in (0, 2**31 - 1, 2**31, 2**33):
            writer.append(value=b"", offset=offset)
    assert [path.name for path in writer.files if path.suffix == ".log"] == [
        f"{FIRST}.log",
        f"{2**31:020d}.log",
        f"{2**33:020d}.log",
    ]
    assert [record.offset for record in records(writer.files[2])] == [0, 2**31 - 1]


def test_flush_ends_a_batch(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        writer.flush()
        append_all(writer, numbered(0, 3))
        writer.flush()
        append_all(writer, numbered(3, 2))
    assert [batch.body.num_records for batch in batches(tmp_path / "segment.log")] == [3, 2]


def test_a_batch_has_one_append_time(tmp_path: Path) -> None:
    rows_ = pa.RecordBatch.from_pydict(
        {
            "value": [b"a", b"b", b"c", b"d", b"e"],
            "timestamp": pa.array([5, 5, 6, 6, 7], pa.timestamp("ms", "UTC")),
            "timestampType": pa.array([1, 1, 1, 0, None], pa.int32()),
        }
    )
    with KafkaSegmentWriter(tmp_path / "segment.log") as writer:
        writer.append_batch(rows_)
    read = list(batches(tmp_path / "segment.log"))
    heads = [
        (batch.body.num_records, batch.body.attributes.timestamp_type.value, batch.body.max_timestamp) for batch in read
    ]
    assert heads == [(2, 1, 5), (1, 1, 6), (2, 0, 7)]
    assert [record.timestamp for record in records(tmp_path / "segment.log")] == [5, 5, 6, 6, 7]


def test_segments_are_rolled_before_they_are_too_large(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "orders-0", segment_bytes=20_000, batch_bytes=1000, base_offset=5) as writer:
        append_all(writer, numbered(5, 3000))
    logs = [path for path in writer.files if path.suffix == ".log"]
    assert len(logs) > 3
    assert all(path.stat().st_size <= 20_000 for path in logs)
    assert [record for log in logs for record in records(log)] == list(numbered(5, 3000))
    assert sum(len(log.with_suffix(".index").read_bytes()) for log in logs) > 8 * len(logs)
    for log in logs:
        assert int(log.stem) == next(batches(log)).base_offset
        written = tuple(log.with_suffix(suffix).read_bytes() for suffix in (".index", ".timeindex"))
        assert written == indexes_of(log)


def indexes_of(log: Path) -> tuple[bytes, bytes]:
    """Both index files as they follow from the batches of a segment; each batch here has a later time than the last."""
    base_offset, position, previous = int(log.stem), 0, 0
    offsets, times, time = b"", b"", b""
    for batch in batches(log):
        last = batch.base_offset + batch.body.last_offset_delta - base_offset
        time = struct.pack(">qi", batch.body.max_timestamp, last)
        if position - previous > 4096:
            offsets, times = offsets + struct.pack(">ii", last, position), times + time
            previous = position
        position += 12 + batch.len_body
    return offsets, times if times.endswith(time) else times + time


def test_a_batch_that_is_larger_than_a_segment_may_be_is_alone_in_one(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "t-0", segment_bytes=100, batch_records=1) as writer:
        for size in (5, 500, 5, 5):
            writer.append(value=bytes(size))
    assert [path.name for path in writer.files if path.suffix == ".log"] == [
        f"{offset:020d}.log" for offset in range(4)
    ]


def test_a_writer_without_records_leaves_an_empty_segment(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "t-0", base_offset=42) as writer:
        pass
    assert [(path.name, path.stat().st_size) for path in writer.files] == [
        ("00000000000000000042.index", 0),
        ("00000000000000000042.timeindex", 0),
        ("00000000000000000042.log", 0),
    ]


def test_no_indexes_are_written_where_none_are_wanted(tmp_path: Path) -> None:
    producer = Producer(1, is_transactional=True)
    with KafkaSegmentWriter(tmp_path / "t-0", indexes=False) as writer:
        writer.append(value=b"", producer=producer)
        writer.abort(producer)
    assert names(tmp_path / "t-0") == [f"{FIRST}.log"]


def test_the_name_of_a_single_segment_is_its_base_offset(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000100.log"
    with KafkaSegmentWriter(path) as writer:
        assert writer.append(value=b"first") == 100
        with pytest.raises(BadRecord, match="the offset 100 is not at least 101"):
            writer.append(offset=100)
    assert [record.offset for record in records(path)] == [100]
    with pytest.raises(BadRecord, match="begins with offset 200 by its name, not with 5"):
        KafkaSegmentWriter(tmp_path / "00000000000000000200.log", base_offset=5)


def test_a_single_segment_that_is_full_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "LARGEST_SEGMENT", 1000)
    writer = KafkaSegmentWriter(tmp_path / "one.log", batch_records=1, segment_bytes=1000)
    with pytest.raises(SegmentFull, match="give a folder, where another can begin"), writer:
        append_all(writer, numbered(0, 1000))
    assert names(tmp_path) == []


def test_the_transaction_index_knows_what_was_stable(tmp_path: Path) -> None:
    first, second, third = (Producer(number, is_transactional=True) for number in (1, 2, 3))
    with KafkaSegmentWriter(tmp_path / "t-0", segment_bytes=1000, batch_records=1) as writer:
        for producer in (first, second, first, third):
            writer.append(value=b"x" * 200, producer=producer)
        writer.abort(first)  # offset 4; what began second is open from 1 on
        writer.commit(third)
        writer.append(value=b"x" * 700)
        writer.abort(second)  # offset 7, in another segment than its records; nothing else is open
        writer.abort(first)  # has no records, so it is not in the index
    entries = {
        path.name: list(struct.iter_unpack(">hqqqq", path.read_bytes()))
        for path in writer.files
        if path.suffix == ".txnindex"
    }
    assert entries == {
        "00000000000000000003.txnindex": [(0, 1, 0, 4, 1)],
        "00000000000000000006.txnindex": [(0, 2, 1, 7, 8)],
    }


def test_only_a_transactional_producer_has_a_transaction_to_end(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "t-0") as writer:
        with pytest.raises(BadRecord, match="producer 5 is not transactional"):
            writer.commit(Producer(5))
        with pytest.raises(BadRecord, match="does not fit 31 bits"):
            writer.abort(Producer(5, is_transactional=True), coordinator_epoch=-1)
        assert writer.next_offset == 0


@pytest.mark.parametrize("fields", [{"producer_id": -1}, {"producer_epoch": 2**15}, {"sequence": 2**31}])
def test_a_producer_that_no_head_can_hold_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(BadRecord, match="must be at least 0 and below"):
        Producer(**({"producer_id": 1} | fields))


def test_a_raised_epoch_holds_for_the_marker_and_what_follows_it(tmp_path: Path) -> None:
    producer = Producer(1, 4, is_transactional=True)
    with KafkaSegmentWriter(tmp_path / "one.log") as writer:
        writer.append(value=b"old", producer=producer)
        producer.producer_epoch += 1
        writer.commit(producer)
        writer.append(value=b"new", producer=producer)
        producer.producer_epoch += 1
        writer.append(value=b"newer", producer=producer)
    heads = [(batch.body.producer_epoch, batch.body.base_sequence) for batch in batches(tmp_path / "one.log")]
    assert heads == [(4, 0), (5, -1), (5, 1), (6, 2)]


def test_the_checkpoint_says_where_each_leader_began(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "t-0", leader_epoch=3, base_offset=10, leader_epoch_checkpoint=True) as writer:
        append_all(writer, numbered(10, 5))
        writer.leader_epoch = 4  # of which nothing is written
        writer.leader_epoch = 9
        append_all(writer, numbered(15, 2))
        with pytest.raises(BadRecord, match="leader_epoch is 8, must be between 9"):
            writer.leader_epoch = 8
    assert (tmp_path / "t-0" / "leader-epoch-checkpoint").read_text(encoding="ascii") == "0\n2\n3 10\n9 15\n"
    assert [batch.body.partition_leader_epoch for batch in batches(writer.files[2])] == [3, 9]


def test_nothing_has_a_name_before_it_is_complete(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "one.log") as writer:
        append_all(writer, numbered(0, 5))
        writer.flush()
        assert all(name.startswith(".thawline-") for name in names(tmp_path))
    assert names(tmp_path) == ["one.index", "one.log", "one.timeindex"]


@pytest.mark.parametrize("folder", ["new-0", "there-0"])
def test_an_exception_removes_all_that_was_written(tmp_path: Path, folder: str) -> None:
    (tmp_path / "there-0").mkdir()
    (tmp_path / "there-0" / "partition.metadata").touch()
    writer = KafkaSegmentWriter(tmp_path / folder, segment_bytes=1000, batch_bytes=500)
    append_all(writer, numbered(0, 5000))
    assert len(names(tmp_path / folder)) > 6
    with pytest.raises(KeyError), writer:
        raise KeyError
    assert names(tmp_path) == ["there-0"]
    assert names(tmp_path / "there-0") == ["partition.metadata"]
    assert writer.files == []


def test_a_full_disk_removes_all_that_was_written(tmp_path: Path) -> None:
    old_limit, old_handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer = KafkaSegmentWriter(tmp_path / "t-0", batch_bytes=50_000)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, old_limit[1]))
        with pytest.raises(SourceError, match=f"{FIRST}.log: cannot be written"):
            append_all(writer, numbered(0, 100_000, bytes(1000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
    assert names(tmp_path) == []
    with pytest.raises(OutOfTurn, match="the writer is discarded"):
        writer.append(value=b"")
    writer.close()
    assert names(tmp_path) == []


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = KafkaSegmentWriter(tmp_path / "one.log")
    writer.close()
    writer.close()
    writer.discard()
    producer = Producer(1, is_transactional=True)
    calls: list[Callable[[], object]] = [
        lambda: writer.append(value=b""),
        lambda: writer.append_batch(one_column("value", pa.array([b""]))),
        lambda: writer.commit(producer),
        lambda: writer.abort(producer),
        writer.flush,
    ]
    for call in calls:
        with pytest.raises(ThawlineError, match="the writer is closed"):
            call()
    assert (tmp_path / "one.log").exists()


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for name in ("one.log", "t-0/00000000000000000007.log"):
        (tmp_path / name).write_bytes(b"old")
        with pytest.raises(SourceError, match=f"{name}: is there already and is not overwritten"):
            KafkaSegmentWriter((tmp_path / name).parent if "/" in name else tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"old"
    (tmp_path / "two.index").write_bytes(b"old")
    with (
        pytest.raises(SourceError, match=r"two\.index: is there already"),
        KafkaSegmentWriter(tmp_path / "two.log") as writer,
    ):
        writer.append(value=b"")
    assert names(tmp_path) == ["one.log", "t-0", "two.index"]


def test_what_is_there_is_written_over_on_request(tmp_path: Path) -> None:
    for text in (b"first", b"second"):
        with KafkaSegmentWriter(tmp_path / "one.log", overwrite=True) as writer:
            writer.append(value=text)
    assert [record.value for record in records(tmp_path / "one.log")] == [b"second"]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        KafkaSegmentWriter(tmp_path / "nowhere" / "t-0")
    with pytest.raises(SourceError, match="there is no folder"), KafkaSegmentWriter(tmp_path / "nowhere" / "x.log"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(SourceError), KafkaSegmentWriter(tmp_path / "file"):
        pass


def test_a_producer_gets_a_batch_of_its_own(tmp_path: Path) -> None:
    one, two = Producer(1), Producer(2, 4, sequence=10)
    with KafkaSegmentWriter(tmp_path / "one.log") as writer:
        for producer in (one, one, None, two, None, one):
            writer.append(value=b"", producer=producer)
        writer.append_batch(one_column("value", pa.array([b"", b""])), producer=one)
    heads = [
        (batch.body.producer_id, batch.body.producer_epoch, batch.body.base_sequence, batch.body.num_records)
        for batch in batches(tmp_path / "one.log")
    ]
    assert heads == [(1, 0, 0, 2), (-1, -1, -1, 1), (2, 4, 10, 1), (-1, -1, -1, 1), (1, 0, 2, 3)]
    assert (one.sequence, two.sequence) == (5, 11)
