"""One file of every kind that thawline reads, and of some that it does not: intact, and with one byte changed.

They are golden files under the names that their owners would give them, and folders of such.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import partitions
import zstandard
from accounts import GOLDEN
from borg_repositories import KITCHEN

from thawline.formats.rbak import Rbak
from thawline.formats.rbak.salvage import new_manifest

FIRST = "00000000000000000000"
ORDERS = "nightly/queues/_default/orders"


@dataclass(frozen=True, slots=True)
class Kind:
    """A file or a folder, what is changed in it to damage it, and what `verify` then ends with."""

    name: str
    path: str
    """What a command is given."""
    files: Mapping[str, bytes]
    hurt: str
    """The file that is damaged."""
    at: int
    """Its byte that is changed."""
    codes: tuple[int, int] = (0, 1)
    """How `verify` ends for the intact one and for the damaged one."""

    @property
    def golden(self) -> tuple[str, str, str | None] | None:
        """Format, suffix and spec, if it is a golden file."""
        path = GOLDEN / f"{self.name}.json"
        return golden_kind(path) if path.exists() else None

    def write(self, folder: Path, *, damaged: bool) -> Path:
        """Write the files below a folder; the path that a command is given."""
        for name, data in self.files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self._changed(data) if damaged and name == self.hurt else data)
        return folder / self.path

    def _changed(self, data: bytes) -> bytes:
        return data[: self.at] + bytes(byte ^ 0xFF for byte in data[self.at : self.at + 1]) + data[self.at + 1 :]


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def alone(name: str, *, at: int | None = None, called: str = "", codes: tuple[int, int] = (0, 1)) -> Kind:
    """A golden file by itself, damaged in its middle."""
    data, path = golden(name), called or Path(name).name
    return Kind(name, path, {path: data}, path, len(data) // 2 if at is None else at, codes)


def segment(name: str, *, at: int | None = None) -> Kind:
    """A golden file under the name that a broker gives it, by which it is known even if its head is damaged."""
    return alone(name, at=at, called=FIRST + Path(name).suffix)


def given(name: str, path: str, data: bytes, *, at: int, codes: tuple[int, int] = (0, 1)) -> Kind:
    return Kind(name, path, {path: data}, path, at, codes)


def _partition() -> Kind:
    files = partitions.three_segments()
    aborted = [partitions.transactional(36, 7, 2), partitions.marker(38, 7, partitions.ABORT)]
    files |= partitions.segment_files(36, aborted)
    files[partitions.named(36, "txnindex")] = partitions.txn_index((7, 36, 38))
    files[partitions.named(36, "snapshot")] = partitions.snapshot()
    files["partition.metadata"] = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
    named = {f"orders-3/{name}": data for name, data in files.items()}
    hurt = f"orders-3/{partitions.named(12, 'log')}"
    return Kind("kafka partition", "orders-3", named, hurt, len(named[hurt]) // 2)


def _backup() -> Kind:
    segments = {
        "segment-0001.zst": golden("rbak/codec-zstd.zst"),
        "segment-0002.lz4": golden("rbak/many-records.lz4"),
    }
    files = {f"{ORDERS}/{name}": data for name, data in segments.items()}
    with TemporaryDirectory() as folder:
        nightly = Kind("", "nightly", files, "", 0).write(Path(folder), damaged=False)
        files["nightly/manifest.json"] = new_manifest(Rbak(), str(nightly)).data
    return Kind("rbak backup", "nightly", files, f"{ORDERS}/segment-0002.lz4", 900)


def _repository() -> Kind:
    pack = f"repo/packs/{KITCHEN['pack'][:2]}/{KITCHEN['pack']}"
    files = {
        pack: golden("borg/none-archive.pack"),
        f"repo/index/{KITCHEN['index']}": golden("borg/index-archive.index"),
        f"repo/archives/{KITCHEN['archive']}": b"",
        "repo/config/version": b"4",
    }
    return Kind("borg repository", "repo", files, pack, 297)


def _asb_folder() -> Kind:
    files = {"dump/a.asb": golden("aerospike/document-sample.asb"), "dump/b.asb": golden("aerospike/udfs.asb")}
    return Kind("aerospike folder", "dump", files, "dump/a.asb", 0xDD)


def _sealed_pack() -> Kind:
    """An encrypted pack under its own name: that is all that tells that it is damaged."""
    data = golden("borg/aes256-ocb-shape.pack")
    name = hashlib.sha256(data).hexdigest()
    return given("borg pack by its digest", name, data, at=140)


KINDS = [
    segment("kafka/v0-plain.log"),
    segment("kafka/v0-gzip.log"),
    segment("kafka/v1-plain.log"),
    segment("kafka/v1-lz4.log"),
    segment("kafka/v2-none.log"),
    segment("kafka/v2-gzip.log"),
    segment("kafka/v2-snappy.log"),
    segment("kafka/v2-lz4.log"),
    segment("kafka/v2-zstd.log"),
    segment("kafka/mixed-magics.log"),
    segment("kafka/transactions.log"),
    segment("kafka/kraft-control.log"),
    segment("kafka/extremes.log"),
    segment("kafka/many-records.log"),
    alone("kafka/00000000000000000100-0000000004.checkpoint"),
    segment("kafka/many-records.index", at=24),
    segment("kafka/preallocated.index", at=0),
    segment("kafka/many-records.timeindex", at=36),
    segment("kafka/several.txnindex", at=35),
    segment("kafka/transactions.snapshot"),
    alone("kafka/control-key-abort.bin", codes=(3, 3)),
    given("kafka leader epochs", "leader-epoch-checkpoint", b"0\n2\n0 0\n3 1500\n", at=4, codes=(3, 3)),
    _partition(),
    alone("rbf/many-frames.rbf", at=970),
    alone("rbf/nested-file.rbf"),
    alone("rbf/tombstone-lengths.rbf"),
    alone("rbf/genesis.rbf", at=0, codes=(0, 3)),
    alone("rbf/first-frame.address", codes=(3, 3)),
    alone("rbak/codec-none.rbak"),
    alone("rbak/codec-zstd.zst"),
    alone("rbak/codec-lz4-block.lz4"),
    alone("rbak/many-records.lz4"),
    alone("rbak/header-shapes.lz4"),
    _backup(),
    alone("aerospike/document-sample.asb", at=0xDD),
    alone("aerospike/keys.asb", at=200),
    alone("aerospike/many-bins.asb"),
    alone("aerospike/indexes.asb", at=29),
    alone("aerospike/udfs.asb", at=29),
    given("aerospike zstd", "keys.asb.zst", zstandard.compress(golden("aerospike/keys.asb")), at=100),
    _asb_folder(),
    alone("borg/none-archive.pack"),
    alone("borg/none-compressions.pack"),
    alone("borg/authenticated.pack"),
    alone("borg/aes256-ocb-shape.pack", at=3),
    _sealed_pack(),
    alone("borg/index-archive.index", at=10),
    _repository(),
    alone("rbf/many-frames.rbf", at=970, called=os.fsdecode(b"\xff\x1b[2J\xe2\x80\xae' \xc2\x9b.rbf")),
    given("empty file", "empty.log", b"", at=0, codes=(3, 3)),
    given("text", "notes.txt", b"hello\n" * 40, at=7, codes=(3, 3)),
    given("zeros", "zeros.bin", bytes(4096), at=7, codes=(3, 3)),
]


def golden_kind(account: Path) -> tuple[str, str, str | None]:
    """Format, suffix and spec of a golden file."""
    spec = json.loads(account.read_text(encoding="utf-8"))["file_spec"]
    return account.parent.name, account.with_suffix("").suffix, spec


def golden_kinds() -> set[tuple[str, str, str | None]]:
    """Format, suffix and spec of every golden file."""
    return set(map(golden_kind, GOLDEN.glob("*/*.json")))
