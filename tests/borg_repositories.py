"""Borg repositories for tests: those of the vectors, unpacked, and a small one made of golden files."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

from accounts import GOLDEN

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
