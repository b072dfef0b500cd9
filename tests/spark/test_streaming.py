"""Files that grow, as a stream: each row once, wherever the writer was when somebody looked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from accounts import golden_files
from leveldb_logs import SPEC, fragments, written
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles

import thawline
from thawline.cold import ColdFile
from thawline.errors import SourceError
from thawline.formats import FORMATS
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.options import BadOption
from thawline.source import open_source
from thawline.spark.ksy import KsySource
from thawline.spark.settings import understood
from thawline.spark.sources import SOURCES, ColdSource, KafkaSource
from thawline.spark.streaming import GrowingReader, Offset

PARTS_OF_FILES = (".address", ".bin", ".index", ".timeindex", ".txnindex", ".snapshot")
FILES = [golden.file for name in FORMATS for golden in golden_files(name) if golden.file.suffix not in PARTS_OF_FILES]
ALL = ReadAllAvailable()


class Query:
    """What Spark does with a stream: ask for offsets, read what is between them, keep the last one as text."""

    def __init__(
        self, path: Path | str, format_name: str, source: type[ColdSource] | None = None, **options: str
    ) -> None:
        made = source or next(each for each in SOURCES if each.format_name == format_name)
        self.make = lambda: made({"path": str(path), **options})
        self.restart()
        self.at: Offset = self.reader.initialOffset()

    def restart(self) -> None:
        made = self.make()
        self.reader: GrowingReader = made.streamReader(made.schema())

    def close(self) -> None:
        """From now on, every file has a newer one beside it."""
        listed = self.reader._listed
        self.reader._listed = lambda: {path: (file, True) for path, (file, _) in listed().items()}  # type: ignore[method-assign]

    def batch(self, limit: ReadLimit = ALL) -> list[dict[str, Any]]:
        end = self.reader.latestOffset(self.at, limit)
        found = [
            row
            for gain in self.reader.partitions(self.at, end)
            for rows in self.reader.read(gain)
            for row in rows.to_pylist()
        ]
        self.at = json.loads(json.dumps(end))
        return found


def whole(file: Path, format_name: str) -> list[dict[str, Any]]:
    """The rows of a file as `thawline cat` gives them."""
    settings = understood(format_name, {"path": str(file)})
    with open_source(str(file)) as source:
        cold = ColdFile(source, settings.format, settings.table, "keep")
        return [row for batch in cold.batches() for row in batch.to_pylist()]


def keyed(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [repr(sorted(row.items())) for row in rows if row["_corrupt_record"] is None]


def damaged(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(row["_corrupt_record"] or b"" for row in rows)


def steps(random: Random, size: int) -> Iterator[int]:
    yield from sorted(random.randrange(size + 1) for _ in range(6))
    yield size


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_file_that_is_written_piece_by_piece_gives_each_row_once(file: Path, tmp_path: Path) -> None:
    name, data, random = file.parent.name, file.read_bytes(), Random(len(file.name))
    folder = tmp_path / name
    folder.mkdir()
    growing = folder / file.name
    query = Query(growing, name, mode="PERMISSIVE")
    found = []
    for size in steps(random, len(data)):
        growing.write_bytes(data[:size])
        found += query.batch()
        query.restart()
    expected = whole(file, name)
    if thawline.verify(file, name).ok:
        assert keyed(found) == keyed(expected)
    query.close()
    found += query.batch()
    assert keyed(found) == keyed(expected)
    assert damaged(found) == damaged(expected)
    assert query.batch() == []


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    """A partition of three segments with 300 records."""
    folder = tmp_path / "orders-0"
    with KafkaSegmentWriter(folder, batch_records=10, segment_bytes=12_000, indexes=False) as writer:
        for number in range(300):
            writer.append(value=b"%0100d" % number, timestamp=number)
    assert len(list(folder.glob("*.log"))) >= 3
    return folder


def offsets(rows: Iterable[dict[str, Any]]) -> list[int]:
    return [row["offset"] for row in rows]


def test_a_torn_end_waits_while_the_segment_is_the_newest_and_is_damage_once_it_is_closed(segments: Path) -> None:
    first, second, *_ = sorted(segments.glob("*.log"))
    away = segments.parent / "away"
    away.mkdir()
    for file in sorted(segments.glob("*.log"))[1:]:
        shutil.move(file, away / file.name)
    data = first.read_bytes()
    query = Query(segments, "kafka")
    first.write_bytes(data[:-20])
    found = query.batch()
    assert offsets(found) == list(range(len(found)))
    assert damaged(found) == b""
    assert query.batch() == []
    shutil.move(away / second.name, second)
    more = query.batch()
    assert len(damaged(more)) > 1000
    assert offsets(row for row in more if row["offset"] is not None)[0] == len(found) + 10
    assert query.batch() == []


@pytest.mark.parametrize("limit", [ReadMaxFiles(1), ReadMaxBytes(1500)])
def test_limits_bound_a_micro_batch_and_lose_nothing(segments: Path, limit: ReadLimit) -> None:
    query, batches = Query(segments, "kafka"), []
    while found := query.batch(limit):
        batches.append(offsets(found))
        query.restart()
    assert [offset for batch in batches for offset in batch] == list(range(300))
    assert len(batches) >= 3
    assert max(map(len, batches)) < 200


def test_options_set_the_limit_and_the_start(segments: Path) -> None:
    query = Query(segments, "kafka", maxFilesPerTrigger="2", startingOffsets="latest")
    assert query.reader.getDefaultReadLimit() == ReadMaxFiles(2)
    assert query.batch() == []
    (segments / "00000000000000000300.log").write_bytes(min(segments.glob("*.log")).read_bytes())
    assert len(query.batch()) > 50
    with pytest.raises(BadOption, match="give one of them"):
        Query(segments, "kafka", maxFilesPerTrigger="2", maxBytesPerTrigger="9")


def test_available_now_reads_what_there_was_at_the_start(segments: Path) -> None:
    last = max(segments.glob("*.log"))
    kept = last.read_bytes()
    last.unlink()
    query = Query(segments, "kafka")
    query.reader.prepareForTriggerAvailableNow()
    last.write_bytes(kept)
    known = query.batch()
    assert 0 < len(known) < 300
    assert query.batch() == []
    query.restart()
    assert offsets(known) + offsets(query.batch()) == list(range(300))


def test_segments_that_are_compacted_or_deleted_after_they_were_read_give_nothing_again(segments: Path) -> None:
    query = Query(segments, "kafka")
    assert len(query.batch()) == 300
    first, second, *_ = sorted(segments.glob("*.log"))
    first.write_bytes(first.read_bytes() + second.read_bytes())
    second.unlink()
    assert query.batch() == []


@pytest.mark.parametrize("change", ["delete", "shorten"])
def test_a_segment_that_is_gone_before_it_was_read_is_an_error_unless_that_is_allowed(
    segments: Path, change: str
) -> None:
    strict, lenient = Query(segments, "kafka"), Query(segments, "kafka", failOnDataLoss="false")
    assert strict.batch(ReadMaxBytes(1500)) == lenient.batch(ReadMaxBytes(1500)) != []
    first = min(segments.glob("*.log"))
    first.unlink() if change == "delete" else first.write_bytes(b"")
    with pytest.raises(SourceError, match=r"rows are lost; failOnDataLoss=false goes on without them"):
        strict.batch()
    assert offsets(lenient.batch())[-1] == 299


def test_a_filter_leaves_rows_out_of_a_stream(segments: Path) -> None:
    assert offsets(Query(segments, "kafka", filter="offset >= 290").batch()) == list(range(290, 300))


def test_a_folder_may_still_be_empty(tmp_path: Path) -> None:
    query = Query(tmp_path / "later", "rbf")
    assert query.batch() == []


def test_spark_runs_the_stream_and_goes_on_after_a_restart(spark: SparkSession, segments: Path, tmp_path: Path) -> None:
    last = max(segments.glob("*.log"))
    kept = last.read_bytes()
    last.unlink()

    def run() -> int:
        stream = spark.readStream.format("kafka_segment").option("maxFilesPerTrigger", "1").load(str(segments))
        writer = stream.select("offset", "value").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "out"), format="parquet")
        query.awaitTermination(120)
        assert query.exception() is None
        return spark.read.parquet(str(tmp_path / "out")).count()

    assert run() < 300
    last.write_bytes(kept)
    assert run() == 300
    rows = spark.read.parquet(str(tmp_path / "out")).select("offset").collect()
    assert sorted(row["offset"] for row in rows) == list(range(300))


def test_what_create_table_cannot_do_is_said() -> None:
    with pytest.raises(BadOption, match=r"CREATE TEMPORARY VIEW name USING source OPTIONS"):
        KafkaSource({"owner": "me"}).schema()


def test_a_bucket_that_grows_gives_each_row_once(s3: Any, segments: Path) -> None:
    s3.create_bucket(Bucket="growing")
    query = Query("s3a://growing/orders-0", "kafka")
    assert query.batch() == []
    first, second, *_ = sorted(segments.glob("*.log"))
    data = first.read_bytes()

    def put(file: Path, body: bytes) -> None:
        s3.put_object(Bucket="growing", Key=f"orders-0/{file.name}", Body=body)

    put(first, data[: len(data) // 2])
    found = query.batch()
    assert 0 < len(found) < 120
    query.restart()
    put(first, data[:-20])
    put(second, second.read_bytes()[:-20])
    found += query.batch()
    assert data[:-20].endswith(damaged(found))  # a newer segment stands beside it
    assert damaged(found) != b""
    assert query.batch() == []
    query.close()
    found += query.batch()
    intact = [row for row in found if row["_corrupt_record"] is None]
    assert len(set(offsets(intact))) == len(intact)
    s3.delete_object(Bucket="growing", Key=f"orders-0/{first.name}")
    assert query.batch() == []


def test_files_of_a_spec_that_grow_are_a_stream(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "a.log"
    data = written(tmp_path, {f"key{number}".encode(): b"%d" % number * 200 for number in range(300)})
    query = Query(log, "ksy", source=KsySource, spec=str(SPEC), table="fragments")
    found = []
    for size in (len(data) // 3, len(data) // 2, len(data)):
        log.write_bytes(data[:size])
        found += query.batch()
        query.restart()
    query.close()
    found += query.batch()
    kinds = [(row["body"]["kind"], row["body"]["data"]) for row in found if row["_corrupt_record"] is None]
    assert kinds == [(one.kind, one.data) for one in fragments(data)]
