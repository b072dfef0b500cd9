"""PackWriter: a new pack of given blobs, which names itself when it is complete."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import blake3

from thawline.errors import SourceError, ThawlineError
from thawline.formats.borg.header import ENVELOPES, HEADER_SIZE, LARGEST_OBJECT, pack_header
from thawline.formats.borg.naming import HASHES, HEX_ID, Rule
from thawline.outputs import replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["BadBlob", "PackWriter", "Placed"]

ID_SIZE = 32
LARGEST_OFFSET = (1 << 32) - 1
"""An index has 32 bits for the place of a blob in its pack."""
IN_MEMORY = 64 << 20


class BadBlob(ThawlineError, ValueError):
    """A blob that no pack can hold."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a blob lies in the pack."""

    chunk_id: bytes
    offset: int
    size: int


class PackWriter:
    r"""A pack to add blobs to; it appears in its folder, under its name, when it is closed.

    The slots of a blob are given as they are to be stored, in the envelopes of their mode. The name follows from the
    rule: `blake3` (2.0.0b25) or `sha256` (b22 to b24) of the pack, the `chunk_id` of its only blob (development
    versions of June 2026), or, with `none`, a name that is given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, PackWriter(folder, rule="chunk_id", version=1) as pack:
    ...     placed = pack.add(bytes(32), b"\2meta", b"\2data")
    ...     path = pack.close()
    >>> placed.size, path.name == "00" * 32
    (59, True)
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, rule: Rule = "blake3", version: int = 2, name: str | None = None
    ) -> None:
        if version not in ENVELOPES:
            raise BadBlob(f"object version {version} is not known; there are 1 and 2")
        if (rule == "none") != (name is not None):
            raise BadBlob("a name is to be given with rule none, and only then")
        self.folder, self.rule, self.version, self.name = Path(folder), rule, version, name
        self.blobs: list[Placed] = []
        """What has been added, in order."""
        self.size = 0
        self._hashes: dict[str, Any] = {"sha256": hashlib.sha256(), "blake3": blake3.blake3()}
        self._file: IO[bytes] | None = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by close
        self._path: Path | None = None

    def add(self, chunk_id: bytes, meta: Buffer, data: Buffer, *, version: int | None = None) -> Placed:
        """Add a blob, of the pack's object version unless it has its own; where it lies in the pack."""
        slots = [memoryview(slot).cast("B") for slot in (meta, data)]
        version = self.version if version is None else version
        if version not in ENVELOPES:
            raise BadBlob(f"object version {version} is not known; there are 1 and 2")
        self._check(chunk_id, *map(len, slots))
        header = pack_header(version, chunk_id, *map(len, slots))
        placed = Placed(chunk_id, self.size, HEADER_SIZE + sum(map(len, slots)))
        self._write(header)
        for slot in slots:
            self._write(slot)
        self.blobs.append(placed)
        return placed

    def _check(self, chunk_id: bytes, len_meta: int, len_data: int) -> None:
        if len(chunk_id) != ID_SIZE:
            raise BadBlob(f"a chunk_id has {ID_SIZE} bytes, not {len(chunk_id)}")
        if not len_meta or not len_data:
            raise BadBlob("a slot has at least the byte that names its mode")
        if HEADER_SIZE + len_meta + len_data > LARGEST_OBJECT:
            raise BadBlob(f"a blob may have {LARGEST_OBJECT} bytes, this one has {HEADER_SIZE + len_meta + len_data}")
        if self.size > LARGEST_OFFSET:
            raise BadBlob(f"a blob at {self.size:#x} cannot be found again: an index has 32 bits for its place")
        if self.rule == "chunk_id" and self.blobs:
            raise BadBlob("a pack that is named by its chunk_id holds one blob")

    def _write(self, part: bytes | memoryview) -> None:
        if self._file is None:
            raise BadBlob("the pack is closed")
        self._file.write(part)
        self.size += len(memoryview(part))
        for made in self._hashes.values():
            made.update(part)

    def pack_id(self) -> str:
        """The name that the pack has by what was added so far."""
        match self.rule:
            case "none":
                return str(self.name)
            case "chunk_id":
                if not self.blobs:
                    raise BadBlob("a pack that is named by its chunk_id holds one blob")
                return self.blobs[0].chunk_id.hex()
        digest: str = self._hashes[self.rule].hexdigest()
        return digest

    def close(self) -> Path:
        """Write the pack under its name; its path. One that is there already with the same bytes is left as it is."""
        if self._path is None:
            target = self.folder / self.pack_id()
            if not self._is_there(target):
                self._save(target)
            self._path = target
        self.discard()
        return self._path

    def _is_there(self, target: Path) -> bool:
        if self.rule not in HASHES or not HEX_ID.fullmatch(target.name):
            return False
        try:
            return HASHES[self.rule](memoryview(target.read_bytes())).hex() == target.name
        except OSError:
            return False

    def _save(self, target: Path) -> None:
        if self._file is None:
            raise SourceError(f"{target}: the pack was discarded")
        self._file.seek(0)
        with replacing(target) as file:
            shutil.copyfileobj(self._file, file, 1 << 20)

    def discard(self) -> None:
        """Give up what was added and is not written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the pack, unless an error came in between."""
        if kind is None:
            self.close()
        else:
            self.discard()
