"""What is said about files that no format claims."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sqlite3
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from random import Random

import lz4.frame
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from thawline.formats import FORMATS, get
from thawline.formats.contract import Depth
from thawline.formats.recognition import MOST_ZEROS, NAMES, SEARCHED, advice, resemblance, suspects
from thawline.source import LocalSource, open_source

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def named(data: bytes, name: str = "found") -> LocalSource:
    return LocalSource(name, data)


def units_of(data: bytes, format_name: str, name: str = "found") -> int:
    """How many intact units the format finds when it is told to read a file."""
    source = named(data, name)
    items = get(format_name).kind_of(source).walk(source, Depth.EVERYTHING)
    return sum(getattr(item, "units", 0) for item in items)


BEHEADED = [
    ("kafka", "kafka/many-records.log", 50, "orders.log"),
    ("rbf", "rbf/many-frames.rbf", 12, "a.bin"),
    ("rbf", "rbf/many-frames.rbf", 12, "a.rbf"),
    ("borg", "borg/none-sha256.pack", 20, "blobs"),
    ("aerospike", "aerospike/keys.asb", 12, "a.txt"),
    ("aerospike", "aerospike/keys.asb", 12, "a.asb"),
    ("aerospike", "aerospike/keys.asb", 40, "backup.asb.part"),
]


@pytest.mark.parametrize("format_name, path, cut, name", BEHEADED)
def test_a_beheaded_file_says_how_many_units_are_left(format_name: str, path: str, cut: int, name: str) -> None:
    data = golden(path)[cut:]
    found = suspects(named(data, name))
    assert [(one.format, one.units) for one in found] == [(format_name, units_of(data, format_name, name))]
    assert found[0].units > 1
    assert found[0].first is not None
    assert found[0].first + cut < len(golden(path))
    assert advice(named(data, name)).endswith(f"from byte {found[0].first:#x} on: try --input-format {format_name}")


def test_a_segment_behind_noise_is_found() -> None:
    data = Random(7).randbytes(100) + golden("rbak/worked-example.zst") + b"more"
    (found,) = suspects(named(data))
    assert (found.format, found.units, found.first) == ("rbak", 1, 100)
    assert advice(named(data)) == "1 segment of rbak is found from byte 0x64 on: try --input-format rbak"


@pytest.mark.parametrize(
    "name, format_name",
    [
        ("00000000000000000362.log", "kafka"),
        ("00000000000000000362.log.deleted", "kafka"),
        ("a.index", "kafka"),
        ("a.rbak", "rbak"),
        ("a.asb", "aerospike"),
        ("a.rbf", "rbf"),
        ("a.pack", "borg"),
        ("a.asb.1", "aerospike"),
    ],
)
def test_a_name_speaks_for_a_format_where_nothing_else_does(name: str, format_name: str) -> None:
    data = Random(3).randbytes(999)
    assert [(one.format, one.units) for one in suspects(named(data, f"some/folder/{name}"))] == [(format_name, 0)]
    told = f"its name speaks for {format_name}: --input-format {format_name} says what is wrong with it"
    assert advice(named(data, name)) == told


def test_a_file_that_nothing_speaks_for_gets_no_advice() -> None:
    data = Random(5).randbytes(9999)
    assert (suspects(named(data)), resemblance(named(data)), advice(named(data))) == ([], "", "")


def test_the_format_with_more_units_comes_first() -> None:
    data = b"lost " + golden("aerospike/keys.asb")[12:]
    assert [one.format for one in suspects(named(data, "a.rbf"))] == ["aerospike", "rbf"]
    assert advice(named(data, "a.rbf")).endswith("try --input-format aerospike")


def test_only_the_start_of_a_long_file_is_searched() -> None:
    batches = golden("kafka/many-records.log")
    near = bytes(50) + b"x" + batches + bytes(2 * SEARCHED)
    assert "in its first MiB: try" in advice(named(near))
    assert suspects(named(b"x" * SEARCHED + batches)) == []


def tarred() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return made.getvalue()


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a", "b")
    return made.getvalue()


def parquet() -> bytes:
    made = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), made)
    return made.getvalue()


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table a (b)")
    return connection.serialize()


KEY = b"BORG_KEY " + b"0f" * 32 + b"\nialhbGdvcml0aG24YXJnb24yIGNoYWNoYTIwLXBvbHkxMzA1\n"
LOOKS = {
    "gzip": (gzip.compress(b"a" * 99), "it begins like gzip: decompress it first"),
    "zstd": (zstandard.compress(b"a" * 99), "it begins like zstd: decompress it first"),
    "lz4": (lz4.frame.compress(b"a" * 99), "it begins like lz4: decompress it first"),
    "bzip2": (bz2.compress(b"a" * 99), "it begins like bzip2: decompress it first"),
    "xz": (lzma.compress(b"a" * 99), "it begins like xz: decompress it first"),
    "zip": (zipped(), "it begins like zip: unpack it first"),
    "tar": (tarred(), "it begins like tar: unpack it first"),
    "Parquet": (parquet(), "it begins like Parquet"),
    "SQLite": (database(), "it begins like SQLite"),
    "ELF": (b"\x7fELF" + bytes(99), "it begins like ELF"),
    "a key of Borg": (KEY, "it begins like a key of Borg: keep it with its repository; it holds no data itself"),
    "JSON": (b' {"a": [1, 2]}\n', "it begins like JSON"),
    "text": ("größer als\nnichts\n".encode(), "it begins like text"),
    "empty": (b"", "it is empty"),
    "all zero": (bytes(3 * SEARCHED), "it is all zero"),
    "zeros": (bytes(SEARCHED) + b"a", "it begins with zeros"),
    "": (b"\xff\xfe\x00\x01" * 9, ""),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_file_is_told_by_its_looks(look: str) -> None:
    data, told = LOOKS[look]
    assert resemblance(named(data)) == look
    assert advice(named(data)) == told


def test_a_key_of_borg_is_not_taken_for_a_pack_by_its_name() -> None:
    key, other = named(KEY, "0f" * 32), named(KEY[1:], "0f" * 32)
    assert (suspects(key), [one.format for one in suspects(other)]) == ([], ["borg"])
    assert advice(key) == LOOKS["a key of Borg"][1]


def test_a_file_is_called_all_zero_only_if_all_of_it_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(MOST_ZEROS + 1)
    with open_source(path) as source:
        assert resemblance(source) == "zeros"


def test_long_text_is_text_wherever_a_character_is_cut() -> None:
    for length in range(4093, 4100):
        assert resemblance(named(b"a" * length + "ß€😀".encode() * 99)) == "text"


def test_what_a_compressed_file_is_called_does_not_hide_that_it_is_compressed() -> None:
    data = gzip.compress(golden("kafka/many-records.log"))
    assert advice(named(data, "00000000000000000000.log.gz")) == "it begins like gzip: decompress it first"


HOSTILE = {
    "fences": b"RBF1" * (SEARCHED // 4),
    "blobs": b"BORG_OBJ" * (SEARCHED // 8),
    "footers": b"XRBAK" + b"KABR" * (SEARCHED // 4),
    "batches": (bytes(8) + b"\0\0\0\x40" + bytes(4) + b"\2") * (SEARCHED // 17),
    "long batches": (bytes(8) + b"\0\x08\0\0" + bytes(4) + b"\1") * (SEARCHED // 17),
    "records": b"x\n" + b"+ n a\n+ d AAAA\n" * (SEARCHED // 15),
    "escaped line feeds": b"x\n" + b"+ n a\\\n" * (SEARCHED // 7),
    "keys": b"x" + b"\n+ k S 1000 " * (SEARCHED // 12),
    "a bomb": zstandard.compress(bytes(1 << 28)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_looked_at_in_bounded_time(name: str) -> None:
    started = time.process_time()
    data = HOSTILE[name]
    once = named(data * (4 * SEARCHED // len(data) + 1))
    advice(once)
    assert time.process_time() - started < 8


def test_every_format_has_names_and_a_search() -> None:
    assert set(NAMES) == set(FORMATS)


def test_a_segment_that_was_compressed_as_a_file_is_told_for_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000100.log"
    path.write_bytes(gzip.compress((GOLDEN / "kafka" / "v2-none.log").read_bytes()))
    command = [sys.executable, "-m", "thawline", "verify", "--format", "table", path.name]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "looks like gzip: decompress it first" in run.stdout
