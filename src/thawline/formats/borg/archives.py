"""Archives and the items in them: archive object, lists of chunk ids, item stream, without borg.

A file in archives/ is named by the chunk_id of its archive object. That names lists of ids (type C); the chunks of
these lists (type S), end to end, are a stream of msgpack maps, an item each; an item names the chunks of its file.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from thawline.formats.borg.cursor import Cursor, Nanoseconds, Short, Value, Wrong
from thawline.formats.borg.store import LostChunk, Store
from thawline.wording import counted, printable

ID_SIZE = 32
LONGEST_ITEM = 64 << 20
MOST_KEYS = 64
"""Keys of an item or an archive; borg has some thirty for each."""
MOST_POINTERS = 1 << 17
"""Lists of chunk ids that an archive may name; each may have half a million."""
MOST_CHUNKS = 1 << 24
MOST_ITEMS, BYTES_OF_ITEM = 100_000, 8
"""Items that an archive may have anyway, and how few bytes of the packs each further one may take."""
MOST_STREAM, STREAM_TIMES = 32 << 20, 16
"""Bytes that a list of items may have anyway, and how many times the size of the packs."""
TIRED_AFTER = 4
"""How many times the bytes behind a gap are read in search of an item."""
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
    if content.meta.type != "A":
        raise LostChunk(f"chunk {archive_id} is no archive, but of type {printable(content.meta.type)}")
    found: dict[str, Value] = {}
    pointers: tuple[str, ...] | None = None
    cursor = Cursor(content.plaintext)
    try:
        for key in _keys(cursor):
            if key == "item_ptrs":
                pointers = tuple(_ids(cursor, MOST_POINTERS))
            else:
                found[key] = cursor.value()
    except (Short, Wrong) as error:
        raise LostChunk(f"chunk {archive_id} holds no archive: {_reason(error)}") from error
    if pointers is None or cursor.at < len(content.plaintext):
        reason = "bytes are left behind it" if pointers is not None else "it names no list of items"
        raise LostChunk(f"chunk {archive_id} holds no archive: {reason}")
    return _archive(archive_id, found, pointers)


def _archive(archive_id: str, found: dict[str, Value], pointers: tuple[str, ...]) -> Archive:
    return Archive(
        id=archive_id,
        name=_text(found.get("name")),
        time=_time(found.get("time")),
        hostname=_text(found.get("hostname")),
        username=_text(found.get("username")),
        comment=_text(found.get("comment")),
        nfiles=_number(found.get("nfiles")),
        size=_number(found.get("size")),
        item_ptrs=pointers,
    )


def read_items(store: Store, archive: Archive) -> Iterator[Item | Gap]:
    """The items of an archive, and a gap for each part of the item stream that is lost."""
    most = MOST_ITEMS + store.size // BYTES_OF_ITEM
    for number, item in enumerate(_items(store, archive)):
        if number == most:
            yield Gap("", f"the archive has more than {counted(most, 'item')}, too many for packs of this size")
            return
        yield item


def _items(store: Store, archive: Archive) -> Iterator[Item | Gap]:
    stream = _Stream()
    for chunk in _stream(store, archive):
        if isinstance(chunk, Gap):
            yield from stream.read()
            stream = _Stream(is_lost=True)
            yield chunk
        else:
            yield from stream.feed(chunk)
    yield from stream.end()


class _Stream:
    """Items out of the chunks of their stream, which are cut anywhere."""

    def __init__(self, *, is_lost: bool = False) -> None:
        self.data, self.is_lost = bytearray(), is_lost
        """What is not read yet, and whether it may start inside of an item."""
        self.wanted = 0
        """How much there must be before another look is worth while: half of what was looked at is new."""

    def feed(self, chunk: bytes) -> Iterator[Item | Gap]:
        """The items that end in the next chunk."""
        self.data += chunk
        if len(self.data) >= self.wanted:
            yield from self.read()
        if len(self.data) > LONGEST_ITEM:
            yield self._lose(f"an item of more than {counted(LONGEST_ITEM, 'byte')}")
            self.data.clear()

    def end(self) -> Iterator[Item | Gap]:
        """The items that are left, where no further chunk follows."""
        yield from self.read()
        if self.data and not self.is_lost:
            yield self._lose("it ends inside of an item")

    def read(self) -> Iterator[Item | Gap]:
        """The items that are whole so far."""
        at, cursor = 0, Cursor(self.data)
        while at < len(self.data):
            if self.is_lost:
                at = cursor.at = _first_item(self.data, at)
                self.is_lost = at == len(self.data)
                continue
            try:
                item = _item(cursor)
            except Short:
                break
            except Wrong as error:
                yield self._lose(_reason(error))
                at = cursor.at = at + 1
                continue
            at = cursor.at
            yield item
        del self.data[:at]
        self.wanted = 2 * len(self.data)

    def _lose(self, reason: str) -> Gap:
        self.is_lost = True
        return Gap("", f"the item stream cannot be read: {reason}")


def _stream(store: Store, archive: Archive) -> Iterator[bytes | Gap]:
    """The chunks of the item stream, and a gap for each that is lost."""
    left = MOST_STREAM + STREAM_TIMES * store.size
    for chunk in _chunks_of_stream(store, archive):
        left -= len(chunk) if isinstance(chunk, bytes) else 0
        if left < 0:
            yield Gap("", "the item stream is too long for packs of this size; the rest of it is not read")
            return
        yield chunk


def _chunks_of_stream(store: Store, archive: Archive) -> Iterator[bytes | Gap]:
    for pointer in archive.item_ptrs:
        try:
            cursor = Cursor(store.get(pointer).plaintext)
            for chunk_id in _ids(cursor, MOST_CHUNKS):
                yield _chunk(store, chunk_id)
        except LostChunk as error:
            yield Gap(pointer, error.message)
        except (Short, Wrong) as error:
            yield Gap(pointer, f"chunk {pointer} holds no list of chunk ids: {_reason(error)}")


def _chunk(store: Store, chunk_id: str) -> bytes | Gap:
    try:
        return store.get(chunk_id).plaintext
    except LostChunk as error:
        return Gap(chunk_id, error.message)


def _first_item(data: bytearray, start: int) -> int:
    """Where the first item starts that is whole, or the end; behind a gap, bytes may start inside of one.

    A hostile stream has an item that is none every few bytes; all of them together cost a few times its size.
    """
    patience = TIRED_AFTER * (len(data) - start)
    for found in ITEM_START.finditer(data, start):
        cursor = Cursor(data, found.start())
        try:
            _item(cursor)
        except (Short, Wrong) as error:
            patience -= len(data) - found.start() if isinstance(error, Short) else cursor.at - found.start()
            if patience < 0:
                break
        else:
            return found.start()
    return len(data)


def _keys(cursor: Cursor) -> Iterator[str]:
    """The keys of the map that starts here; whoever asks for the next one has read the value of the one before."""
    for _ in range(cursor.entries("map", MOST_KEYS)):
        key = cursor.value()
        if not isinstance(key, str):
            raise Wrong("a key that is no text")
        yield key


def _ids(cursor: Cursor, most: int) -> Iterator[str]:
    """Chunk ids in a list of them; what is none is refused."""
    for _ in range(cursor.entries("list", most)):
        chunk_id = cursor.value()
        if not isinstance(chunk_id, bytes) or len(chunk_id) != ID_SIZE:
            raise Wrong("an entry that is no chunk id")
        yield chunk_id.hex()


def _item(cursor: Cursor) -> Item:
    """The item that starts here; `Wrong` if there is none."""
    found: dict[str, Value] = {}
    chunks: tuple[tuple[str, int], ...] = ()
    for key in _keys(cursor):
        if key == "chunks":
            chunks = _chunks(cursor)
        else:
            found[key] = cursor.value()
            if key == "path" and not isinstance(found[key], str):
                raise Wrong("an item whose path is no text")
    if "path" not in found:
        raise Wrong("an item without a path")
    mode = _number(found.get("mode")) or 0
    return Item(
        path=_text(found["path"]),
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


def _chunks(cursor: Cursor) -> tuple[tuple[str, int], ...]:
    """The chunks of a file; those of a list that is none are one that no pack holds, so the file counts as damaged."""
    start, known, found = cursor.at, dict[tuple[bytes, int], tuple[str, int]](), list[tuple[str, int]]()
    try:
        for _ in range(cursor.entries("list", MOST_CHUNKS)):
            chunk_id, size = _chunk_entry(cursor)
            # A sparse file names one chunk many times.
            found.append(known.setdefault((chunk_id, size), (chunk_id.hex(), size)))
    except Wrong:
        cursor.at = start
        return () if cursor.value() is None else NO_CHUNK
    return tuple(found)


def _chunk_entry(cursor: Cursor) -> tuple[bytes, int]:
    entries = cursor.entries("list", MOST_KEYS)
    values = [cursor.value() for _ in range(entries)]
    match values:
        case [bytes(chunk_id), int(size), *_] if len(chunk_id) == ID_SIZE and _number(size) is not None:
            return chunk_id, size
    raise Wrong("an entry that names no chunk")


NO_CHUNK: tuple[tuple[str, int], ...] = (("", 0),)


def _reason(error: Short | Wrong) -> str:
    return printable(str(error)) or "it ends too early"


def _text(found: Value) -> str:
    return found if isinstance(found, str) else ""


def _number(found: Value) -> int | None:
    """A number that is none below zero; a boolean is no number, though Python takes it for one."""
    return found if type(found) is int and 0 <= found < LARGEST_TIME else None


def _nanoseconds(found: Value) -> int | None:
    if isinstance(found, Nanoseconds):
        return found.count if abs(found.count) < LARGEST_TIME else None
    return _number(found)


def _time(found: Value) -> datetime | None:
    try:
        time = datetime.fromisoformat(_text(found))
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC)
