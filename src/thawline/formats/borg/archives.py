"""Archives and their items, read without borg: chunks by id, the archive object, lists of chunk ids, the item stream.

A file in archives/ is named by the chunk_id of its archive object. The object names lists of ids (type C); the chunks
of these lists (type S), end to end, are a stream of msgpack maps, one per item; an item names the chunks of its file.
All of it is hostile input: values are read one by one, and every size and count has a limit.
"""

from __future__ import annotations

import re
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgpack
import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import FormatError, SourceError, ThawlineError
from thawline.formats.borg.blobs import (
    HEADER_SIZE,
    ID_SIZE,
    SEALED,
    Content,
    Flaw,
    known_mode,
    opened,
    read_content,
)
from thawline.source import LocalSource, RemoteSource, open_source
from thawline.wording import counted, grouped, printable

OPEN_PACKS = 8
LONGEST_ITEM = 64 << 20
LONGEST_TEXT = 1 << 20
FIRST_WINDOW = 1 << 8
"""Bytes that are tried first when a value is skipped."""
MOST_KEYS = 64
"""Keys of an item or an archive; borg has about thirty for each."""
MOST_POINTERS = 1 << 17
"""Lists of chunk ids that an archive may name; each may have half a million."""
MOST_CHUNKS = 1 << 24
MOST_ITEMS, BYTES_PER_ITEM = 100_000, 8
"""Items that any archive may have, and the bytes of packs that allow one more."""
MOST_STREAM, STREAM_TIMES = 32 << 20, 16
"""Bytes that any item stream may have, and how many times the size of the packs may be added."""
SEARCH_TIMES = 4
"""How many times the bytes after a gap are read in search of an item."""
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
"""The start of an item: a map whose first key is one of an item's. Borg resynchronises by the same rule."""
KINDS = {
    stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo", stat.S_IFCHR: "device",
    stat.S_IFBLK: "device", stat.S_IFSOCK: "socket",
}  # fmt: skip
LARGEST_MODE = (1 << 31) - 1
LARGEST_NUMBER = (1 << 62) - 1
TIMESTAMP = 0xFF
"""The type byte of a msgpack extension that is a time."""


class LostChunk(FormatError):
    """A chunk that no pack holds intact."""


class Encrypted(ThawlineError):
    """A repository whose content needs its key."""


class Store:
    """The chunks of a repository by id in hexadecimal digits, from the places of its blobs."""

    def __init__(self, places: pa.Table, paths: Mapping[str, str], repository_version: int | None) -> None:
        self.paths, self.version = paths, repository_version
        self.requested: set[str] = set()
        """Ids of all chunks that were requested."""
        self.rows: dict[bytes, int] = {}
        self.others: dict[bytes, list[int]] = {}
        """Further rows of chunks that are stored more than once."""
        self.places = places.combine_chunks()
        self.size = int(pc.sum(places["size"]).as_py() or 0)
        """Bytes of all blobs."""
        for row, chunk_id in enumerate(places["chunk_id"].to_pylist()):
            if self.rows.setdefault(chunk_id, row) != row:
                self.others.setdefault(chunk_id, []).append(row)
        self.open: OrderedDict[str, LocalSource | RemoteSource] = OrderedDict()

    def __contains__(self, chunk_id: str) -> bool:
        return bytes.fromhex(chunk_id) in self.rows

    def get(self, chunk_id: str) -> Content:
        """The content of a chunk; `LostChunk` says why no copy of it can be read."""
        self.requested.add(chunk_id)
        key = bytes.fromhex(chunk_id)
        if key not in self.rows:
            raise LostChunk(f"chunk {chunk_id} is in no pack")
        for row in (self.rows[key], *self.others.get(key, ())):
            try:
                return self._read(row)
            except Flaw as error:
                flaw = error
        raise LostChunk(f"chunk {chunk_id} is damaged: {flaw.reason}") from flaw

    def get_sized(self, chunk_id: str, size: int) -> bytes:
        """The plaintext of a chunk; `LostChunk` if it has another size."""
        plaintext = self.get(chunk_id).plaintext
        if len(plaintext) != size:
            held = counted(len(plaintext), "byte")
            raise LostChunk(f"chunk {chunk_id} holds {held}, and {grouped(size)} belong there")
        return plaintext

    def missing(self, chunk_ids: Iterable[str]) -> list[str]:
        """Those of some chunks that no pack holds."""
        return [chunk_id for chunk_id in chunk_ids if chunk_id not in self]

    def _read(self, row: int) -> Content:
        pack_id, offset, size = (self.places[name][row].as_py() for name in ("pack_id", "offset", "size"))
        source = self._source(pack_id.hex())
        if offset + size > source.size:
            raise SourceError(f"{source.name}: changed while it was read")
        blob = source.view(offset, offset + size)
        slots = opened(blob)
        key_type = blob[HEADER_SIZE] if size > HEADER_SIZE else 0
        if slots is None and key_type not in SEALED:
            raise SourceError(f"{source.name}: the blob at {offset:#x} changed while the file was read")
        if slots is None:
            raise Encrypted(f"{source.name}: is encrypted (mode {SEALED[key_type].name}); its content needs the key")
        return read_content(slots, known_mode(slots, self.version))

    def _source(self, pack_id: str) -> LocalSource | RemoteSource:
        if pack_id not in self.open:
            self.open[pack_id] = open_source(self.paths[pack_id])
            while len(self.open) > OPEN_PACKS:
                self.open.popitem(last=False)[1].close()
        self.open.move_to_end(pack_id)
        return self.open[pack_id]

    def close(self) -> None:
        """Close the packs."""
        while self.open:
            self.open.popitem()[1].close()


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive, as its archive object describes it."""

    id: str
    name: str
    time: datetime | None
    hostname: str
    username: str
    comment: str
    nfiles: int | None
    size: int | None
    item_ptrs: tuple[str, ...]
    """Ids of the lists of chunks that make up its item stream."""


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
    """Id and size of each of its chunks, in order."""
    target: str = ""
    """Where a link points."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A lost part of the item stream, with the items in it."""

    chunk_id: str
    reason: str


NO_CHUNK: tuple[tuple[str, int], ...] = (("", 0),)
"""Stands for a list of chunks that cannot be read: no pack holds this id, so the file counts as damaged."""


def read_archive(store: Store, archive_id: str) -> Archive:
    """An archive by the id of its object; `LostChunk` if that cannot be read or is not an archive."""
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
        reason = "bytes are left after it" if pointers is not None else "it names no list of items"
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
    """The items of an archive, and a gap for each lost part of the item stream."""
    most = MOST_ITEMS + store.size // BYTES_PER_ITEM
    for number, item in enumerate(_items(store, archive)):
        if number == most:
            yield Gap("", f"the archive has more than {counted(most, 'item')}, too many for packs of this size")
            return
        yield item


def _items(store: Store, archive: Archive) -> Iterator[Item | Gap]:
    stream = _Stream()
    for chunk in _bounded_stream(store, archive):
        if isinstance(chunk, Gap):
            yield from stream.read()
            stream = _Stream(is_lost=True)
            yield chunk
        else:
            yield from stream.feed(chunk)
    yield from stream.end()


def _bounded_stream(store: Store, archive: Archive) -> Iterator[bytes | Gap]:
    """The chunks of the item stream, up to a limit, and a gap for each that is lost."""
    left = MOST_STREAM + STREAM_TIMES * store.size
    for chunk in _stream(store, archive):
        left -= len(chunk) if isinstance(chunk, bytes) else 0
        if left < 0:
            yield Gap("", "the item stream is too long for packs of this size; the rest of it is not read")
            return
        yield chunk


def _stream(store: Store, archive: Archive) -> Iterator[bytes | Gap]:
    for pointer in archive.item_ptrs:
        try:
            for chunk_id in _ids(Cursor(store.get(pointer).plaintext), MOST_CHUNKS):
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


class _Stream:
    """Items from the chunks of their stream, which may end inside an item."""

    def __init__(self, *, is_lost: bool = False) -> None:
        self.data, self.is_lost = bytearray(), is_lost
        """Bytes not read yet, and whether they may start inside an item."""
        self.wanted = 0
        """Bytes to wait for: each look at the data is worth it only if half of it is new."""

    def feed(self, chunk: bytes) -> Iterator[Item | Gap]:
        """The items that end in the next chunk."""
        self.data += chunk
        if len(self.data) >= self.wanted:
            yield from self.read()
        if len(self.data) > LONGEST_ITEM:
            yield self._lose(f"an item of more than {counted(LONGEST_ITEM, 'byte')}")
            self.data.clear()

    def end(self) -> Iterator[Item | Gap]:
        """The items that are left after the last chunk."""
        yield from self.read()
        if self.data and not self.is_lost:
            yield self._lose("it ends inside an item")

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


def _first_item(data: bytearray, start: int) -> int:
    """Where the first whole item starts after a gap; the end if there is none.

    A hostile stream has a false start every few bytes; the budget keeps the search linear.
    """
    budget = SEARCH_TIMES * (len(data) - start)
    for found in ITEM_START.finditer(data, start):
        cursor = Cursor(data, found.start())
        try:
            _item(cursor)
        except (Short, Wrong) as error:
            budget -= len(data) - found.start() if isinstance(error, Short) else cursor.at - found.start()
            if budget < 0:
                break
        else:
            return found.start()
    return len(data)


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
    mode = mode if mode <= LARGEST_MODE else 0
    return Item(
        path=_text(found["path"]),
        kind=KINDS.get(stat.S_IFMT(mode), "unknown"),
        mode=stat.S_IMODE(mode),
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
    """The chunks of a file; `NO_CHUNK` for a list that cannot be read."""
    start, known, found = cursor.at, dict[tuple[bytes, int], tuple[str, int]](), list[tuple[str, int]]()
    try:
        for _ in range(cursor.entries("list", MOST_CHUNKS)):
            chunk_id, size = _chunk_entry(cursor)
            # A sparse file names one chunk many times: share the tuple.
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


def _keys(cursor: Cursor) -> Iterator[str]:
    """The keys of the map that starts here. The caller reads each value before it takes the next key."""
    for _ in range(cursor.entries("map", MOST_KEYS)):
        key = cursor.value()
        if not isinstance(key, str):
            raise Wrong("a key that is no text")
        yield key


def _ids(cursor: Cursor, most: int) -> Iterator[str]:
    """The chunk ids of a list; `Wrong` at any other value."""
    for _ in range(cursor.entries("list", most)):
        chunk_id = cursor.value()
        if not isinstance(chunk_id, bytes) or len(chunk_id) != ID_SIZE:
            raise Wrong("an entry that is no chunk id")
        yield chunk_id.hex()


def _reason(error: Short | Wrong) -> str:
    return printable(str(error)) or "it ends too early"


def _text(found: Value) -> str:
    return found if isinstance(found, str) else ""


def _number(found: Value) -> int | None:
    """A number that is not negative. A boolean is refused, although it is an int in Python."""
    return found if type(found) is int and 0 <= found <= LARGEST_NUMBER else None


def _nanoseconds(found: Value) -> int | None:
    if isinstance(found, Nanoseconds):
        return found.count if abs(found.count) <= LARGEST_NUMBER else None
    return _number(found)


def _time(found: Value) -> datetime | None:
    try:
        time = datetime.fromisoformat(_text(found))
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC)


class Short(Exception):
    """The bytes end inside a value."""


class Wrong(Exception):
    """A value of the wrong kind."""


@dataclass(frozen=True, slots=True)
class Nanoseconds:
    """A time since 1970."""

    count: int


class Other:
    """A value that is not used."""


OTHER = Other()
Value = str | bytes | int | bool | None | Nanoseconds | Other


def _heads() -> dict[int, tuple[str, int, int]]:
    """By the first byte of a value: its kind, the bytes of its length, and the length or number in the byte itself."""
    found: dict[int, tuple[str, int, int]] = {0xC0: ("none", 0, 0), 0xC2: ("bool", 0, 0), 0xC3: ("bool", 0, 1)}
    found |= {number % 256: ("number", 0, number) for number in range(-32, 128)}
    found |= {byte: ("map", 0, byte & 15) for byte in range(0x80, 0x90)}
    found |= {byte: ("list", 0, byte & 15) for byte in range(0x90, 0xA0)}
    found |= {byte: ("text", 0, byte & 31) for byte in range(0xA0, 0xC0)}
    sized = {"bytes": (0xC4, 0xC5, 0xC6), "ext": (0xC7, 0xC8, 0xC9), "text": (0xD9, 0xDA, 0xDB)}
    for kind, bytes_ in sized.items():
        found |= {byte: (kind, width, 0) for byte, width in zip(bytes_, (1, 2, 4), strict=True)}
    for kind, first in (("list", 0xDC), ("map", 0xDE)):
        found |= {first: (kind, 2, 0), first + 1: (kind, 4, 0)}
    found |= {0xCC + power: ("unsigned", 0, 1 << power) for power in range(4)}
    found |= {0xD0 + power: ("signed", 0, 1 << power) for power in range(4)}
    found |= {0xD4 + power: ("ext", 0, 1 << power) for power in range(5)}
    return found | {0xCA: ("float", 0, 4), 0xCB: ("float", 0, 8)}


HEADS = _heads()


class Cursor:
    """A position in msgpack data. Values of unexpected kinds are skipped, so they cost no objects, however nested."""

    def __init__(self, data: bytes | bytearray, at: int = 0) -> None:
        self.data, self.at = data, at

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise Short
        taken, self.at = self.data[self.at : end], end
        return bytes(taken)

    def _head(self) -> tuple[str, int]:
        """The kind of a value, and its bytes, its entries, or the number itself."""
        if self.at >= len(self.data):
            raise Short
        kind, width, size = HEADS.get(self.data[self.at], ("", 0, 0))
        if not kind:
            raise Wrong("a byte that msgpack does not have")
        self.at += 1
        return kind, int.from_bytes(self._take(width), "big") if width else size

    def entries(self, kind: str, most: int) -> int:
        """The number of entries of the list or map that starts here; `Wrong` if there is none, or a larger one."""
        start = self.at
        found, size = self._head()
        if found != kind or size > most:
            self.at = start
            raise Wrong(f"no {kind}" if found != kind else f"a {kind} of {size} entries")
        return size

    def value(self) -> Value:
        """The value that starts here; `OTHER` for a list, a map, a float or a long text."""
        start = self.at
        kind, size = self._head()
        match kind:
            case "number":
                return size
            case "text" | "bytes" if size > LONGEST_TEXT:
                self._take(size)
                return OTHER
            case "text":
                return self._take(size).decode("utf-8", "surrogateescape")
            case "bytes":
                return self._take(size)
            case "unsigned" | "signed":
                return int.from_bytes(self._take(size), "big", signed=kind == "signed")
            case "none" | "bool":
                return None if kind == "none" else bool(size)
            case "ext":
                return self._extension(size)
            case "float":
                self._take(size)
                return OTHER
        self.at = start
        self.skip()
        return OTHER

    def _extension(self, size: int) -> Value:
        (kind,) = self._take(1)
        data = self._take(size)
        if kind != TIMESTAMP:
            return OTHER
        try:
            return Nanoseconds(msgpack.Timestamp.from_bytes(data).to_unix_nano())
        except ValueError:
            return OTHER

    def skip(self) -> None:
        """Move past the value that starts here."""
        window = FIRST_WINDOW
        while True:
            end = min(self.at + window, len(self.data))
            # 0 is no limit for the buffer: it is fed no more than there is.
            unpacker = msgpack.Unpacker(max_buffer_size=0)
            unpacker.feed(bytes(self.data[self.at : end]))
            try:
                unpacker.skip()
            except msgpack.OutOfData:
                if end == len(self.data):
                    raise Short from None
                window *= 8
                continue
            except (ValueError, msgpack.UnpackException, RecursionError) as error:
                raise Wrong(str(error) or "is nested too deep") from None
            self.at += unpacker.tell()
            return
