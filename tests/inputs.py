"""What the kernels are tested with: bytes that hold rows of a table, from golden files, vectors and mutants of both."""

from __future__ import annotations

import base64
import json
import re
import struct
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from accounts import Golden, field, golden_files
from thawline.generated.kernels.tables import TABLES

from thawline import codecs, specs
from thawline.engine.chunks import Ranges
from thawline.errors import CodecError
from thawline.formats.kafka.records import codec_of
from tools.mutants import mutants

SHORT = 4096
"""Longer inputs are read as they are, but have no mutants and are not read uncompiled, which is slow."""
WITHOUT_VECTORS = {"rbak_records", "kafka_transaction_index"}


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes that hold rows of a table, and how many rows somebody has counted in them."""

    table: str
    data: bytes
    count: int = -1

    def ranges(self) -> Ranges:
        return Ranges.of([(0, len(self.data), self.count)])

    def mutants(self, seed: int, count: int) -> Iterator[Input]:
        return (Input(self.table, mutant, self.count) for mutant in mutants(self.data, seed, count))


UNIT_TABLES = {table.spec: name for name, table in TABLES.items() if "::" not in table.spec}
"""Tables whose rows are units of a file."""
ENTRY_TABLES = {
    "kafka_offset_index": "kafka_offset_index",
    "kafka_time_index": "kafka_time_index",
    "kafka_transaction_index": "kafka_transaction_index",
    "kafka_producer_snapshot": "kafka_producers",
    "borg_index": "borg_index_entries",
    "rbf_file": "rbf_frames",
}
"""Tables whose rows fill a file of that spec, but for its head."""


def head_size(spec: str, data: bytes) -> int:
    """Bytes before the first row of a file."""
    match spec:
        case "kafka_producer_snapshot":
            return 10
        case "borg_index":
            return 16 + int.from_bytes(data[12:16], "little")
        case "rbf_file":
            return 4
    return 0


@cache
def golden_inputs(name: str) -> list[Input]:
    """What the golden files hold of a table."""
    found = (given for golden in golden_files() for given in inputs_of(golden))
    return distinct(given for given in found if given.table == name)


def inputs_of(golden: Golden) -> Iterator[Input]:
    """Each unit, each unit with all that follows it, the file but for its head, and what units hold compressed."""
    data, spec = golden.data, golden.account["file_spec"]
    if spec in ENTRY_TABLES:
        yield Input(ENTRY_TABLES[spec], data[head_size(spec, data) :])
    for unit, unit_data in golden.units():
        if table := UNIT_TABLES.get(unit["spec"]):
            yield from (Input(table, unit_data), Input(table, data[unit["start"] :]))
        if content := unit.get("content"):
            stored = field(specs.parse(unit["spec"], unit_data, *unit.get("params", ())), content["field"])
            yield from contents(content["spec"], codecs.decompress(content["codec"], stored), *content["params"])


def contents(spec: str, data: bytes, count: int = -1) -> Iterator[Input]:
    """Decompressed rows, read to their end and by their count."""
    table = {"kafka_records": "kafka_records", "rbak_payload": "rbak_records", "kafka_segment": "kafka_messages"}[spec]
    yield Input(table, data)
    if count >= 0:
        yield Input(table, data, count)


def distinct(inputs: Iterable[Input]) -> list[Input]:
    return list(dict.fromkeys(inputs))


@cache
def vector_inputs(folder: Path, name: str) -> list[Input]:
    """What the third-party vectors hold of a table."""
    read = {"rbf": rbf_vectors, "borg": borg_vectors, "kafka": kafka_vectors, "aerospike": aerospike_vectors}
    format_ = name.partition("_")[0]
    return [given for given in every_vector(read[format_], folder / format_) if given.table == name]


@cache
def every_vector(read: Callable[[Path], Iterator[Input]], folder: Path) -> list[Input]:
    return distinct(read(folder))


def rbf_vectors(folder: Path) -> Iterator[Input]:
    for vector in json.loads((folder / "vectors.json").read_text(encoding="utf-8"))["vectors"]:
        data = bytes.fromhex(vector.get("hex") or "")
        yield from (Input("rbf_frames", data), Input("rbf_frames", data[4:]))


def borg_vectors(folder: Path) -> Iterator[Input]:
    for path in sorted((folder / "damaged").glob("*.pack")):
        yield Input("borg_blobs", path.read_bytes())
    for path in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(path) as archive:
            files = [archive.extractfile(member).read() for member in archive if member.isfile()]  # type: ignore[union-attr]
        for data in files:
            if data.startswith(b"BORGHASH"):
                yield Input("borg_index_entries", data[head_size("borg_index", data) :])
            elif path.name.startswith("b21") or data.startswith(b"BORG_OBJ"):
                yield Input("borg_blobs", data)


def kafka_vectors(folder: Path) -> Iterator[Input]:
    specs_by_suffix = {
        ".index": "kafka_offset_index",
        ".timeindex": "kafka_time_index",
        ".snapshot": "kafka_producer_snapshot",
    }
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if spec := specs_by_suffix.get(path.suffix):
            yield Input(ENTRY_TABLES[spec], data[head_size(spec, data) :])
        elif path.name.endswith(".msg.bin"):
            yield from segment_inputs(struct.pack(">qi", 0, len(data)) + data)
        elif path.suffix == ".log" or path.name.endswith(".bin"):
            yield from segment_inputs(data)


def segment_inputs(data: bytes) -> Iterator[Input]:
    """A segment as both kinds of units, and its first units by themselves with what they hold."""
    yield from (Input("kafka_batches", data), Input("kafka_messages", data))
    at = 0
    for _ in range(20):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if min(size, len(data) - at) < 17:
            return
        unit = data[at : at + size]
        yield Input("kafka_messages" if data[at + 16] < 2 else "kafka_batches", unit)
        yield from unit_contents(unit)
        at += size


def unit_contents(unit: bytes) -> Iterator[Input]:
    """What a batch or a compressed message holds, as far as it can be decompressed."""
    spec = "kafka_message" if unit[16] < 2 else "kafka_record_batch"
    with suppress(CodecError, *specs.PARSE_ERRORS):
        body = specs.parser(spec).from_bytes(unit).body
        compression = body.attributes.compression.name
        if spec == "kafka_record_batch":
            codec = codec_of(compression, body.magic, body.records)
            yield from contents("kafka_records", codecs.decompress(codec, body.records), body.num_records)
        elif compression != "none":
            codec = codec_of(compression, body.magic, body.value)
            yield from contents("kafka_segment", codecs.decompress(codec, body.value))


def aerospike_vectors(folder: Path) -> Iterator[Input]:
    """Every place of a file or fragment at which an item may start, to its end."""
    tables = {b"+ ": "aerospike_records", b"* i": "aerospike_indexes", b"* e": "aerospike_indexes"}
    tables[b"* u"] = "aerospike_udfs"
    for vector in json.loads((folder / "vectors.json").read_text(encoding="utf-8")):
        for key in ("input", "file_input"):
            data = base64.b64decode(vector.get(key) or "")
            for item in re.finditer(rb"(?:^|(?<=\n))(?:\+ (?=[kn])|\* [ieu])", data):
                yield Input(tables[item.group()], data[item.start() :])


def short(inputs: Sequence[Input]) -> list[Input]:
    """Those of some inputs that are short."""
    return [given for given in inputs if len(given.data) <= SHORT]


def mutants_of(inputs: Sequence[Input], seed: int, count: int) -> Iterator[Input]:
    """As many mutants of some inputs, spread evenly over those that are short."""
    sources = short(inputs)
    if len(sources) > count:
        sources = Random(seed).sample(sources, count)
    for index, source in enumerate(sources):
        yield from source.mutants(seed + index, count // len(sources))
