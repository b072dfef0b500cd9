"""Bounds of kernels: values beyond 2 GiB, and buffers without a byte to spare, which `tools.sanitize` watches."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from agreement import LIMITS, LONG_RUN, TOO_LONG, TOO_LONG_ROW, each_table, each_table_with_vectors
from inputs import Input, golden_inputs, mutants_of, vector_inputs
from thawline.generated.kernels.tables import TABLES

from thawline.engine import columns, kernels
from thawline.engine.chunks import Break, Chunk
from tools.sanitize import exactly

GIB = 1 << 30


def sparse(path: Path, size: int, pieces: Collection[tuple[int, bytes]]) -> mmap.mmap:
    """A large file of zeros but for some pieces."""
    with path.open("wb") as file:
        for at, piece in pieces:
            file.seek(at)
            file.write(piece)
        file.truncate(size)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_a_value_longer_than_a_column_can_hold_is_refused(tmp_path: Path) -> None:
    with sparse(tmp_path / "long", 4 + 2 * GIB, [(0, struct.pack("<I", 2 * GIB))]) as buffer:
        [end] = columns.scan("rbak_records", buffer)
        assert isinstance(end, Break)
        assert (end.failure.path, end.failure.reason, end.at) == ("/types/record/seq/1", TOO_LONG, 4)


def test_a_chunk_ends_before_its_values_outgrow_a_column(tmp_path: Path) -> None:
    lengths = [100, 2 * GIB - 1, 100, 100]
    places = [sum(lengths[:i]) + 4 * i for i in range(len(lengths) + 1)]
    heads = [(place, struct.pack("<I", length)) for place, length in zip(places, lengths, strict=False)]
    with sparse(tmp_path / "long", places[-1], heads) as buffer:
        chunks = [
            part for part in columns.scan("rbak_records", buffer, columns=["len_json"]) if isinstance(part, Chunk)
        ]
        assert [chunk.batch["len_json"].to_pylist() for chunk in chunks] == [lengths[:1], lengths[1:2], lengths[2:]]


def test_a_list_longer_than_a_column_can_hold_is_refused(tmp_path: Path) -> None:
    head = b"+ n test\n+ d AAECAwQFBgcICQoLDA0ODyD/f4A=\n+ g 0\n+ t 0\n+ b 2\n"
    item = b"- B! a %d " % (3 * GIB // 2)
    second = len(head) + len(item) + 3 * GIB // 2
    size = second + 1 + len(item) + 3 * GIB // 2 + 1
    with sparse(tmp_path / "long", size, [(0, head + item), (second, b"\n" + item), (size - 1, b"\n")]) as buffer:
        [end] = columns.scan("aerospike_records", buffer)
        assert isinstance(end, Break)
        assert (end.failure.path, end.failure.reason, end.at) == ("", TOO_LONG_ROW, 0)


def read_exactly(inputs: Sequence[Input], seed: int) -> None:
    """Read inputs and mutants of them from buffers of exact size, and all that comes of it."""
    for given in [*inputs, *mutants_of(inputs, seed, LONG_RUN)]:
        table = TABLES[given.table]
        with exactly(given.data) as view:
            for part in kernels.read(table, view, given.ranges(), table.columns, LIMITS):
                if isinstance(part, Chunk):
                    part.batch.validate(full=True)


@pytest.mark.fuzz
@each_table
def test_kernels_read_golden_files_in_buffers_of_exact_size(name: str) -> None:
    read_exactly(golden_inputs(name), seed=1 << 35)


@pytest.mark.fuzz
@each_table_with_vectors
def test_kernels_read_vectors_in_buffers_of_exact_size(vectors: Path, name: str) -> None:
    read_exactly(vector_inputs(vectors, name), seed=1 << 36)
