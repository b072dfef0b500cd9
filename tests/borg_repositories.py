"""Borg repositories for tests: those of the vectors, unpacked, a small one made of golden files, and hostile ones."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgpack
from accounts import GOLDEN
from click.testing import CliRunner

from thawline.cli import commands
from thawline.errors import ThawlineError

PACKED = [
    "b22-none", "b22-none-count1", "b22-aes256-ocb", "b22-authenticated-sha256", "b23-none-sha256", "b24-none-sha256",
    "b25-aes256-ocb", "b25-authenticated-blake3", "dev20260613-none",
]  # fmt: skip
READABLE = [name for name in PACKED if "aes256" not in name]
KITCHEN = {
    "pack": "f42d5fb71700e9703f2bc1eddf550120a96f30d3d19ba993cdd10d881ff687a6",
    "index": "55736cdf417819239529681435ea4746ad2c38f014f8aa224306b842b4874427",
    "archive": "1b7d5ebef3c1ad1b874bb35bf66134d284b79dd3656e5c5da7238d9490c57433",
}
"""Ids in the repository that the golden files none-archive.pack and index-archive.index make up."""


def unpacked(vectors: Path, name: str, folder: Path) -> Path:
    """The repository of a vector, in a folder of its own."""
    with tarfile.open(vectors / "borg" / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "repo"


def account(vectors: Path, name: str) -> dict[str, Any]:
    """What borg itself says about a vector."""
    found: dict[str, Any] = json.loads((vectors / "borg" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def damaged_packs(vectors: Path) -> list[dict[str, Any]]:
    """The damaged packs, with what survives in each."""
    found: list[dict[str, Any]] = json.loads((vectors / "borg/damaged/expected.json").read_text(encoding="utf-8"))
    return found


def kitchen(folder: Path) -> Path:
    """A repository of one pack, one index and one archive."""
    repo = folder / "repo"
    pack = repo / "packs" / KITCHEN["pack"][:2] / KITCHEN["pack"]
    for path in (pack, repo / "index" / "x", repo / "archives" / "x", repo / "config" / "x"):
        path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(GOLDEN / "borg/none-archive.pack", pack)
    shutil.copy(GOLDEN / "borg/index-archive.index", repo / "index" / KITCHEN["index"])
    (repo / "archives" / KITCHEN["archive"]).touch()
    (repo / "config" / "version").write_text("4")
    return repo


def pack_of(repo: Path, pack_id: str) -> Path:
    """Where a pack lies."""
    return repo / "packs" / pack_id[:2] / pack_id


def meta_map(**values: object) -> bytes:
    """The meta map of a blob of no data, with other values where they are given."""
    packed: bytes = msgpack.packb({"type": "F", "ctype": 0, "clevel": 255, "csize": 0, **values})
    return packed


def blob(plaintext: bytes, stored: bytes | None = None, *, chunk_id: bytes = b"", **meta: object) -> bytes:
    """A blob of mode none and object version 1, whose id is right unless it is given."""
    data = plaintext if stored is None else stored
    slots = (b"\x02" + meta_map(**{"csize": len(data), "size": len(plaintext), **meta}), b"\x02" + data)
    sizes = struct.pack("<II", *map(len, slots))
    return b"BORG_OBJ\x01" + (chunk_id or hashlib.sha256(plaintext).digest()) + sizes + b"".join(slots)


def item(path: object, **others: object) -> dict[str, object]:
    """A file of an archive, with one chunk that holds `hello`."""
    chunks = [[hashlib.sha256(b"hello").digest(), 5]]
    return {"path": path, "mode": 0o100644, "mtime": 1_000_000_000, "size": 5, "chunks": chunks, **others}


def made(folder: Path, streams: Sequence[bytes], archive: bytes | None = None, others: Iterable[bytes] = ()) -> Path:
    """A repository of one archive, `arc`, whose item stream has these chunks; its object may be any other."""
    ids = msgpack.packb([hashlib.sha256(stream).digest() for stream in streams])
    told = {"version": 2, "name": "arc", "time": "2026-11-16T08:00:00", "item_ptrs": [hashlib.sha256(ids).digest()]}
    whole = msgpack.packb(told) if archive is None else archive
    kinds = [(b"hello", "F"), *((stream, "S") for stream in streams), (ids, "C"), (whole, "A")]
    data = b"".join([*(blob(plaintext, type=kind) for plaintext, kind in kinds), *others])
    repo = folder / "repo"
    pack = pack_of(repo, hashlib.sha256(data).hexdigest())
    for path in (pack, repo / "archives" / "x", repo / "config" / "x"):
        path.parent.mkdir(parents=True, exist_ok=True)
    pack.write_bytes(data)
    (repo / "archives" / hashlib.sha256(whole).hexdigest()).touch()
    (repo / "config" / "version").write_text("4")
    return repo


def stream_of(items: Iterable[object]) -> bytes:
    """Items as an item stream has them."""
    return b"".join(map(msgpack.packb, items))


def run(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, which may be refused in a sentence but raises nothing else."""
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(done.exception, ThawlineError):
        return done.exception.exit_code, done.stdout, str(done.exception)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.return_value or done.exit_code, done.stdout, done.stderr
