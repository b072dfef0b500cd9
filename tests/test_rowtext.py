"""Rows as JSON and CSV: native code and Python write the same bytes, and other readers get back what went in."""

from __future__ import annotations

import csv
import io
import json
import math
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import orjson
import pyarrow as pa
import pytest
from accounts import GOLDEN
from engines import plainly
from random_tables import BROKEN, TEXTS, table
from seeds import SEED

import thawline
from thawline.errors import ThawlineError
from thawline.formats import FORMATS
from thawline.rowtext import PIECE_BYTES, csv_header, csv_rows, json_rows
from thawline.sinks import FileKind, file_sink
from thawline.values import BYTES, Bytes
from tools.sanitize import exactly

TABLES = 60


def texts(batch: pa.RecordBatch, mode: Bytes) -> Iterator[bytes]:
    yield b"".join(json_rows(batch, mode, after=b"\n"))
    yield b"".join(json_rows(batch, mode, before=b",\n"))
    for is_guarded in (False, True):
        yield csv_header(batch.schema, mode, is_guarded=is_guarded)
        yield b"".join(csv_rows(batch, mode, is_guarded=is_guarded))


@pytest.mark.parametrize("mode", BYTES)
@pytest.mark.parametrize("turn", range(5))
def test_random_tables_are_the_same_text_with_and_without_the_extension_module(mode: Bytes, turn: int) -> None:
    for number in range(TABLES):
        batch = table(Random(f"{SEED} {turn} {number}"))
        compiled = list(texts(batch, mode))
        with plainly():
            assert list(texts(batch, mode)) == compiled, (SEED, turn, number)


@pytest.mark.parametrize("format_", sorted(FORMATS))
def test_golden_files_are_the_same_text_with_and_without_the_extension_module(format_: str) -> None:
    seen = 0
    for path in sorted(GOLDEN.joinpath(format_).rglob("*")):
        for batch in batches_of(path):
            seen += batch.num_rows
            for mode in BYTES:
                compiled = list(texts(batch, mode))
                with plainly():
                    assert list(texts(batch, mode)) == compiled, (path, mode)
    assert seen > 10


def batches_of(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of all tables of a file, except those that cannot be read."""
    if not path.is_file():
        return
    with suppress(ThawlineError):
        for name in thawline.open(path).kind.tables:
            yield from thawline.open(path, table=str(name)).batches()


def lines(column: pa.Array, mode: Bytes = "auto") -> list[bytes]:
    return b"".join(json_rows(pa.record_batch({"a": column}), mode, after=b"\n")).splitlines()


def test_a_text_in_json_is_that_text_for_a_reader() -> None:
    everything = [*TEXTS, *(chr(code) * 17 for code in range(0x3000) if not 0xD800 <= code < 0xE000)]
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        column = pa.array([text.encode() for text in everything], pa.large_binary()).cast(kind)
        found = b"".join(json_rows(pa.record_batch({"a": column}), "auto", after=b"\n")).decode().split("\n")
        assert [json.loads(line)["a"] for line in found[:-1]] == everything


@pytest.mark.parametrize("value", BROKEN)
def test_bytes_that_are_no_text_are_replaced_as_pythons_decoder_does(value: bytes) -> None:
    for around in (b"", b"plain text of some length", "ü€🎉".encode()):
        whole = around + value + around
        (line,) = lines(pa.array([whole], pa.binary()), "utf8")
        assert json.loads(line)["a"] == whole.decode("utf-8", "replace")
        rows = b"".join(csv_rows(pa.record_batch({"a": pa.array([whole])}), "utf8", is_guarded=False))
        assert next(csv.reader(io.StringIO(rows.decode()))) == [whole.decode("utf-8", "replace")]


def test_a_double_is_the_shortest_text_that_reads_back_as_it() -> None:
    random = Random(SEED)
    numbers = [struct.unpack("<d", random.randbytes(8))[0] for _ in range(20_000)]
    numbers += [2.0**power for power in range(-1074, 1024)] + [float(f"1e{power}") for power in range(-323, 309)]
    numbers += [math.nextafter(2.0**power, 0) for power in range(-1022, 1024)]
    numbers = [number for number in numbers if math.isfinite(number)]
    for line, number in zip(lines(pa.array(numbers, pa.float64())), numbers, strict=True):
        text = line.removeprefix(b'{"a":').removesuffix(b"}").decode()
        assert float(text) == number
        assert digits_of(text) == digits_of(repr(number)), (text, number)
    assert lines(pa.array([math.nan, math.inf, -math.inf, -0.0])) == [b'{"a":null}'] * 3 + [b'{"a":-0.0}']


def digits_of(text: str) -> str:
    """The digits that count, as a number's shortest form has them."""
    return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")


def test_times_are_those_of_pythons_calendar() -> None:
    random, start = Random(SEED), datetime(1970, 1, 1, tzinfo=UTC)
    micros = [random.randint(-62_135_596_800_000_000, 253_402_300_799_999_999) for _ in range(5000)]
    found = lines(pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC")))
    for line, number in zip(found, micros, strict=True):
        moment = start + timedelta(microseconds=number)
        assert line == f'{{"a":"{moment.replace(tzinfo=None).isoformat(timespec="microseconds")}Z"}}'.encode()


def test_a_wide_whole_decimal_is_a_number_where_all_of_a_batch_fit() -> None:
    batch = pa.record_batch({"a": pa.array([Decimal(5), None], pa.decimal128(38, 0))})
    assert b"".join(json_rows(batch, "auto", after=b";")) == b'{"a":5};{"a":null};'
    large = pa.record_batch({"a": pa.array([Decimal(5), Decimal(10**21)], pa.decimal128(38, 0))})
    assert b"".join(json_rows(large, "auto", after=b";")) == b'{"a":"5"};{"a":"1000000000000000000000"};'


def test_a_decimal_of_twenty_digits_is_an_integer() -> None:
    numbers = [0, 1, -1, 10**19, -(10**19), (1 << 64) - 1, 1 << 64, 10**20 - 1, -(10**20) + 1]
    found = lines(pa.array([Decimal(number) for number in numbers], pa.decimal128(20, 0)))
    assert [json.loads(line)["a"] for line in found] == numbers


def test_two_columns_of_one_name_give_one_key() -> None:
    for names in (["a", "a"], ["a", "a_b64"], ["a_b64", "a"], ["a\0b", "a\0c"]):
        batch = pa.RecordBatch.from_arrays([pa.array([b"\xff", b"x"]), pa.array([b"y", b"z"])], names=names)
        compiled = b"".join(json_rows(batch, "auto", after=b"\n"))
        for line in compiled.splitlines():
            pairs = json.loads(line, object_pairs_hook=list)
            assert len({name for name, _ in pairs}) == len(pairs)
        with plainly():
            assert b"".join(json_rows(batch, "auto", after=b"\n")) == compiled


def test_a_text_column_that_is_not_utf8_is_an_error_and_no_invalid_json() -> None:
    column = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(struct.pack("<ii", 0, 2)), pa.py_buffer(b"a\xff")]
    )
    with pytest.raises(ValueError, match="row 0: a text is not UTF-8"):
        lines(column)
    with plainly(), pytest.raises(ValueError, match="can't decode"):
        lines(column)


def test_columns_are_read_to_their_last_byte_and_no_further() -> None:
    # Under `make sanitize`, a byte beyond is an error.
    for size in range(70):
        with exactly(b"x" * size) as data, exactly(struct.pack("<iii", 0, size // 2, size)) as offsets:
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            for kind in (pa.string(), pa.binary()):
                column = pa.Array.from_buffers(kind, 2, buffers)
                half = b"x" * (size // 2)
                assert lines(column) == [b'{"a":"%b"}' % half, b'{"a":"%b"}' % (b"x" * (size - size // 2))]
                rows = b"".join(csv_rows(pa.record_batch({"a": column}), "hex", is_guarded=True))
                assert rows.count(b"\n") == 2
                del column
            del buffers


class Counted(io.BytesIO):
    """A file that counts writes."""

    writes = 0

    def write(self, data: object) -> int:  # type: ignore[override]
        self.writes += 1
        return super().write(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_rows_are_written_a_buffer_at_a_time(kind: FileKind) -> None:
    batch = pa.record_batch({"number": range(200_000), "text": ["some text"] * 200_000})
    file = Counted()
    with file_sink(kind, file, "auto") as sink:
        sink.add(batch.schema, [batch], "x")
    assert sink.rows == 200_000
    assert file.writes <= 2 * batch.nbytes / PIECE_BYTES + 6


def test_several_threads_can_write() -> None:
    batches = [table(Random(f"{SEED} thread {number}")) for number in range(40)]
    alone = [list(texts(batch, "auto")) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda batch: list(texts(batch, "auto")), batches)) == alone


def test_a_row_larger_than_a_buffer_is_written() -> None:
    value = bytes(range(256)) * 20_000
    found = lines(pa.array([value, b"x"], pa.binary()), "hex")
    assert orjson.loads(found[0])["a"] == value.hex()
    assert orjson.loads(found[1])["a"] == b"x".hex()
