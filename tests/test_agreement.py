"""Kernels, compiled and not, agree with ksc's parsers on golden files, third-party vectors and mutants of both."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from agreement import (
    LONG_RUN,
    TOO_LONG,
    TOO_LONG_ROW,
    breaks,
    check_agreement,
    compiled_read,
    each_table,
    each_table_with_vectors,
    read,
)
from inputs import SHORT, Input, golden_inputs, mutants_of, short, vector_inputs
from thawline.generated.kernels.tables import TABLES

from thawline.engine.tables import Failure

SHORT_RUN = {
    "rbak_records": 3000, "rbf_frames": 2000, "borg_blobs": 2000,  # the only tables of their formats
    "borg_index_entries": 200, "kafka_offset_index": 200, "kafka_producers": 200,  # nothing but integers
    "kafka_time_index": 200, "kafka_transaction_index": 200,
}  # fmt: skip
"""Mutants in an ordinary run, where it is not a thousand."""


def check_mutants(inputs: Sequence[Input], seed: int, count: int) -> None:
    """All agree on mutants; every fifth is read uncompiled too."""
    for index, mutant in enumerate(mutants_of(inputs, seed, count)):
        check_agreement(mutant, is_uncompiled_too=index % 5 == 0)


@each_table
def test_kernels_and_parser_agree_on_every_golden_file(name: str) -> None:
    assert golden_inputs(name)
    for given in golden_inputs(name):
        check_agreement(given, is_uncompiled_too=len(given.data) <= SHORT)


@each_table_with_vectors
def test_kernels_and_parser_agree_on_every_vector(vectors: Path, name: str) -> None:
    assert vector_inputs(vectors, name)
    for given in vector_inputs(vectors, name):
        check_agreement(given, is_uncompiled_too=len(given.data) <= SHORT)


@each_table
def test_kernels_and_parser_agree_on_mutants_of_golden_files(name: str) -> None:
    check_mutants(golden_inputs(name), seed=1, count=SHORT_RUN.get(name, 1000))


@each_table_with_vectors
def test_kernels_and_parser_agree_on_mutants_of_vectors(vectors: Path, name: str) -> None:
    check_mutants(vector_inputs(vectors, name), seed=2, count=SHORT_RUN.get(name, 1000))


@pytest.mark.fuzz
@each_table
def test_kernels_and_parser_agree_on_many_mutants_of_golden_files(name: str) -> None:
    check_mutants(golden_inputs(name), seed=1 << 32, count=LONG_RUN)


@pytest.mark.fuzz
@each_table_with_vectors
def test_kernels_and_parser_agree_on_many_mutants_of_vectors(vectors: Path, name: str) -> None:
    check_mutants(vector_inputs(vectors, name), seed=1 << 33, count=LONG_RUN)


@pytest.mark.fuzz
@each_table
def test_kernels_and_parser_agree_on_every_cut_of_golden_files(name: str) -> None:
    inputs = [given for given in golden_inputs(name) if len(given.data) <= 512]
    cuts = {Input(name, given.data[:size], given.count) for given in inputs for size in range(len(given.data))}
    for cut in sorted(cuts, key=lambda cut: cut.data):
        check_agreement(cut, is_uncompiled_too=False)


HOLDS = {
    "kafka_batches": {f"/types/body/seq/{index}" for index in (0, 1, 2, 4, 5, 6, 7, 8, 9, 10)}
    | {"/types/attributes/seq/0"},
    "kafka_messages": {f"/types/body/seq/{index}" for index in (0, 1, 3)} | {"/types/attributes/seq/0"},
    "rbf_frames": {f"/types/body/seq/{index}" for index in (0, 3, 4)} | {"/types/frame_status/seq/0"},
}
"""Fields that cannot be cut off, since a structure of the least size that `valid` allows holds them."""


NEVER = {
    ("kafka_batches", "/types/body/seq/11"), ("kafka_messages", "/types/body/seq/8"),  # size-eos fits by definition
    ("borg_blobs", "/types/slot/seq/3"),
    ("kafka_records", "/types/body/seq/9"),  # so do no bytes at all
    ("kafka_batches", "/types/body/instances/crc_input"), ("kafka_messages", "/types/body/instances/crc_input"),
    ("rbf_frames", "/types/body/instances/crc32c_input"), ("rbf_frames", "/types/body/instances/last_status"),
    ("rbf_frames", "/types/body/seq/1"),  # the least size leaves room for these
}  # fmt: skip


TINY_MESSAGE = struct.pack(">qiIBBqH", 0, 16, 0, 1, 0, 0, 0)
"""A Kafka message with a timestamp that is cut off in its key's length, although its own length is right."""


@pytest.mark.fuzz
@each_table
def test_damage_reaches_every_check_of_a_kernel(name: str) -> None:
    inputs = [*golden_inputs(name), *([Input(name, TINY_MESSAGE)] if name == "kafka_messages" else [])]
    counted = [Input(name, given.data, 1) for given in inputs]
    cuts = [Input(name, given.data[:at]) for given in short(inputs) for at in range(min(512, len(given.data)))]
    flips = [Input(name, flipped(given.data, at)) for given in short(inputs) for at in range(min(512, len(given.data)))]
    made = [Input(name, data) for given in inputs for data in short_slots(given.data)] if name == "borg_blobs" else ()
    damaged = {*counted, *cuts, *flips, *made, *mutants_of(inputs, 1 << 34, LONG_RUN // 4)}
    reached = {end.failure for given in damaged for end in breaks(read(compiled_read, given))}
    missed = set(TABLES[name].failures) - reached
    assert {failure for failure in missed if not is_out_of_reach(name, failure)} == set()


def short_slots(blob: bytes) -> Iterator[bytes]:
    """A Borg blob whose meta slot ends before what its type begins with, although its lengths are right."""
    lengths_at, meta_at = 41, 49
    for size in range(1, 50):
        yield blob[:lengths_at] + struct.pack("<II", size, 1) + blob[meta_at : meta_at + size + 1]


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def is_out_of_reach(name: str, failure: Failure) -> bool:
    is_held = failure.reason == "end of data" and failure.path in HOLDS.get(name, ())
    return is_held or failure.reason in (TOO_LONG, TOO_LONG_ROW) or (name, failure.path) in NEVER
