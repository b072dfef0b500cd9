"""The data sources on a real session: columns, options, modes, SQL, and the same rows as without Spark."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession

import thawline
from thawline import formats
from thawline.errors import UnknownFormat
from thawline.formats import FORMATS
from thawline.spark.sources import SOURCES, AerospikeSource, RbfSource

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = GOLDEN / "rbf" / "many-frames.rbf"
SEGMENT = GOLDEN / "kafka" / "v2-none.log"
NAMES = {source.format_name: source.name() for source in SOURCES}


def rows(frame: DataFrame) -> list[dict[str, object]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


@pytest.fixture
def flipped(tmp_path: Path) -> Path:
    """A log of 40 frames, the tenth of which is damaged."""
    data = bytearray(LOG.read_bytes())
    data[data.index(b"record 9")] ^= 1
    file = tmp_path / "flipped.rbf"
    file.write_bytes(data)
    return file


SPARK_TYPES = {
    "bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "double": "double",
    "string": "string", "binary": "binary", "timestamp": "timestamp", "decimal(20, 0)": "decimal(20,0)",
}  # fmt: skip


def spark_type(declared: str) -> str:
    """Spark's name for a type as a declaration writes it."""
    if not declared.startswith("list<"):
        return SPARK_TYPES[declared]
    items = [item.split(": ") for item in declared.removeprefix("list<").removesuffix(">").split(", ")]
    return f"array<struct<{','.join(f'{name}:{SPARK_TYPES[kind]}' for name, kind in items)}>>"


@pytest.mark.parametrize("name", FORMATS)
def test_the_schema_of_a_source_is_the_declared_one(spark: SparkSession, name: str) -> None:
    declared = importlib.import_module(f"thawline.generated.tables.{name}").TABLES
    assert list(formats.get(name).tables) == list(declared)
    for table, public in declared.items():
        frame = spark.read.format(NAMES[name]).option("table", table).load(str(GOLDEN))
        columns = [(column.name, spark_type(column.type)) for column in public.columns if not column.is_extra]
        found = [(field.name, field.dataType.simpleString()) for field in frame.schema]
        assert found == [*columns, ("_corrupt_record", "binary")]


def test_kafka_segments_have_the_columns_of_the_kafka_source(spark: SparkSession) -> None:
    frame = spark.read.format("kafka_segment").option("mode", "DROPMALFORMED").load(str(SEGMENT))
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int,"
        "headers:array<struct<key:string,value:binary>>>"
    )
    without = spark.read.format("kafka_segment").option("includeHeaders", "false").load(str(SEGMENT))
    assert "headers" not in without.columns


@pytest.mark.parametrize("size", ["300", "1g"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_session_reads_what_a_single_process_reads(spark: SparkSession, name: str, size: str) -> None:
    file = max(
        (GOLDEN / name).glob("*[!n]"), key=lambda path: path.stat().st_size * (path.suffix not in {".json", ".bin"})
    )
    frame = spark.read.format(NAMES[name]).options(maxPartitionBytes=size, mode="DROPMALFORMED").load(str(file))
    with thawline.open(file, name) as cold:
        expected = pa.table(cold)
    found = pa.Table.from_batches(frame.toArrow().to_batches())
    assert found.equals(expected.cast(found.schema))


def test_damage_is_a_row_of_nulls_with_its_bytes(spark: SparkSession, flipped: Path) -> None:
    found = rows(spark.read.format("rbf").option("includeFileMetadata", "true").load(str(flipped)))
    corrupt = [row for row in found if row["_corrupt_record"] is not None]
    assert (len(found), len(corrupt), corrupt[0]["tag"]) == (40, 1, None)
    data = flipped.read_bytes()
    assert bytes(corrupt[0]["_corrupt_record"]) == data[corrupt[0]["_start"] : corrupt[0]["_end"]]  # type: ignore[arg-type,misc]
    assert {row["_file"] for row in found} == {str(flipped)}


def test_damage_is_left_out_or_raised_if_asked(spark: SparkSession, flipped: Path) -> None:
    reader = spark.read.format("rbf")
    assert reader.option("mode", "dropMalformed").load(str(flipped)).count() == 39
    with pytest.raises(PythonException, match=r"flipped.rbf: byte 0x[0-9a-f]+: RBF104 checksum mismatch"):
        spark.read.format("rbf").option("mode", "FAILFAST").load(str(flipped)).collect()


def test_the_column_for_damage_can_have_another_name(spark: SparkSession, flipped: Path) -> None:
    frame = spark.read.format("rbf").option("columnNameOfCorruptRecord", "broken").load(str(flipped))
    assert frame.where("broken is not null").count() == 1


def test_a_user_schema_narrows_and_orders_the_columns(spark: SparkSession) -> None:
    frame = spark.read.format("rbf").schema("payload string, tag int").load(str(LOG))
    assert rows(frame)[1] == {"payload": "record 1", "tag": 257}
    named = spark.read.format("kafka_segment").option("columns", "offset,producer_id").load(str(SEGMENT))
    assert named.columns == ["offset", "producer_id"]
    with pytest.raises((AnalysisException, PythonException), match=r"rbf\.frames has no column colour"):
        spark.read.format("rbf").schema("colour string").load(str(LOG)).collect()


@pytest.mark.parametrize(
    "option, value, said",
    [
        ("maxPartitonBytes", "1", "there is no option maxpartitonbytes; did you mean maxPartitionBytes"),
        ("mode", "LENIENT", "mode is 'LENIENT': it is one of PERMISSIVE, DROPMALFORMED, FAILFAST"),
        ("table", "rows", "rbf has no table 'rows'; there are frames"),
        ("maxPartitionBytes", "0", "it is at least 1"),
        ("recursiveFileLookup", "maybe", "it is true or false"),
        ("modifiedAfter", "yesterday", "it is a time such as"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(
    spark: SparkSession, option: str, value: str, said: str
) -> None:
    with pytest.raises(AnalysisException, match=said):
        spark.read.format("rbf").option(option, value).load(str(LOG))


def test_folders_globs_lists_and_filters_choose_files(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a.rbf", "b.rbf", "deep/c.rbf", "deep/notes.txt", "_hidden.rbf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LOG.read_bytes() if name.endswith(".rbf") else b"no log")
    os.utime(tmp_path / "a.rbf", (10**9, 10**9))

    def count(path: str | list[str], **options: str) -> int:
        return spark.read.format("rbf").options(**options).load(path).count() // 40

    assert count(str(tmp_path)) == 2
    assert count(str(tmp_path), recursiveFileLookup="true") == 3
    assert count(str(tmp_path / "*.rbf"), pathGlobFilter="{a,x}*") == 1
    assert count([str(tmp_path / "a.rbf"), str(tmp_path / "deep")]) == 2
    assert count(f"file://{tmp_path}", modifiedAfter="2001-09-10T00:00:00") == 1
    assert count(str(tmp_path), modifiedBefore="2001-09-10T00:00:00Z") == 1
    with pytest.raises((AnalysisException, PythonException), match=r"gone.rbf: no such file or folder"):
        count(str(tmp_path / "gone.rbf"))
    assert count([str(tmp_path / "gone.rbf"), str(tmp_path / "a.rbf")], ignoreMissingFiles="true") == 1


def test_a_file_that_only_the_driver_saw_is_an_error_that_says_so(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "short-lived.rbf"
    file.write_bytes(LOG.read_bytes())
    frame = spark.read.format("rbf").load(str(file))
    assert frame.count() == 40
    file.unlink()
    with pytest.raises(PythonException, match="it must lie where every worker can see it"):
        frame.count()


def test_a_folder_without_a_file_of_the_format_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of interest")
    source = RbfSource({"path": str(tmp_path)})
    with pytest.raises(UnknownFormat, match="no file there is recognised as RBF log"):
        source.reader(source.schema()).partitions()


def test_bins_can_be_columns() -> None:
    source = AerospikeSource({"path": str(GOLDEN / "aerospike" / "document-sample.asb"), "bins": "columns"})
    assert "bins" not in source.schema().names
    reader = source.reader(source.schema())
    found = [batch for portion in reader.partitions() for batch in reader.read(portion)]
    assert found[0].schema.names == source.schema().names


def test_sql_reads_cold_files(spark: SparkSession) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW log USING rbf OPTIONS (path '{LOG}')")
    assert spark.sql("SELECT count(*) AS n, min(tag) AS least FROM log").collect()[0].asDict() == {
        "n": 40,
        "least": 256,
    }


def test_options_of_kafka_have_the_names_of_the_kafka_source(spark: SparkSession) -> None:
    reader = spark.read.format("kafka_segment").options(startingOffsets="102", endingOffsets="105")
    assert [row["offset"] for row in rows(reader.load(str(SEGMENT)))] == [102, 103, 104]
