"""Encoders are the inverse of kernels: what they write, kernels and ksc's parsers read, and nothing else is written."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from agreement import compiled_read, parsed_read, read
from engines import plainly
from inputs import Input, golden_inputs
from random_rows import batch_of, random_rows
from seeds import SEED
from thawline.generated.encoders.inputs import ENCODERS, FRAMES
from thawline.generated.kernels.tables import TABLES

from thawline import specs
from thawline.engine import encoding
from thawline.engine.chunks import Chunk
from thawline.engine.encoding import Refused, encode

SHORT_RUN, LONG_RUN = 200, 10_000
"""Random tables of each kind, here and in `make fuzz`."""
PLAIN_SHARE = 20
"""Every so many tables are encoded without the native module, too, which is slow."""
HIDDEN = {
    "unused": ("body", "attributes", "unused"),
    "records": ("body", "records"),
    "trailing": ("body", "trailing"),
    **{f"{slot}_{name}": (slot, "aead", name) for slot in ("meta", "data") for name in ("iv_high", "iv_low", "mac")},
}
"""Where ksc's parsers have what no table has."""
OTHERWISE = {
    "aerospike_indexes": "a name of version 3.0 has no escapes",
    "aerospike_records": "a name of version 3.0 has no escapes, and a number may have leading zeros",
    "kafka_records": "a key of a header that is not UTF-8 is read with U+FFFD, and a varint may be longer than needed",
}
"""Tables of which some golden rows are not as writers write them."""

each_table = pytest.mark.parametrize("name", sorted(ENCODERS))


def completed(name: str, chunk: Chunk, source: bytes) -> pa.RecordBatch:
    """The rows of a chunk, with the columns that no table has as ksc's parser reads them."""
    batch = chunk.batch
    places = zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True)
    if not (hidden := [column for (column,) in ENCODERS[name].hidden]):
        return batch
    rows = [specs.parse(TABLES[name].spec, source[start:end]) for start, end in places]
    for column in hidden:
        batch = batch.append_column(column, pa.array([_field(row, HIDDEN[column]) for row in rows]))
    return batch


def _field(found: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        found = getattr(found, name, None)
    return found


def chunks(name: str, data: bytes) -> list[Chunk]:
    return [part for part in read(compiled_read, Input(name, data)) if isinstance(part, Chunk)]


@each_table
def test_golden_rows_are_written_back_byte_for_byte(name: str) -> None:
    for given in golden_inputs(name):
        for chunk in read(compiled_read, given):
            if isinstance(chunk, Chunk):
                check_golden(name, chunk, given.data)


def check_golden(name: str, chunk: Chunk, source: bytes) -> None:
    """The rows written back; where the file's are not as writers write them, rows that read the same."""
    batch = completed(name, chunk, source)
    found = encode(name, batch)
    places = zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True)
    is_same = found.data.to_pybytes() == b"".join(source[start:end] for start, end in places)
    assert is_same or name in OTHERWISE
    if not is_same:
        (again,) = chunks(name, found.data.to_pybytes())
        assert again.batch.equals(chunk.batch)


@each_table
def test_random_rows_are_read_back_by_kernel_and_parser(name: str) -> None:
    check_random(name, SHORT_RUN)


@pytest.mark.fuzz
@each_table
def test_many_random_rows_are_read_back_by_kernel_and_parser(name: str) -> None:
    check_random(name, LONG_RUN)


def check_random(name: str, count: int) -> None:
    for index in range(count):
        random = Random(f"{SEED} {name} {index}")
        rows = random_rows(name, random)
        batch = batch_of(name, rows)
        found = encode(name, batch)
        check_read_back(name, batch, found, f"THAWLINE_SEED={SEED}, table {index} of {name}")
        if index % PLAIN_SHARE == 0:
            with plainly():
                again = encode(name, batch)
            assert again.data.equals(found.data)
            assert again.ends.equals(found.ends)


def check_read_back(name: str, batch: pa.RecordBatch, found: encoding.Encoded, which: str) -> None:
    given = Input(name, found.data.to_pybytes())
    kept = [column.name for column in TABLES[name].columns if column.name in batch.schema.names]
    for engine in (compiled_read, parsed_read):
        (chunk,) = read(engine, given)
        assert isinstance(chunk, Chunk), which
        assert chunk.ends.equals(found.ends), which
        for column in kept:
            assert same(chunk.batch.column(column), batch.column(column)), f"{which}: {column}"
        if engine is parsed_read:
            whole = completed(name, chunk, given.data)
            for (hidden,) in ENCODERS[name].hidden:
                assert whole.column(hidden).to_pylist() == batch.column(hidden).to_pylist(), f"{which}: {hidden}"
        if chunk.checksums is not None and (checksum := TABLES[name].checksum):
            assert chunk.checksums.equals(chunk.batch.column(checksum.column)), which


def same(found: pa.Array, given: pa.Array) -> bool:
    """Whether a column was read as it was given; lists may have calculated columns more."""
    if not pa.types.is_list(given.type):
        return bool(found.equals(given))
    names = [field.name for field in given.type.value_type]
    kept = [[{name: item[name] for name in names} for item in row] for row in found.to_pylist()]
    return bool(kept == given.to_pylist())


@pytest.mark.parametrize("name", sorted(FRAMES.keys() & ENCODERS.keys() - {"borg_blobs"}))
def test_a_single_structure_is_what_the_table_of_one_row_is(name: str) -> None:
    for index in range(SHORT_RUN):
        row = random_rows(name, Random(f"{SEED} {name} {index}"))[0]
        sizes = {key: len(value) if key in FRAMES[name].sizes else value for key, value in row.items()}
        made = encoding.frame(name, **sizes)
        parts = [row[column.name] for column in FRAMES[name].columns if column.kind == "binary" and not column.size]
        whole = b"".join(b for pair in zip(made, [*parts, b""][: len(made)], strict=True) for b in pair)
        assert whole == encode(name, batch_of(name, [row])).data.to_pybytes()
        with plainly():
            assert encoding.frame(name, **sizes) == made


def test_a_damaged_head_gets_its_length_and_its_magic_back() -> None:
    row = random_rows("kafka_batches", Random(SEED))[0]
    whole = encode("kafka_batches", batch_of("kafka_batches", [row])).data.to_pybytes()
    head, records = whole[: -len(row["records"]) or None], row["records"]
    damaged = head[:8] + b"\xff" * 4 + head[12:16] + b"\x09" + head[17:]
    assert encoding.mended("kafka_batches", damaged, records=records) == head


REFUSED = {
    "kafka_batches": ({"last_offset_delta": -1}, "last_offset_delta", "valid/min 0"),
    "kafka_messages": ({"magic": 2}, "magic", "valid/any-of [0, 1]"),
    "rbf_frames": ({"frame_tag": 1 << 32}, "frame_tag", "fits u4"),
    "borg_blobs": ({"chunk_id": b"short"}, "chunk_id", "size 32"),
    "borg_index_entries": ({"flags": -1}, "flags", "fits u4"),
    "aerospike_records": ({"generation": 65536}, "generation", "valid/expr _.value >= 0 and _.value <= 65535"),
    "aerospike_indexes": ({"kind": "bins", "context": "a\nb", "expression": None}, "context", "no terminator inside"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_rule_forbids_is_refused_by_row_field_and_rule(name: str) -> None:
    wrong, field, rule = REFUSED[name]
    random = Random(f"{SEED} {name}")
    good, bad = random_rows(name, random)[:1], random_rows(name, random)[0] | wrong
    with pytest.raises(Refused) as caught:
        encode(name, batch_of(name, [*good, bad]))
    assert (caught.value.row, caught.value.refusal and caught.value.refusal.field) == (1, field)
    assert caught.value.refusal is not None
    assert caught.value.refusal.rule == rule
    assert f"row 1: {field}" in str(caught.value)


def test_a_value_that_the_row_has_no_place_for_is_refused() -> None:
    row = random_rows("kafka_messages", Random(1))[0] | {"magic": 0, "timestamp": 5}
    with pytest.raises(Refused, match="row 0: timestamp does not hold to its rule: if magic == 1"):
        encode("kafka_messages", batch_of("kafka_messages", [row]))


def test_a_missing_column_and_a_null_are_refused() -> None:
    with pytest.raises(Refused, match="the column position of kafka_offset_index is missing"):
        encode("kafka_offset_index", pa.RecordBatch.from_pydict({"relative_offset": [1]}))
    rows = pa.RecordBatch.from_pydict({"relative_offset": [1, None], "position": [1, 2]})
    with pytest.raises(Refused, match="row 1: relative_offset is null"):
        encode("kafka_offset_index", rows)


def test_an_unknown_name_of_an_enum_is_refused() -> None:
    with pytest.raises(Refused, match="compression cannot be 'lzma'"):
        encoding.frame(
            "rbak_header", compression="lzma", reserved=bytes(2), num_records=0, first_timestamp=0, last_timestamp=0
        )


def test_slices_of_columns_are_written_from_their_own_rows() -> None:
    rows = [row for index in range(20) for row in random_rows("aerospike_records", Random(index))]
    batch = batch_of("aerospike_records", rows)
    whole = encode("aerospike_records", batch)
    ends = [0, *whole.ends.to_pylist()]
    for first in range(0, len(rows), 3):
        part = encode("aerospike_records", batch.slice(first, 2))
        assert part.data.to_pybytes() == whole.data.to_pybytes()[ends[first] : ends[min(first + 2, len(rows))]]
