"""Archives and the items in them: archive object, lists of chunk ids, item stream, without borg.

A file in archives/ is named by the chunk_id of its archive object. That names lists of ids (type C); the chunks of
these lists (type S), end to end, are a stream of msgpack maps, an item each; an item names the chunks of its file.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgpack

from thawline.formats.borg.contents import Flaw
from thawline.formats.borg.findings import BAD_DATA
from thawline.formats.borg.store import LostChunk, Store

ID_SIZE = 32
LONGEST_ITEM = 256 << 20
ITEM_KEYS = (
    "acl_access", "acl_default", "acl_extended", "acl_nfs4", "atime", "birthtime", "bsdflags", "chunks",
    "chunks_healthy", "ctime", "deleted", "gid",
    "group", "hardlink_master", "hlid", "inode", "mode", "mtime", "nlink", "part", "path",
    "rdev", "size", "source", "target", "uid", "user", "win_attrs", "xattrs",
)  # fmt: skip
ITEM_START = re.compile(
    rb"(?:[\x80-\x8f]|\xde..)(?:" + b"|".join(bytes([0xA0 | len(key)]) + key.encode() for key in ITEM_KEYS) + b")",
    re.DOTALL,
)
"""How an item starts: a map whose first key is one of an item's, the way borg itself finds its place again."""
KINDS = {
    stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo", stat.S_IFCHR: "device",
    stat.S_IFBLK: "device", stat.S_IFSOCK: "socket",
}  # fmt: skip
LARGEST_TIME = 1 << 62


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive, as its own object tells about it."""

    id: str
    name: str
    time: datetime | None
    hostname: str
    username: str
    comment: str
    nfiles: int | None
    size: int | None
    item_ptrs: tuple[str, ...]
    """Ids of the lists of the chunks that are its item stream."""


@dataclass(frozen=True, slots=True)
class Item:
    """A file, folder or link in an archive."""

    path: str
    kind: str
    mode: int
    """Permission bits."""
    user: str
    group: str
    uid: int | None
    gid: int | None
    mtime: int | None
    """Nanoseconds since 1970."""
    size: int
    chunks: tuple[tuple[str, int], ...]
    """Ids of its chunks with the size of each, in order."""
    target: str = ""
    """Where a link points."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of the item stream that is lost, with the items in it."""

    chunk_id: str
    reason: str


def read_archive(store: Store, archive_id: str) -> Archive:
    """An archive by the id of its object; `LostChunk` if that cannot be read or is no archive."""
    content = store.get(archive_id)
    found = _unpacked(content.plaintext)
    if content.meta.type != "A" or not isinstance(found, dict):
        raise LostChunk(f"chunk {archive_id} is no archive, but of type {content.meta.type}")
    return Archive(
        id=archive_id,
        name=_text(found.get("name")),
        time=_time(found.get("time")),
        hostname=_text(found.get("hostname")),
        username=_text(found.get("username")),
        comment=_text(found.get("comment")),
        nfiles=_number(found.get("nfiles")),
        size=_number(found.get("size")),
        item_ptrs=tuple(_ids(found.get("item_ptrs"))),
    )


def read_items(store: Store, archive: Archive) -> Iterator[Item | Gap]:
    """The items of an archive, and a gap for each part of the item stream that is lost."""
    unpacker, is_lost = _unpacker(), False
    for chunk in _stream(store, archive):
        if isinstance(chunk, Gap):
            unpacker, is_lost = _unpacker(), True
            yield chunk
            continue
        unpacker.feed(_from_first_item(chunk) if is_lost else chunk)
        is_lost = False
        try:
            yield from filter(None, map(_item, unpacker))
        except (ValueError, msgpack.UnpackException, RecursionError) as error:
            unpacker, is_lost = _unpacker(), True
            yield Gap("", f"the item stream cannot be read: {error}")


def _stream(store: Store, archive: Archive) -> Iterator[bytes | Gap]:
    """The chunks of the item stream, and a gap for each that is lost."""
    for pointer in archive.item_ptrs:
        try:
            chunk_ids = list(_ids(_unpacked(store.get(pointer).plaintext)))
        except (LostChunk, Flaw) as error:
            yield Gap(pointer, str(error))
            continue
        for chunk_id in chunk_ids:
            try:
                yield store.get(chunk_id).plaintext
            except LostChunk as error:
                yield Gap(chunk_id, str(error))


def _from_first_item(chunk: bytes) -> bytes:
    """What of a chunk is left from its first whole item on; behind a gap it may start inside of one."""
    for found in ITEM_START.finditer(chunk):
        unpacker = _unpacker()
        unpacker.feed(memoryview(chunk)[found.start() :])
        try:
            if _item(unpacker.unpack()):
                return chunk[found.start() :]
        except (ValueError, msgpack.UnpackException, RecursionError):
            continue
    return b""


def _unpacker() -> msgpack.Unpacker:
    return msgpack.Unpacker(max_buffer_size=LONGEST_ITEM, unicode_errors="surrogateescape", strict_map_key=False)


def _unpacked(data: bytes) -> Any:
    try:
        return msgpack.unpackb(data, unicode_errors="surrogateescape", strict_map_key=False)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise LostChunk(f"holds no msgpack: {error}") from Flaw(BAD_DATA, str(error))


def _ids(found: object) -> Iterable[str]:
    """Chunk ids in a list of them; what is none is refused."""
    if not isinstance(found, list) or not all(isinstance(one, bytes) and len(one) == ID_SIZE for one in found):
        raise LostChunk("holds no list of chunk ids")
    return [one.hex() for one in found]


def _item(found: object) -> Item | None:
    """An item out of its map; None if it is none."""
    if not isinstance(found, dict) or not isinstance(found.get("path"), str):
        return None
    mode = _number(found.get("mode")) or 0
    chunks = tuple(_chunks(found.get("chunks")))
    return Item(
        path=found["path"],
        kind=KINDS.get(stat.S_IFMT(mode) if mode < 1 << 31 else 0, "unknown"),
        mode=stat.S_IMODE(mode) if mode < 1 << 31 else 0,
        user=_text(found.get("user")),
        group=_text(found.get("group")),
        uid=_number(found.get("uid")),
        gid=_number(found.get("gid")),
        mtime=_nanoseconds(found.get("mtime")),
        size=_number(found.get("size")) or sum(size for _, size in chunks),
        chunks=chunks,
        target=_text(found.get("target")),
    )


def _chunks(found: object) -> Iterator[tuple[str, int]]:
    for entry in found if isinstance(found, list) else ():
        match entry:
            case [bytes(chunk_id), int(size), *_] if len(chunk_id) == ID_SIZE:
                yield chunk_id.hex(), size
            case _:
                yield "", 0  # no such chunk, so the file counts as damaged


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _number(found: object) -> int | None:
    return found if isinstance(found, int) and 0 <= found < LARGEST_TIME else None


def _nanoseconds(found: object) -> int | None:
    if isinstance(found, msgpack.Timestamp):
        time: int = found.to_unix_nano()
        return time if abs(time) < LARGEST_TIME else None
    return _number(found)


def _time(found: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(_text(found))
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC)
