"""Encoders are the inverse of kernels: what they write, kernels and ksc's parsers read, and nothing else is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from agreement import compiled_read, parsed_read, read
from engines import plainly
from inputs import Input, golden_inputs
from random_rows import batch_of, random_rows, text
from seeds import SEED
from thawline.generated.encoders.inputs import ENCODERS, FRAMES
from thawline.generated.kernels.tables import TABLES

from thawline import native, specs
from thawline.engine import encoding
from thawline.engine.chunks import Chunk
from thawline.engine.encoding import Refused, encode
from thawline.engine.tables import SLICES, Column

SHORT_RUN, LONG_RUN = 200, 10_000
"""Random tables: of each kind here, and of each format in `make fuzz`."""
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
    check_random(name, share(name))


def share(name: str) -> int:
    """How many random tables of a kind are its share of those of its format."""
    kinds = [other for other in ENCODERS if other.partition("_")[0] == name.partition("_")[0]]
    return -(-LONG_RUN // len(kinds))


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


def in_bytes(row: Mapping[str, Any], columns: tuple[Column, ...]) -> dict[str, Any]:
    """A row with its texts as the bytes that a single structure is given."""
    given = dict(row)
    for column in columns:
        if column.kind in SLICES and row[column.name] is not None and isinstance(row[column.name], str):
            given[column.name] = row[column.name].encode()
        if column.kind == "list":
            given[column.name] = [in_bytes(item, column.items) for item in row[column.name]]
    return given


def parts_of(name: str) -> list[str]:
    """The parts that a single structure is written around; none where all of it is made."""
    columns = FRAMES[name].columns if hasattr(native.functions, f"head_{name}") else ()
    return [column.name for column in columns if column.kind == "binary" and not column.size]


@pytest.mark.parametrize("name", sorted(FRAMES.keys() & ENCODERS.keys() - {"borg_blobs"}))
def test_a_single_structure_is_what_the_table_of_one_row_is(name: str) -> None:
    for index in range(SHORT_RUN):
        row = random_rows(name, Random(f"{SEED} {name} {index}"))[0]
        single = in_bytes(row, FRAMES[name].columns)
        sizes = {key: len(value) if key in FRAMES[name].sizes else value for key, value in single.items()}
        made = encoding.frame(name, **sizes)
        parts = [row[part] for part in parts_of(name)]
        whole = b"".join(b for pair in zip(made, [*parts, b""][: len(made)], strict=True) for b in pair)
        assert whole == encode(name, batch_of(name, [row])).data.to_pybytes()
        with plainly():
            assert encoding.frame(name, **sizes) == made


def test_a_damaged_head_gets_its_length_and_its_magic_back() -> None:
    row = random_rows("kafka_batches", Random(SEED))[0]
    whole = encode("kafka_batches", batch_of("kafka_batches", [row])).data.to_pybytes()
    head, records = whole[: -len(row["records"]) or None], row["records"]
    damaged = head[:8] + b"\xff" * 4 + head[12:16] + b"\x09" + head[17:]
    assert encoding.mended("kafka_batches", damaged, records=len(records)) == head


def test_a_frame_gets_its_length_back_from_the_size_of_its_payload() -> None:
    for index in range(SHORT_RUN):
        row = random_rows("rbf_frames", Random(f"{SEED} {index}"))[0]
        head, _ = encoding.frame("rbf_frames", **row)
        damaged = b"\xff" * 4 + head[4:]
        assert encoding.mended("rbf_frames", damaged, payload=len(row["payload"])) == head
        with plainly():
            assert encoding.mended("rbf_frames", damaged, payload=len(row["payload"])) == head


each_way = pytest.mark.parametrize("way", [nullcontext, plainly], ids=["native", "plain"])


@each_way
@pytest.mark.parametrize("version", [b"3.0", b"3.1", b"3.2"])
def test_the_first_line_of_a_backup_is_read_back_by_its_parser(version: bytes, way: Callable[[], Any]) -> None:
    with way():
        (line,) = encoding.frame("aerospike_header", version=version)
    assert specs.parse("aerospike_header", bytes(line)).version.encode() == version


@each_way
@pytest.mark.parametrize("version", [b"3.3", b"3", b"", b"3.10"])
def test_a_word_that_the_spec_does_not_list_is_refused(version: bytes, way: Callable[[], Any]) -> None:
    with way(), pytest.raises(Refused, match=r"version does not hold to its rule: valid/any-of"):
        encoding.frame("aerospike_header", version=version)


@each_way
def test_meta_data_is_read_back_by_its_parser(way: Callable[[], Any]) -> None:
    for index in range(SHORT_RUN):
        namespace = text(Random(f"{SEED} {index}")).encode()
        with way():
            (line,) = encoding.frame("aerospike_meta", is_first_file=False, namespace=namespace)
        found = specs.parse("aerospike_meta", bytes(line))
        chars = [char.literal if char.is_escape else char.byte for char in found.namespace.chars[:-1]]
        assert (found.is_first_file, bytes(chars)) == (False, namespace)
    with way():
        (line,) = encoding.frame("aerospike_meta", is_first_file=True)
        assert specs.parse("aerospike_meta", bytes(line)).is_first_file
        with pytest.raises(Refused, match="namespace does not hold to its rule: if not is_first_file"):
            encoding.frame("aerospike_meta", is_first_file=True, namespace=b"test")


@each_way
def test_tokens_without_escapes_are_as_they_are_and_hold_no_end(way: Callable[[], Any]) -> None:
    with way():
        (line,) = encoding.frame("aerospike_meta", is_first_file=False, namespace=b"a \\b", has_escapes=False)
        assert line == b"# namespace a \\b\n"
        with pytest.raises(Refused, match="namespace does not hold to its rule: no terminator inside"):
            encoding.frame("aerospike_meta", is_first_file=False, namespace=b"a\nb", has_escapes=False)


@each_way
def test_a_number_of_more_than_64_bits_is_not_cut(way: Callable[[], Any]) -> None:
    row = in_bytes(random_rows("aerospike_records", Random(1))[0], FRAMES["aerospike_records"].columns)
    for number in (1 << 63, -(1 << 63) - 1):
        with way(), pytest.raises(OverflowError):
            encoding.frame("aerospike_records", **row | {"expiration": number})


@each_way
@pytest.mark.parametrize("ending", ["abort", "commit"])
def test_the_value_of_a_marker_is_read_back_by_its_parser(ending: str, way: Callable[[], Any]) -> None:
    with way():
        head, rest = encoding.frame(
            "kafka_control_value", control_type=ending, version=0, coordinator_epoch=7, message=0, unknown=0
        )
    kind = specs.parser("kafka_control_key").ControlType[ending]
    found = specs.parse("kafka_control_value", bytes(head + rest), kind)
    assert (found.version, found.coordinator_epoch, found.unknown) == (0, 7, b"")


def test_what_only_some_kinds_of_a_structure_have_is_refused_in_others() -> None:
    value = {"version": 0, "unknown": 0, "message": 10}
    head, rest = encoding.frame("kafka_control_value", control_type="leader_change", **value)
    assert head + rest == bytes(2)
    with pytest.raises(Refused, match="coordinator_epoch does not hold to its rule: if is_transaction_marker"):
        encoding.frame("kafka_control_value", control_type="leader_change", coordinator_epoch=1, **value)
    with pytest.raises(Refused, match="coordinator_epoch does not hold"):
        encoding.frame("kafka_control_value", control_type="commit", **value)
    with pytest.raises(Refused, match="message does not hold to its rule: if is_message"):
        encoding.frame("kafka_control_value", control_type="leader_change", **value | {"version": 2})


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
