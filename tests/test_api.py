"""`thawline.open`: what it takes, what it gives to others, and that it leaves the file alone."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import thawline
from thawline.cold import ColdFile
from thawline.damage import CORRUPT
from thawline.errors import FormatError, MissingExtra, SourceError, ThawlineError, UnknownFormat
from thawline.source import LocalSource, RemoteSource, open_source
from tools.bench.attack import file_of, frame

FRAMES = [frame(b"payload %d" % index, 0x41414141 + index, is_tombstone=index == 2) for index in range(5)]
LOG = file_of(*FRAMES)
DAMAGED = LOG[:40] + b"?" + LOG[41:]
"""The second frame has a wrong checksum."""
PAYLOADS = [b"payload %d" % index for index in range(5)]
LEFT = [PAYLOADS[0], *PAYLOADS[2:]]
GOLDEN = Path(__file__).parent / "golden"
OPEN = Path("/proc/self/fd")
NAMES = ["address", "length", "tag", "tag_text", "payload", "tombstone", "nested_suspect"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "some.rbf"
    path.write_bytes(LOG)
    return path


def payloads(cold: ColdFile) -> list[bytes | None]:
    return [payload for batch in cold for payload in batch["payload"].to_pylist()]


def read(source: Any, **options: Any) -> list[bytes | None]:
    with thawline.open(source, **options) as cold:
        return payloads(cold)


# What can be opened.


def test_a_path_opens(log: Path) -> None:
    assert read(log) == read(str(log)) == PAYLOADS
    with thawline.open(log) as cold:
        assert (cold.name, cold.size, cold.format.name) == (str(log), len(LOG), "rbf")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO])
def test_bytes_open(kind: type) -> None:
    assert read(kind(LOG)) == PAYLOADS
    assert read(kind(b""), format="rbf") == []


def test_a_memoryview_of_other_items_than_bytes_opens() -> None:
    assert read(memoryview(LOG).cast("I")) == PAYLOADS


def test_a_file_object_opens_and_is_left_open_where_it_was(log: Path) -> None:
    with log.open("rb") as file:
        file.seek(7)
        assert read(file) == PAYLOADS
        assert (file.tell(), file.read(2)) == (7, LOG[7:9])
    with log.open("rb", buffering=0) as raw:
        assert read(raw) == PAYLOADS
        assert not raw.closed


def test_a_temporary_file_opens() -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(LOG)
        file.flush()
        assert read(file) == PAYLOADS
    with tempfile.SpooledTemporaryFile() as spooled:
        spooled.write(LOG)
        spooled.seek(0)
        assert read(spooled) == PAYLOADS


def test_a_file_object_that_decompresses_gives_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(LOG))
    with gzip.open(path) as file:
        assert read(file) == PAYLOADS


def test_a_file_object_without_a_descriptor_opens() -> None:
    class Readable(io.RawIOBase):
        left = io.BytesIO(LOG)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            return self.left.readinto(buffer)

    assert read(Readable()) == PAYLOADS


def test_a_file_open_as_text_is_refused(log: Path) -> None:
    with log.open(encoding="latin-1") as file, pytest.raises(TypeError, match="open it with mode 'rb'"):
        thawline.open(file)  # type: ignore[arg-type]


def test_a_closed_file_object_is_refused(log: Path) -> None:
    file = log.open("rb")
    file.close()
    with pytest.raises(SourceError, match="closed file"):
        thawline.open(file)


def writing(data: bytes, to: IO[bytes]) -> threading.Thread:
    def write() -> None:
        with to:
            to.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe_opens(buffering: int) -> None:
    reading, to = os.pipe()
    thread = writing(LOG * 1, os.fdopen(to, "wb"))
    with os.fdopen(reading, "rb", buffering=buffering) as file, thawline.open(file) as cold:
        assert payloads(cold) == payloads(cold) == PAYLOADS
    thread.join()


def test_a_pipe_that_was_read_from_goes_on_where_it_is() -> None:
    reading, to = os.pipe()
    thread = writing(b"one line\n" + LOG, os.fdopen(to, "wb"))
    with os.fdopen(reading, "rb") as file:
        assert file.readline() == b"one line\n"
        assert read(file) == PAYLOADS
    thread.join()


def test_a_named_pipe_opens(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(LOG,))
    thread.start()
    assert read(path) == PAYLOADS
    thread.join()


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "pipe"])
def test_stdin_opens(log: Path, is_file: bool) -> None:  # noqa: FBT001
    code = "import thawline\nwith thawline.open('-') as cold: print(cold.name, cold.verify().rows, cold.verify().rows)"
    command = [sys.executable, "-c", code]
    if is_file:
        with log.open("rb") as file:
            run = subprocess.run(command, stdin=file, check=True, capture_output=True)
    else:
        run = subprocess.run(command, input=LOG, check=True, capture_output=True)
    assert run.stdout == b"<stdin> 5 5\n"


def test_a_url_opens() -> None:
    with fsspec.open("memory://api/some.rbf", "wb") as file:
        file.write(LOG)
    with thawline.open("memory://api/some.rbf") as cold:
        assert isinstance(cold.source, RemoteSource)
        assert cold.name == "memory://api/some.rbf"
        assert payloads(cold) == payloads(cold) == PAYLOADS


def test_a_file_url_is_mapped(log: Path) -> None:
    with thawline.open(log.as_uri()) as cold:
        assert isinstance(cold.source, LocalSource)
        assert payloads(cold) == PAYLOADS


def test_an_empty_file_opens(tmp_path: Path) -> None:
    path = tmp_path / "empty.rbf"
    path.touch()
    assert read(path) == []
    with pytest.raises(UnknownFormat):
        thawline.open(path.rename(tmp_path / "empty"))


def test_what_is_not_there_is_a_source_error_and_an_os_error(tmp_path: Path) -> None:
    for missing in (tmp_path / "missing.rbf", "memory://api/missing.rbf"):
        with pytest.raises(SourceError, match=r"missing\.rbf: [Nn]o such file") as error:
            thawline.open(missing)
        assert isinstance(error.value, OSError)
        assert isinstance(error.value, ThawlineError)
    with pytest.raises(SourceError, match=r"is a folder, which thawline\.open_folder opens"):
        thawline.open(tmp_path)
    with pytest.raises(SourceError, match="nosuch"):
        thawline.open("nosuch://bucket/log.rbf")


def test_a_source_has_no_bytes_beyond_its_ends() -> None:
    with fsspec.open("memory://api/some.rbf", "wb") as file:
        file.write(LOG)
    for readable in (LOG, "memory://api/some.rbf"):
        with open_source(readable) as source:
            assert source.view(4, 8) == LOG[4:8]
            assert source.view(len(LOG), len(LOG)) == b""
            for start, end in ((-1, 4), (8, 4), (0, len(LOG) + 1)):
                with pytest.raises(SourceError, match="no bytes"):
                    source.view(start, end)


# How it is used.


def test_it_can_be_read_again_and_at_the_same_time() -> None:
    with thawline.open(DAMAGED) as cold:
        first, second = cold.batches(), cold.batches()
        for one, other in zip(first, second, strict=True):
            assert one.equals(other)
        assert payloads(cold) == payloads(cold) == LEFT
        assert [len(list(cold.findings())) for _ in range(2)] == [1, 1]
        assert cold.verify() == cold.verify()


def test_the_file_is_closed_behind_a_with_block(log: Path) -> None:
    with thawline.open(log) as cold:
        batches = list(cold)
    assert [payload for batch in batches for payload in batch["payload"].to_pylist()] == PAYLOADS
    with pytest.raises(SourceError, match="is closed"):
        cold.verify()
    with thawline.open(log) as cold:
        stopped = iter(cold)
        next(stopped)
    del stopped


def test_nothing_stays_open_when_a_file_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "unknown.bin"
    path.write_bytes(b"no format that is known")
    descriptors = len(list(OPEN.iterdir()))
    for options in (
        {},
        {"format": "nonsense"},
        {"format": "rbf", "table": "nonsense"},
        {"format": "rbf", "on_error": ""},
    ):
        with pytest.raises((ThawlineError, ValueError)):
            thawline.open(path, **options)  # type: ignore[arg-type]
    assert len(list(OPEN.iterdir())) == descriptors


def test_the_report_counts_what_is_there() -> None:
    with thawline.open(LOG) as cold:
        report = cold.verify()
    assert (report.ok, report.format, report.size, report.units, report.rows) == (True, "rbf", len(LOG), 5, 5)
    assert (report.intact_bytes, report.damaged_bytes, report.findings) == (len(LOG), 0, [])
    with thawline.open(DAMAGED) as cold:
        report = cold.verify()
    assert (report.ok, report.units, report.rows, len(report.findings)) == (False, 4, 4, 1)
    assert report.damaged_bytes == len(FRAMES[1]) + 4
    assert report.intact_bytes == len(LOG) - report.damaged_bytes


def test_damage_is_passed_over() -> None:
    assert read(DAMAGED) == read(DAMAGED, on_error="skip") == LEFT


def test_damage_is_kept_as_a_row_with_its_bytes() -> None:
    with thawline.open(DAMAGED, on_error="keep") as cold:
        assert cold.schema.names == [*NAMES, CORRUPT]
        rows = [row for batch in cold for row in batch.to_pylist()]
        assert [row["payload"] for row in rows] == [PAYLOADS[0], None, *PAYLOADS[2:]]
        start = 4 + len(FRAMES[0]) + 4
        kept = {**dict.fromkeys(NAMES), CORRUPT: DAMAGED[start : start + len(FRAMES[1]) + 4]}
        assert [row for row in rows if row[CORRUPT] is not None] == [kept]
        assert [row for batch in cold.tail(4) for row in batch.to_pylist()] == rows[-4:]
        assert [batch.schema for batch in cold] == [cold.schema] * 3
        only = list(cold.batches(["payload"]))
        assert [batch.schema.names for batch in only] == [["payload"]] * 3


def test_damage_is_raised_behind_the_rows_before_it() -> None:
    with thawline.open(DAMAGED, on_error="raise") as cold:
        batches = cold.batches()
        assert next(batches)["payload"].to_pylist() == PAYLOADS[:1]
        with pytest.raises(FormatError, match="byte 0x24: RBF104 checksum mismatch, up to byte 0x44") as error:
            next(batches)
        assert (error.value.file, error.value.offset) == ("<bytes>", 0x24)
        with pytest.raises(FormatError):
            cold.tail(1)
        assert not cold.verify().ok


def test_what_is_no_damage_is_not_raised() -> None:
    assert read(LOG + b"RBF1", on_error="raise") == PAYLOADS


def test_columns_are_those_that_are_asked_for_in_the_order_of_the_table() -> None:
    with thawline.open(LOG) as cold:
        assert cold.schema.names == NAMES
        for names in (["payload"], ["tag_text", "address"], ["nested_suspect"], ["length", "tag"], []):
            for batch in cold.batches(names):
                assert batch.schema.names == [name for name in NAMES if name in names]
                assert batch.num_rows == 5
        assert next(cold.batches({"tag_text"})).to_pylist() == [{"tag_text": text} for text in TAGS]


TAGS = ["AAAA", "BAAA", "CAAA", "DAAA", "EAAA"]


def test_tags_are_shown_as_text_where_they_are_printable() -> None:
    tags = [b"META", b"A\x00BC", b"\xffABC", b"    ", b"a\tbc"]
    data = file_of(*(frame(b"", int.from_bytes(tag, "little")) for tag in tags))
    with thawline.open(data) as cold:
        assert next(cold.batches(["tag_text"]))["tag_text"].to_pylist() == ["META", None, None, "    ", None]


def test_mistakes_are_answered_with_what_there_is() -> None:
    with pytest.raises(UnknownFormat, match=r"no format is called 'rbx'; there are .*rbf"):
        thawline.open(LOG, format="rbx")
    with pytest.raises(UnknownFormat, match="<bytes>: no format recognises this file"):
        thawline.open(b"no format that is known")
    with pytest.raises(ValueError, match="rbf has no table 'batches'; there are frames"):
        thawline.open(LOG, table="batches")
    with pytest.raises(ValueError, match="on_error is 'ignore'; it is one of skip, keep, raise"):
        thawline.open(LOG, on_error="ignore")  # type: ignore[arg-type]
    with thawline.open(LOG) as cold:
        with pytest.raises(
            ValueError, match=r"rbf\.frames has no column color, size; it has address, .*, nested_suspect"
        ):
            next(cold.batches(["size", "payload", "color"]))
        with pytest.raises(ValueError, match="rows is -1; it must be 0 or more"):
            cold.tail(-1)


def test_the_package_has_no_other_names() -> None:
    assert thawline.open is thawline.__getattr__("open")
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        _ = thawline.close


# Who else reads it.


@pytest.fixture
def cold() -> Iterator[ColdFile]:
    with thawline.open(DAMAGED) as cold:
        yield cold


def test_pyarrow_reads_it(cold: ColdFile) -> None:
    assert pa.table(cold)["payload"].to_pylist() == LEFT
    reader = pa.RecordBatchReader.from_stream(cold)
    assert reader.schema == cold.schema == pa.schema(cold)
    assert reader.read_all()["payload"].to_pylist() == LEFT
    assert pa.table(cold).equals(pa.Table.from_batches(cold.batches(), cold.schema))


def test_pyarrow_reads_a_file_without_rows() -> None:
    with thawline.open(b"RBF1") as cold:
        assert pa.table(cold).schema.names == NAMES


def test_polars_reads_it(cold: ColdFile) -> None:
    read = pl.DataFrame(cold)
    assert read["payload"].to_list() == LEFT
    assert pl.DataFrame(cold).filter(pl.col("tombstone"))["tag_text"].to_list() == ["CAAA"]


def test_pandas_reads_it(cold: ColdFile) -> None:
    read = pd.DataFrame.from_arrow(cold)
    assert list(read["payload"]) == LEFT
    assert list(read.columns) == NAMES


def test_duckdb_reads_it_twice_in_one_query(cold: ColdFile) -> None:
    assert duckdb.sql("select payload from cold order by address").fetchall() == [(payload,) for payload in LEFT]
    joined = "select count(*), max(a.address) from cold a join cold b on a.address = b.address"
    assert duckdb.sql(joined).fetchall() == [(4, 4 + sum(len(each) + 4 for each in FRAMES[:4]))]
    assert duckdb.sql("select count(*) from cold where tombstone").fetchall() == [(1,)]
    assert cold.size == len(DAMAGED)


def test_damage_that_is_raised_reaches_those_who_read_the_stream() -> None:
    with thawline.open(DAMAGED, on_error="raise") as cold, pytest.raises(Exception, match="RBF104 checksum mismatch"):
        pa.table(cold)


# The input.


def test_the_input_is_not_touched(log: Path) -> None:
    log.write_bytes(DAMAGED)
    log.chmod(0o444)
    os.utime(log, ns=(10**18, 10**18))
    before = log.stat()
    with thawline.open(log) as cold:
        flags = list(descriptor_modes(log))
        assert flags
        assert set(flags) == {os.O_RDONLY}
        cold.verify()
        pa.table(cold)
        cold.tail(3)
    after = log.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_size) == (before.st_mode, before.st_mtime_ns, before.st_size)
    assert hashlib.sha256(log.read_bytes()).digest() == hashlib.sha256(DAMAGED).digest()
    assert [each.name for each in log.parent.iterdir()] == [log.name]


def descriptor_modes(path: Path) -> Iterator[int]:
    """How each descriptor of this process that leads to a file was opened."""
    for entry in OPEN.iterdir():
        if entry.exists() and entry.samefile(path):
            info = Path("/proc/self/fdinfo", entry.name).read_text(encoding="ascii")
            yield int(info.split("flags:")[1].split()[0], 8) & os.O_ACCMODE


def test_a_folder_is_a_table_for_everyone_who_reads_arrow(tmp_path: Path) -> None:
    partition = tmp_path / "orders-3"
    partition.mkdir()
    (partition / "00000000000000000100.log").write_bytes((GOLDEN / "kafka" / "v2-none.log").read_bytes())
    folder = thawline.open_folder(partition)
    table = pa.table(folder)
    assert table.schema == folder.schema
    assert table.num_rows == pl.DataFrame(folder).height == len(pd.DataFrame.from_arrow(folder)) == 7
    assert set(table["topic"].to_pylist()) == {"orders"}
    assert duckdb.sql("select count(*) from folder").fetchall() == [(7,)]


def test_pandas_is_not_given_nonsense(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000100.log").write_bytes((GOLDEN / "kafka" / "v2-none.log").read_bytes())
    for cold in (thawline.open(LOG), thawline.open_folder(tmp_path)):
        with pytest.raises(TypeError, match="from_arrow"):
            pd.DataFrame(cold)


def test_a_report_of_a_damaged_file_is_false_and_a_dict() -> None:
    with thawline.open(LOG) as good, thawline.open(DAMAGED) as bad:
        assert good.verify()
        report = bad.verify()
    assert not report
    told = report.to_dict()
    assert (told["status"], told["ok"], told["size"]) == ("damaged", False, len(LOG))
    assert told["findings"][0]["severity"] == "error"


@pytest.mark.parametrize("url", [False, True])
def test_reading_from_a_closed_file_says_that_it_is_closed(tmp_path: Path, url: bool) -> None:  # noqa: FBT001
    path = tmp_path / "log.rbf"
    path.write_bytes(LOG)
    with fsspec.open("memory://api/closed.rbf", "wb") as file:
        file.write(LOG)
    cold = thawline.open("memory://api/closed.rbf" if url else path)
    cold.close()
    for read in (cold.verify, lambda: list(cold.batches()), lambda: cold.tail(1), lambda: pa.table(cold)):
        with pytest.raises(Exception, match="is closed; open it again"):
            read()


def test_one_call_does_one_job(tmp_path: Path) -> None:
    assert thawline.identify(LOG).format == "rbf"
    assert thawline.verify(LOG)
    assert not thawline.verify(DAMAGED)
    done = thawline.salvage(DAMAGED, tmp_path / "intact.rbf")
    assert thawline.verify(tmp_path / "intact.rbf")
    assert done.lost
    rows = thawline.convert(LOG, tmp_path / "rows.parquet", columns=["tag"])
    assert parquet.read_table(tmp_path / "rows.parquet").num_rows == rows > 0


def test_a_folder_converts_in_one_call(tmp_path: Path) -> None:
    (tmp_path / "orders-3").mkdir()
    for base in (100, 200):
        segment = tmp_path / "orders-3" / f"{base:020}.log"
        segment.write_bytes((GOLDEN / "kafka" / "v2-none.log").read_bytes())
    assert thawline.convert(tmp_path / "orders-3", tmp_path / "orders.parquet") == 14
    assert parquet.read_table(tmp_path / "orders.parquet").column_names[0] == "file"


def test_a_folder_names_what_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000100.log").write_bytes((GOLDEN / "kafka" / "v2-none.log").read_bytes())
    (tmp_path / "x.rbf").write_bytes(LOG)
    (tmp_path / "gone").symlink_to("nowhere")
    others = list(thawline.open_folder(tmp_path).others())
    assert [Path(item.path).name for item in others] == ["x.rbf", "gone"]


def test_objects_say_what_they_are(tmp_path: Path) -> None:
    hostile = tmp_path / "<script>-0"
    hostile.mkdir()
    (hostile / "00000000000000000100.log").write_bytes((GOLDEN / "kafka" / "v2-none.log").read_bytes())
    with thawline.open(hostile / "00000000000000000100.log") as cold:
        assert "kafka 2, 394 bytes, records" in repr(cold)
        assert "<script>" not in cold._repr_html_()
        assert "timestamp timestamp[us, tz=UTC]" in cold._repr_html_()
    folder = thawline.open_folder(hostile)
    assert "kafka, 1 file, records" in repr(folder)
    assert "&lt;script&gt;-0" in folder._repr_html_()


def test_a_url_that_needs_an_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", lacking)
    for read in (thawline.open, thawline.open_folder):
        with pytest.raises(MissingExtra, match=r"pip install 'thawline\[s3\]'"):
            read("s3://bucket/log.rbf")
