"""LevelDB logs as LevelDB itself writes them, and their fragments as its document describes them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import crc32c
import plyvel

SPEC = Path(__file__).parents[1] / "docs" / "examples" / "leveldb_log.ksy"
BLOCK = 32_768
HEAD = struct.Struct("<IHB")
KINDS = {1: "full", 2: "first", 3: "middle", 4: "last"}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A fragment, and the block that it is in."""

    block: int
    kind: str
    data: bytes


def written(folder: Path, values: dict[bytes, bytes]) -> bytes:
    """The log of a database that these values were put into."""
    with plyvel.DB(str(folder / "database"), create_if_missing=True, write_buffer_size=64 << 20) as database:
        for key, value in values.items():
            database.put(key, value, sync=True)
        (log,) = (folder / "database").glob("*.log")
        return log.read_bytes()


def fragments(log: bytes) -> Iterator[Fragment]:
    """What is in a log, by LevelDB's own document: doc/log_format.md."""
    for start in range(0, len(log), BLOCK):
        block = log[start : start + BLOCK]
        at = 0
        while len(block) - at >= HEAD.size:
            masked, size, kind = HEAD.unpack_from(block, at)
            body = block[at + 6 : at + HEAD.size + size]
            crc = crc32c.crc32c(body)
            assert masked == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            yield Fragment(start // BLOCK, KINDS[kind], body[1:])
            at += HEAD.size + size
