"""The generated parsers over files that nobody in this project wrote."""

from __future__ import annotations

import base64
import json
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accounts import plain
from crc32c import crc32c

from thawline import codecs, specs
from thawline.errors import FormatError
from thawline.formats.kafka.records import codec_of

PACKED = [
    "b22-none", "b22-none-count1", "b22-aes256-ocb", "b22-authenticated-sha256", "b23-none-sha256", "b24-none-sha256",
    "b25-aes256-ocb", "b25-authenticated-blake3", "dev20260613-none",
]  # fmt: skip
SEGMENTS = [
    "mixed_magic", "v0_none", "v1_none", "v1_snappy", "v1_lz4_logappendtime", "v2_none", "v2_gzip", "v2_snappy",
    "v2_snappy_multiblock", "v2_lz4_multiblock", "v2_zstd_logappendtime", "v2_none_compacted", "v2_sequence_wrap",
    "v1src_upconverted_gzip_compacted",
]  # fmt: skip


def repository(vectors: Path, name: str) -> dict[str, bytes]:
    """Files of a Borg repository by their path in it."""
    with tarfile.open(vectors / "borg" / f"{name}.tar.gz") as archive:
        members = [member for member in archive if member.isfile()]
        return {member.name.removeprefix("repo/"): archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


@pytest.mark.parametrize("name", PACKED)
def test_packs_hold_the_blobs_that_borg_lists(vectors: Path, name: str) -> None:
    account = json.loads((vectors / "borg" / f"{name}.json").read_text())
    files = repository(vectors, name)
    for pack in account["packs"]:
        offset = 0
        blobs = specs.parse("borg_pack", files[pack["path"]], file=pack["path"]).blobs
        for blob, listed in zip(blobs, pack["blobs"], strict=True):
            assert (offset, blob.version) == (listed["offset"], listed["version"])
            assert blob.chunk_id.hex() == listed["chunk_id"]
            assert (blob.len_meta, blob.len_data) == (listed["meta_size"], listed["data_size"])
            offset += listed["size"]
        assert offset == pack["size"]


@pytest.mark.parametrize("name", ["b22-none", "b22-aes256-ocb", "b23-none-sha256", "b24-none-sha256"])
def test_index_files_locate_every_blob(vectors: Path, name: str) -> None:
    account = json.loads((vectors / "borg" / f"{name}.json").read_text())
    files = repository(vectors, name)
    indexes = [specs.parse("borg_index", data) for path, data in files.items() if path.startswith("index/")]
    located = {(e.chunk_id.hex(), e.pack_id.hex(), e.ofs_blob, e.len_blob) for index in indexes for e in index.entries}
    blobs = [(pack["pack_id"], blob) for pack in account["packs"] for blob in pack["blobs"] if blob["in_index"]]
    listed = {(blob["chunk_id"], pack_id, blob["offset"], blob["size"]) for pack_id, blob in blobs}
    assert located == listed


def test_objects_from_before_packs_are_refused(vectors: Path) -> None:
    for path, data in repository(vectors, "b21-none-prepack").items():
        if path.startswith("data/"):
            with pytest.raises(FormatError, match="must be 0x424f52475f4f424a"):
                specs.parse("borg_blob", data, file=path)


def rbf_vectors(vectors: Path) -> list[dict[str, Any]]:
    listed = json.loads((vectors / "rbf" / "vectors.json").read_text())["vectors"]
    return [vector for vector in listed if vector["hex"] and vector["expect"].get("forward_walk")]


def test_a_forward_walk_of_rbf_stops_where_the_vector_says(vectors: Path) -> None:
    """A walk goes from fence to fence; a frame that is whole but not followed by a fence does not count."""
    checked = 0
    for vector in rbf_vectors(vectors):
        data = bytes.fromhex(vector["hex"])
        walk = vector["expect"]["forward_walk"]
        if data[:4] == b"RBF1":
            assert (vector["name"], list(walked(data))) == (vector["name"], walk["frames"])
            checked += 1
    assert checked > 50


def walked(data: bytes) -> Iterator[int]:
    at = 4
    while at < len(data):
        try:
            frame = specs.parse("rbf_file::entry", data[at:]).frame
        except FormatError:
            return
        if crc32c(frame.body.crc32c_input) != frame.body.crc32c:
            return
        yield at
        at += frame.len_frame + 4


@pytest.mark.parametrize("name", SEGMENTS)
def test_segments_hold_what_kafka_reads_from_them(vectors: Path, name: str) -> None:
    folder = vectors / "kafka" / "java-kafka-clients-4.3.0"
    expected = json.loads((folder / f"{name}.expected.json").read_text())
    data = (folder / f"{name}.log").read_bytes()
    entries = specs.parse("kafka_segment", data, file=name).entries
    for entry, batch in zip(entries, expected["batches"], strict=True):
        assert entry.ofs_entry == batch["position"]
        assert entry.unit.body.magic == batch["magic"]
        assert entry.unit.body.attributes.compression.name == batch["codec"]
        assert checksum_of(entry.unit) == entry.unit.body.crc == batch["crc"]
        assert list(values_of(entry.unit)) == [(record["key"], record["value"]) for record in batch["records"]]


def checksum_of(unit: Any) -> int:
    covered = unit.body.crc_input
    return crc32c(covered) if unit.body.magic == 2 else zlib.crc32(covered)


def values_of(unit: Any) -> Iterator[tuple[str | None, str | None]]:
    """Key and value of every record of a batch, a message or a wrapper of messages, as hex."""
    body = unit.body
    stored = body.records if body.magic == 2 else getattr(body, "value", None)
    codec = codec_of(body.attributes.compression.name, body.magic, stored or b"")
    if body.magic == 2:
        records = specs.parse("kafka_records", codecs.decompress(codec, stored), body.num_records).records
        yield from (pair(record.body) for record in records)
    elif codec == "none":
        yield pair(body)
    else:
        for entry in specs.parse("kafka_segment", codecs.decompress(codec, stored)).entries:
            yield from values_of(entry.unit)


def pair(body: Any) -> tuple[str | None, str | None]:
    key, value = (getattr(body, name, None) for name in ("key", "value"))
    return plain(key, None), plain(value, None)


def test_sidecar_files_of_a_real_partition_point_into_its_segments(vectors: Path) -> None:
    folder = vectors / "kafka" / "pinterest-tiered-storage" / "test_topic_a-0"
    for index in sorted(folder.glob("*.index")):
        log = index.with_suffix(".log").read_bytes()
        entries = specs.parse("kafka_offset_index", index.read_bytes(), file=index.name).entries
        for entry in entries:
            if (entry.relative_offset, entry.position) != (0, 0):
                batch = specs.parse("kafka_record_batch", log[entry.position :], file=log.hex()[:8])
                last = batch.base_offset + batch.body.last_offset_delta
                assert last == int(index.stem) + entry.relative_offset
    for snapshot in folder.glob("*.snapshot"):
        read = specs.parse("kafka_producer_snapshot", snapshot.read_bytes(), file=snapshot.name)
        assert crc32c(read.crc_input) == read.crc


def test_backups_that_both_aerospike_tools_read_hold_the_same_for_us(vectors: Path) -> None:
    checked = 0
    for vector in json.loads((vectors / "aerospike" / "vectors.json").read_text()):
        if vector["kind"] == "file" and vector["agree"] and vector["go"]["verdict"] == "accept":
            backup = specs.parse("aerospike_backup", base64.b64decode(vector["input"]), file=vector["name"])
            units = [item.unit for item in backup.items if type(item.unit).__name__ != "AerospikeMeta"]
            assert [type(unit).__name__ for unit in units] == [KINDS[token["type"]] for token in vector["go_tokens"]]
            for unit, token in zip(units, vector["go_tokens"], strict=True):
                if token["type"] == "record":
                    assert len(unit.bins) >= len(token["bins"])  # both tools drop a repeated bin name
                    assert unit.generation.value == token["generation"]
            checked += 1
    assert checked > 30


KINDS = {"record": "AerospikeRecord", "sindex": "AerospikeIndex", "udf": "AerospikeUdf"}
