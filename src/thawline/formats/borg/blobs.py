"""One blob: its 49-byte header, its mode, the envelopes of its two slots, and their content.

The spec (`borg_blob`) refuses a header that breaks a rule. To tell what a damaged header was, its fields are read here
one by one; a test holds both to the same bytes. Which mode a slot's first byte names, and which hash names a pack or an
index file, depends on the repository version: 4 for 2.0.0b22 to b24, 5 for b25.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import blake3 as blake3_package
import msgpack
import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs
from thawline.checksums import blake3, sha256
from thawline.engine.encoding import frame
from thawline.errors import CodecError
from thawline.formats.borg.findings import BAD_DATA, BAD_ID, BAD_META, BAD_SLOT, BAD_TAG
from thawline.generated.kernels.constants import (
    BORG_BLOB_CHUNK_ID_AT,
    BORG_BLOB_CHUNK_ID_SIZE,
    BORG_BLOB_HEAD_FORMAT,
    BORG_BLOB_HEAD_SIZE,
    BORG_BLOB_LEN_DATA_AT,
    BORG_BLOB_LEN_META_AT,
    BORG_BLOB_LEN_META_MAX,
    BORG_BLOB_MAGIC,
    BORG_BLOB_SLOT_AEAD_AT,
    BORG_BLOB_SLOT_AEAD_SIZE,
    BORG_BLOB_SLOT_IV_HIGH_AT,
    BORG_BLOB_SLOT_KEY_TYPE_SIZE,
    BORG_BLOB_SLOT_MAC_AT,
    BORG_BLOB_SLOT_SESSION_ID_AT,
    BORG_BLOB_SLOT_STAMP_SIZE,
)
from thawline.model import Code
from thawline.wording import counted, grouped, printable

MAGIC: bytes = BORG_BLOB_MAGIC
LAYOUT = struct.Struct(BORG_BLOB_HEAD_FORMAT)
HEADER_SIZE: int = BORG_BLOB_HEAD_SIZE
CHUNK_ID, SIZES = BORG_BLOB_CHUNK_ID_AT, {"len_meta": BORG_BLOB_LEN_META_AT, "len_data": BORG_BLOB_LEN_DATA_AT}
"""Offsets of fields in the header."""
ID_SIZE: int = BORG_BLOB_CHUNK_ID_SIZE
LARGEST_OBJECT = HEADER_SIZE + BORG_BLOB_LEN_META_MAX
"""MAX_DATA_SIZE, header included."""
LARGEST_META = 64 << 10
"""Borg b25 refuses a longer meta slot; real ones have a few hundred bytes."""
SEARCHED_META = 1 << 10
"""Bytes of a damaged blob in which its meta map is searched for."""
LEAST_SEALED = HEADER_SIZE + 2 * (BORG_BLOB_SLOT_AEAD_AT + BORG_BLOB_SLOT_AEAD_SIZE)
"""The size of the smallest encrypted blob."""
IV, SESSION = (
    slice(BORG_BLOB_SLOT_IV_HIGH_AT, BORG_BLOB_SLOT_SESSION_ID_AT),
    slice(BORG_BLOB_SLOT_SESSION_ID_AT, BORG_BLOB_SLOT_MAC_AT),
)
"""Counter and session id in an encrypted slot."""
ENVELOPES = {1: BORG_BLOB_SLOT_KEY_TYPE_SIZE, 2: BORG_BLOB_SLOT_KEY_TYPE_SIZE + BORG_BLOB_SLOT_STAMP_SIZE}
"""Bytes before the payload of a slot that is not encrypted, by object version."""
FIXMAP = range(0x80, 0x90)
"""First bytes of a msgpack map with at most 15 entries."""


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of the header at a position."""

    start: int
    version: int
    chunk_id: bytes
    len_meta: int
    len_data: int

    @property
    def end(self) -> int:
        """Where the blob ends, if the sizes are right."""
        return self.start + HEADER_SIZE + self.len_meta + self.len_data

    @property
    def is_possible(self) -> bool:
        """Whether borg could have written it."""
        return self.version in ENVELOPES and self.end - self.start <= LARGEST_OBJECT

    def encode(self) -> bytes:
        """The bytes of the header."""
        return pack_header(self.version, self.chunk_id, self.len_meta, self.len_data)


def pack_header(version: int, chunk_id: bytes, len_meta: int, len_data: int) -> bytes:
    """The bytes of a header."""
    header, *_ = frame("borg_blobs", version=version, chunk_id=chunk_id, meta=len_meta, data=len_data)
    return bytes(header)


def header_at(view: memoryview, start: int, *, any_magic: bool = False) -> Header | None:
    """The header at a position; None where the view ends inside it, or, unless `any_magic`, without a magic."""
    if start + HEADER_SIZE > len(view):
        return None
    magic, version, chunk_id, len_meta, len_data = LAYOUT.unpack_from(view, start)
    return Header(start, version, chunk_id, len_meta, len_data) if any_magic or magic == MAGIC else None


def header_by_meta(view: memoryview, start: int) -> Header | None:
    """The header that fits the meta map after it; None where there is no such map, or an encrypted one.

    Both sizes follow from the map: it ends with its last value, and its csize is the size of the data.
    """
    found = header_at(view, start, any_magic=True)
    slot = start + HEADER_SIZE
    if found is None or (slot < len(view) and view[slot] in SEALED):
        return None
    for version in sorted(ENVELOPES, key=lambda version: version != found.version):
        if sizes := _sizes_by_meta(view, slot, ENVELOPES[version]):
            return Header(start, version, found.chunk_id, *sizes)
    return None


def _sizes_by_meta(view: memoryview, slot: int, envelope: int) -> tuple[int, int] | None:
    payload = view[slot + envelope : slot + envelope + SEARCHED_META]
    if not payload or payload[0] not in FIXMAP:
        return None
    unpacker = msgpack.Unpacker(max_buffer_size=SEARCHED_META, max_map_len=len(FIXMAP), max_array_len=len(FIXMAP))
    unpacker.feed(payload)
    try:
        meta: object = unpacker.unpack()
    except (ValueError, msgpack.UnpackException, RecursionError):
        return None
    csize = meta.get("csize") if isinstance(meta, dict) else None
    if type(csize) is not int or not 0 <= csize <= LARGEST_OBJECT:
        return None
    len_meta = envelope + unpacker.tell()
    data = slot + len_meta
    if data >= len(view) or view[data] != view[slot]:
        return None
    return len_meta, envelope + csize


def first_header(head: bytes) -> int | None:
    """The offset of the first header that borg could have written; text about Borg may hold the magic as well.

    The blob itself need not fit the head of the file.
    """
    at = -1
    while (at := head.find(MAGIC, at + 1)) >= 0:
        header = header_at(memoryview(head), at)
        if header and header.is_possible:
            return at
    return None


Hash = Callable[[bytes], bytes]
STREAMING: dict[Hash, Callable[[], Any]] = {sha256: hashlib.sha256, blake3: blake3_package.blake3}
"""The same hashes, for data that comes in pieces."""


@dataclass(frozen=True, slots=True)
class Mode:
    """An encryption mode, and what can be checked in it without the key."""

    name: str
    id_hash: Hash | None = None
    """The hash of the plaintext that is the chunk_id; None where the id is keyed."""
    tag_hash: Hash | None = None
    """The hash that is the tag of each slot; None where there is no tag, or a keyed one."""
    is_sealed: bool = False
    """Whether its slots are encrypted."""


UNKNOWN = Mode("unknown")
NONE = Mode("none", sha256)
NONE_SHA256 = Mode("none-sha256", sha256, sha256)
NONE_BLAKE3 = Mode("none-blake3", blake3, blake3)
AUTHENTICATED = Mode("authenticated")
AUTHENTICATED_SHA256 = Mode("authenticated-sha256")
AUTHENTICATED_BLAKE3 = Mode("authenticated-blake3")
SEALED = {
    0x10: Mode("aes256-ocb", is_sealed=True),
    0x20: Mode("chacha20-poly1305", is_sealed=True),
    0x30: Mode("aes256-ocb-blake3", is_sealed=True),
    0x40: Mode("chacha20-poly1305-blake3", is_sealed=True),
}
"""Encrypted modes by key type, the same in all versions. The last two derive ids with BLAKE3, not SHA-256."""
SEALED_NAMES = frozenset(mode.name for mode in SEALED.values())
VERSION_1 = {0x02: NONE, 0x07: AUTHENTICATED_SHA256, 0x50: AUTHENTICATED_BLAKE3} | SEALED
VERSION_2 = {
    4: {0x80: NONE_SHA256, 0x90: NONE_BLAKE3, 0x60: AUTHENTICATED_SHA256, 0x70: AUTHENTICATED_BLAKE3} | SEALED,
    5: {0x50: AUTHENTICATED_SHA256, 0x60: AUTHENTICATED_BLAKE3} | SEALED,
}
"""Modes of object version 2, by repository version."""
ANY_REPOSITORY = VERSION_2[4] | VERSION_2[5] | {0x60: AUTHENTICATED}
"""For an unknown repository version: 0x60 is one of two modes, and neither can be checked without the key."""
KEY_TYPES = 256
VERSIONS = (1, 2)


def mode_of(version: int, key_type: int, repository_version: int | None) -> Mode:
    """The mode that a slot's first byte names.

    >>> mode_of(1, 0x50, 4).name, mode_of(2, 0x60, 4).name, mode_of(2, 0x60, 5).name
    ('authenticated-blake3', 'authenticated-sha256', 'authenticated-blake3')
    """
    if version == 1:
        return VERSION_1.get(key_type, UNKNOWN)
    known = VERSION_2.get(repository_version, ANY_REPOSITORY) if repository_version else ANY_REPOSITORY
    return known.get(key_type, UNKNOWN)


def mode_names(versions: pa.Array, key_types: pa.Array, repository_version: int | None) -> pa.StringArray:
    """The names of the modes of many blobs."""
    place = pc.add(pc.multiply(pc.subtract(versions, VERSIONS[0]), KEY_TYPES), key_types)
    return _names(repository_version).take(place)


@cache
def _names(repository_version: int | None) -> pa.StringArray:
    every = [mode_of(version, kind, repository_version).name for version in VERSIONS for kind in range(KEY_TYPES)]
    return pa.array(every, pa.string())


Rule = Literal["sha256", "blake3", "chunk_id", "none"]
"""What the name of a pack is: a hash of its bytes, the id of its only blob, or neither."""
HASHES: dict[str, Callable[[memoryview], bytes]] = {"sha256": sha256, "blake3": blake3}
HASH_RULES: dict[int, Rule] = {4: "sha256", 5: "blake3"}
"""The hash that names packs and index files, by repository version."""
HEX_ID = re.compile(r"[0-9a-f]{64}")


def id_in(path: str) -> str | None:
    """The id that a file is named by; None if it has another name.

    >>> id_in("packs/00/" + "00" * 32) == "00" * 32, id_in("b22-none.pack")
    (True, None)
    """
    name = re.split(r"[/\\]", path)[-1]
    return name if HEX_ID.fullmatch(name) else None


def hash_rule(data: memoryview, name: str, repository_version: int | None = None) -> Rule:
    """Which hash of the data its name is; `none` if it is neither."""
    likely = HASH_RULES.get(repository_version or 0, "blake3")
    for rule in sorted(HASH_RULES.values(), key=lambda rule: rule != likely):
        if HASHES[rule](data).hex() == name:
            return rule
    return "none"


def pack_rule(view: memoryview, pack_id: str, repository_version: int | None = None) -> Rule:
    """The rule that the name of a pack follows."""
    rule = hash_rule(view, pack_id, repository_version)
    header = header_at(view, 0)
    if rule == "none" and header and header.end == len(view) and header.chunk_id.hex() == pack_id:
        return "chunk_id"
    return rule


LARGEST_PLAINTEXT = 32 << 20
"""Borg writes no chunk of more than 20 MiB; more than this is not decompressed."""
LONGEST_TYPE = 16
"""Characters of a type; borg's types have one."""
CODECS = {0: "none", 1: "lz4_block", 2: "lzma", 3: "zstd", 5: "zlib"}
"""Codecs by `ctype`. 4, obfuscation, wraps one of these and is no longer stored; 8 is zlib in borg 1."""
MANIFEST_ID = bytes(ID_SIZE)
"""The manifest is stored under this id, which is not its hash."""
LARGEST_NUMBER = 1 << 31
SLOWNESS = {"lzma": 3, "zlib": 3}
"""How many times longer these codecs take for a byte than the others."""
EASY_RATIO = 300
"""A blob may decompress to this many times its size, divided by the slowness of its codec, at no charge."""
MOST_EXCESS = 192 << 20
"""Bytes that all blobs of a pack may decompress to beyond that."""
TOO_MUCH = "together with the blobs before it that is more than is decompressed of one pack, so it was not read"


class Flaw(Exception):
    """What is wrong with a blob: the code of the finding, and the reason."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Allowance:
    """How much more the blobs of a pack may decompress to: a megabyte of zlib may be a gigabyte of zeros.

    A blob that had room in a pack also has room in what salvage keeps of the pack.
    """

    def __init__(self) -> None:
        self.left = MOST_EXCESS

    def room(self, codec: str, stored: int) -> int:
        """Bytes that a blob may decompress to."""
        return (self.left + EASY_RATIO * stored) // SLOWNESS.get(codec, 1)

    def take(self, codec: str, stored: int, plain: int) -> None:
        """Charge what a blob decompresses to."""
        self.left -= max(plain * SLOWNESS.get(codec, 1) - EASY_RATIO * stored, 0)


@dataclass(frozen=True, slots=True)
class Slots:
    """A blob with its slots out of their envelopes."""

    version: int
    chunk_id: bytes
    key_type: int
    meta_tag: bytes | None
    meta: bytes
    data_tag: bytes | None
    data: bytes


@dataclass(frozen=True, slots=True)
class Meta:
    """The meta map: the type of the object, and how its data slot is compressed."""

    type: str
    """M manifest, A archive, C list of chunk ids, S item stream, F file content."""
    ctype: int
    clevel: int
    csize: int
    """Bytes of the data slot's payload."""
    size: int | None
    """Bytes of the plaintext; missing after `--compression auto,…`."""
    psize: int | None
    """Bytes of the payload before the padding that `obfuscate` appends."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was learned of a blob that was read and checked, without its plaintext."""

    meta: Meta
    plain_size: int
    verified_by: tuple[str, ...]
    """`tag` and `chunk_id`, where they are hashes that anybody can compute."""


@dataclass(frozen=True, slots=True)
class Content:
    """The meta map and the plaintext of a blob, and what was checked of them."""

    meta: Meta
    plaintext: bytes
    verified_by: tuple[str, ...]


def opened(blob: memoryview) -> Slots | None:
    """A blob that is not encrypted, out of its envelopes; None if it is encrypted, or not a blob.

    For a single blob this is faster than the kernel. A test holds both to the same values.
    """
    header = header_at(blob, 0)
    if header is None or not header.is_possible or header.end != len(blob):
        return None
    size, middle = ENVELOPES[header.version], HEADER_SIZE + header.len_meta
    meta, data = bytes(blob[HEADER_SIZE:middle]), bytes(blob[middle:])
    if min(len(meta), len(data)) < size or meta[0] != data[0] or meta[0] in SEALED:
        return None
    if size > 1 and (meta[1] or data[1]):
        return None
    tags = (meta[2:size], data[2:size]) if size > 1 else (None, None)
    return Slots(header.version, header.chunk_id, meta[0], tags[0], meta[size:], tags[1], data[size:])


def known_mode(slots: Slots, repository_version: int | None) -> Mode:
    """The mode of a blob; `Flaw` if its key type names none."""
    mode = mode_of(slots.version, slots.key_type, repository_version)
    if mode is UNKNOWN:
        raise Flaw(BAD_SLOT, f"key type {slots.key_type:#04x} names no mode of object version {slots.version}")
    return mode


def read_content(slots: Slots, mode: Mode) -> Content:
    """The content of a blob, checked as far as its mode allows; `Flaw` says what is wrong."""
    meta, checks = _read_slots(slots, mode)
    plaintext = decompress(meta, slots.data)
    return Content(meta, plaintext, (*checks, *_check_id(slots, mode, meta, (plaintext,))))


def check_content(slots: Slots, mode: Mode, allowance: Allowance) -> Checked:
    """The same checks in constant memory: the plaintext is never held as a whole."""
    meta, checks = _read_slots(slots, mode)
    stored = _stored(meta, slots.data)
    codec = CODECS[meta.ctype]
    room = allowance.room(codec, len(slots.data))
    if (meta.size or 0) > room:
        raise Flaw(BAD_DATA, f"it decompresses to {counted(meta.size or 0, 'byte')}; {TOO_MUCH}")
    pieces = _Counted(_pieces(meta, stored, room))
    try:
        by_id = _check_id(slots, mode, meta, pieces)
    finally:
        allowance.take(codec, len(slots.data), pieces.size)
    return Checked(meta, pieces.size, (*checks, *by_id))


class _Counted:
    """Pieces of a plaintext, and how many bytes have been taken."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.size = pieces, 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.size += len(piece)
            yield piece


def _read_slots(slots: Slots, mode: Mode) -> tuple[Meta, tuple[str, ...]]:
    """The meta map of a blob, and the checks that it passed."""
    if mode.tag_hash:
        for slot, tag, payload in ((b"M", slots.meta_tag, slots.meta), (b"D", slots.data_tag, slots.data)):
            if mode.tag_hash(tag_input(slots, slot) + payload) != tag:
                name = "meta" if slot == b"M" else "data"
                raise Flaw(BAD_TAG, f"the tag of the {name} slot does not fit its bytes")
    meta = read_meta(slots.meta)
    _check_csize(meta, len(slots.data))
    return meta, ("tag",) if mode.tag_hash else ()


def tag_input(slots: Slots, slot: bytes) -> bytes:
    """The bytes before the payload that a tag covers: the head of the envelope, and the header without its sizes."""
    covered = MAGIC + bytes([slots.version]) + slots.chunk_id + slot + slots.chunk_id
    return bytes([slots.key_type, 0]) + len(covered).to_bytes(2, "big") + covered


def read_meta(payload: bytes) -> Meta:
    """The meta map of a blob; `Flaw` if there is none."""
    if len(payload) > LARGEST_META:
        held = counted(len(payload), "byte")
        raise Flaw(BAD_META, f"the meta slot holds {held}; the limit is {grouped(LARGEST_META)}")
    try:
        found: object = msgpack.unpackb(payload)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise Flaw(BAD_META, f"the meta slot holds no msgpack map: {printable(str(error))}") from None
    if not isinstance(found, dict):
        raise Flaw(BAD_META, "the meta slot holds no map")
    kind = found.get("type")
    if not isinstance(kind, str) or len(kind) > LONGEST_TYPE:
        raise Flaw(BAD_META, "the meta map has no type" if kind is None else f"its type is {_shown(kind)}")
    ctype, clevel, csize = (_number(found, key) for key in ("ctype", "clevel", "csize"))
    return Meta(kind, ctype, clevel, csize, _optional(found, "size"), _optional(found, "psize"))


def _optional(found: dict[object, object], key: str) -> int | None:
    return None if found.get(key) is None else _number(found, key)


def _number(found: dict[object, object], key: str) -> int:
    """A number of the meta map. A boolean is refused, although it is an int in Python."""
    number = found.get(key)
    if type(number) is not int or not -LARGEST_NUMBER <= number < LARGEST_NUMBER:
        raise Flaw(BAD_META, f"the meta map has no {key}" if number is None else f"its {key} is {_shown(number)}")
    return number


def _shown(value: object) -> str:
    return printable(f"{value!r:.40}")


def _check_csize(meta: Meta, len_payload: int) -> None:
    """Raise `Flaw` unless meta map and data slot agree on the size of the data. That pins both ends of both slots."""
    if meta.csize != len_payload:
        stated = counted(meta.csize, "byte")
        raise Flaw(BAD_META, f"the meta map says {stated} of data, the data slot holds {grouped(len_payload)}")
    if meta.psize is not None and not 0 <= meta.psize <= meta.csize:
        raise Flaw(BAD_META, f"its psize is {grouped(meta.psize)}, of {counted(meta.csize, 'byte')}")


def decompress(meta: Meta, payload: bytes) -> bytes:
    """The plaintext of a data slot, at most as large as its meta map and `LARGEST_PLAINTEXT` allow."""
    plaintext = b"".join(_pieces(meta, _stored(meta, payload)))
    _check_plain_size(meta, len(plaintext))
    return plaintext


def _stored(meta: Meta, payload: bytes) -> bytes:
    """The compressed bytes in the payload of a data slot; `Flaw` if they cannot be decompressed."""
    if meta.ctype not in CODECS:
        raise Flaw(BAD_DATA, f"its ctype is {meta.ctype}, which names no compression")
    if meta.size is not None and not 0 <= meta.size <= LARGEST_PLAINTEXT:
        raise Flaw(BAD_DATA, f"its size is {meta.size}; {LARGEST_PLAINTEXT} is the largest that is read")
    return payload if meta.psize is None else payload[: meta.psize]


def _pieces(meta: Meta, stored: bytes, room: int = LARGEST_PLAINTEXT) -> Iterator[bytes]:
    most = min(LARGEST_PLAINTEXT, room) if meta.size is None else meta.size
    if meta.ctype == 0 and len(stored) <= most:
        yield stored
        return
    try:
        yield from codecs.decompress_chunks(CODECS[meta.ctype], stored, max_bytes=max(most, 1))
    except CodecError as error:
        raise Flaw(BAD_DATA, str(error)) from None


def _check_id(slots: Slots, mode: Mode, meta: Meta, pieces: Iterable[bytes]) -> tuple[str, ...]:
    """The checks that a plaintext passed; `Flaw` unless it has its size and hashes to its chunk_id."""
    is_manifest = meta.type == "M" and slots.chunk_id == MANIFEST_ID
    made = STREAMING[mode.id_hash]() if mode.id_hash and not is_manifest else None
    size = 0
    for piece in pieces:
        size += len(piece)
        if made:
            made.update(piece)
    _check_plain_size(meta, size)
    if made is None:
        return ()
    if made.digest() != slots.chunk_id:
        raise Flaw(BAD_ID, f"its content hashes to {made.hexdigest()}")
    return ("chunk_id",)


def _check_plain_size(meta: Meta, size: int) -> None:
    if meta.size is not None and size != meta.size:
        raise Flaw(BAD_DATA, f"it decompresses to {counted(size, 'byte')}, its meta map says {grouped(meta.size)}")
