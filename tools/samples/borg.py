"""Borg packs and chunk index files, built from borg's pack document and from files of borg 2.0.0b22 to b25."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import construct
from blake3 import blake3
from construct import (
    Byte,
    Bytes,
    BytesInteger,
    Const,
    ExprAdapter,
    FocusedSeq,
    GreedyBytes,
    GreedyRange,
    GreedyString,
    Int8ub,
    Int16ub,
    Int32ub,
    Int32ul,
    OneOf,
    Prefixed,
    PrefixedArray,
    Rebuild,
    Select,
    Struct,
    len_,
    obj_,
    this,
)

from tools.samples.codecs import lz4_block, xz_stored, zlib_stored, zstd_rle, zstd_stored
from tools.samples.golden import Plain, Sample, Unit

OBJ_MAGIC = b"BORG_OBJ"
REPOOBJ_HEADER_SIZE = 49

BLOB = Struct(
    "OBJ_MAGIC" / Const(OBJ_MAGIC),
    "version" / OneOf(Byte, [1, 2]),
    "chunk_id" / Bytes(32),
    "meta_size" / Rebuild(Int32ul, len_(this.encrypted_meta)),
    "data_size" / Rebuild(Int32ul, len_(this.encrypted_data)),
    "encrypted_meta" / Bytes(this.meta_size),
    "encrypted_data" / Bytes(this.data_size),
)
PACK = GreedyRange(BLOB)

# Envelopes of a slot (formats/borg.md 3.1). Version 1 puts a key type before the payload.
SLOT = Struct("type" / Byte, "payload" / GreedyBytes)
TAGGED_SLOT = Struct("type" / Byte, "reserved" / Const(b"\x00"), "tag" / Bytes(32), "payload" / GreedyBytes)
AEAD_SLOT = Struct(
    "type" / Byte,
    "reserved" / Const(b"\x00"),
    "iv" / BytesInteger(6),
    "session_id" / Bytes(24),
    "tag" / Bytes(16),
    "ciphertext" / GreedyBytes,
)
# The input of the tag of version 2: the header up to the sizes, the slot, the id again.
AAD = Struct(
    "OBJ_MAGIC" / Const(OBJ_MAGIC),
    "version" / Byte,
    "chunk_id" / Bytes(32),
    "slot" / OneOf(Bytes(1), [b"M", b"D"]),
    "id" / Bytes(32),
)
TAG_INPUT = Struct(
    "type" / Byte,
    "reserved" / Const(b"\x00"),
    "aad" / Prefixed(Int16ub, AAD),
    "payload" / GreedyBytes,
)

# The part of msgpack that a meta map needs: short strings, unsigned numbers, small maps.
MSGPACK_STR = Prefixed(ExprAdapter(Byte, obj_ & 0x1F, obj_ | 0xA0), GreedyString("ascii"))
MSGPACK_UINT = Select(
    OneOf(Byte, range(0x80)),
    FocusedSeq("value", Const(b"\xcc"), "value" / Int8ub),
    FocusedSeq("value", Const(b"\xcd"), "value" / Int16ub),
    FocusedSeq("value", Const(b"\xce"), "value" / Int32ub),
)
MSGPACK_ID = FocusedSeq("value", Const(b"\xc4\x20"), "value" / Bytes(32))
MSGPACK_TIME = FocusedSeq("value", Const(b"\xd6\xff"), "value" / Int32ub)
MSGPACK_PIECES = PrefixedArray(
    ExprAdapter(Byte, obj_ & 0x0F, obj_ | 0x90),
    FocusedSeq("value", Const(b"\x92"), "value" / construct.Sequence(MSGPACK_ID, MSGPACK_UINT)),
)
MSGPACK_IDS = PrefixedArray(ExprAdapter(Byte, obj_ & 0x0F, obj_ | 0x90), MSGPACK_ID)
META = PrefixedArray(
    ExprAdapter(Byte, obj_ & 0x0F, obj_ | 0x80), construct.Sequence(MSGPACK_STR, Select(MSGPACK_UINT, MSGPACK_STR))
)

ITEM_VALUES = {"chunks": MSGPACK_PIECES, "item_ptrs": MSGPACK_IDS, "mtime": MSGPACK_TIME, "mode": MSGPACK_UINT}
"""The types of values of items and archives that are not texts."""

# A borghash table of chunk_id -> ChunkIndexEntry.
INDEX_MAGIC = b"BORGHASH"
INDEX_ENTRY = Struct(
    "chunk_id" / Bytes(32),
    "flags" / Int32ul,
    "size" / Int32ul,
    "pack_id" / Bytes(32),
    "obj_offset" / Int32ul,
    "obj_size" / Int32ul,
)
INDEX = Struct(
    "magic" / Const(INDEX_MAGIC),
    "version" / Const(1, Int32ul),
    "meta" / Prefixed(Int32ul, GreedyBytes),
    "entries" / GreedyRange(INDEX_ENTRY),
)

Hash = Callable[[bytes], bytes]


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _blake3(data: bytes) -> bytes:
    return blake3(data).digest()


@dataclass(frozen=True, slots=True)
class Blob:
    """Header values and slots of one blob, as stored in the pack."""

    version: int
    chunk_id: bytes
    encrypted_meta: bytes
    encrypted_data: bytes

    @property
    def size(self) -> int:
        """Distance to the next blob."""
        return REPOOBJ_HEADER_SIZE + len(self.encrypted_meta) + len(self.encrypted_data)

    def account(self) -> dict[str, Plain]:
        """Fields by the names of `borg_blob`."""
        return {
            "magic": OBJ_MAGIC.hex(),
            "version": self.version,
            "chunk_id": self.chunk_id.hex(),
            "len_meta": len(self.encrypted_meta),
            "len_data": len(self.encrypted_data),
            "meta": self._slot(self.encrypted_meta),
            "data": self._slot(self.encrypted_data),
        }

    def _slot(self, slot: bytes) -> dict[str, Plain]:
        """Fields by the names of `borg_blob::slot`."""
        if slot[0] in (0x10, 0x20, 0x30, 0x40):
            sealed = AEAD_SLOT.parse(slot)
            aead: dict[str, Plain] = {
                "reserved": "00",
                "iv_high": sealed.iv >> 32,
                "iv_low": sealed.iv & 0xFFFFFFFF,
                "session_id": sealed.session_id.hex(),
                "mac": sealed.tag.hex(),
            }
            return {"key_type": slot[0], "aead": aead, "payload": sealed.ciphertext.hex()}
        if self.version == 1:
            return {"key_type": slot[0], "payload": SLOT.parse(slot).payload.hex()}
        tagged = TAGGED_SLOT.parse(slot)
        stamp: dict[str, Plain] = {"reserved": "00", "tag": tagged.tag.hex()}
        return {"key_type": slot[0], "stamp": stamp, "payload": tagged.payload.hex()}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an index; flags and size have the values that borg writes."""

    chunk_id: bytes
    pack_id: bytes
    obj_offset: int
    obj_size: int
    flags: int = 0x01000000
    size: int = 0

    def account(self) -> dict[str, Plain]:
        """Fields by the names of `borg_index`."""
        return {
            "chunk_id": self.chunk_id.hex(),
            "flags": self.flags,
            "size": self.size,
            "pack_id": self.pack_id.hex(),
            "ofs_blob": self.obj_offset,
            "len_blob": self.obj_size,
        }


@dataclass(frozen=True, slots=True)
class Compressed:
    """Compressed plaintext, and the numbers that the meta map states about it."""

    plaintext: bytes
    ctype: int
    clevel: int
    stored: bytes
    has_size: bool = True
    """False after `--compression auto,...`, which omits the key."""
    padding: int = 0
    """Bytes that `--compression obfuscate,...` appends."""

    @property
    def payload(self) -> bytes:
        """The payload of the data slot."""
        return self.stored + bytes(self.padding)

    def meta(self, kind: str) -> bytes:
        """The payload of the meta slot, in borg's key order."""
        keys: dict[str, str | int] = {"type": kind}
        if self.has_size:
            keys |= {"size": len(self.plaintext)}
        keys |= {"ctype": self.ctype, "clevel": self.clevel, "csize": len(self.payload)}
        if self.padding:
            keys |= {"psize": len(self.stored), "olevel": 3}
        return bytes(META.build([list(item) for item in keys.items()]))


def _uncompressed(data: bytes) -> Compressed:
    return Compressed(data, 0, 255, data)


def _none(content: Compressed, kind: str = "F", chunk_id: bytes | None = None) -> Blob:
    """Version 1, mode none: key type 02, id = SHA-256 of the plaintext."""
    return _untagged(0x02, chunk_id or _sha256(content.plaintext), content, kind)


def _authenticated(content: Compressed) -> Blob:
    """Version 1, mode authenticated: key type 07, id = HMAC-SHA256 of the plaintext."""
    key = b"a golden key of thirty-two bytes"
    return _untagged(0x07, hmac.digest(key, content.plaintext, "sha256"), content, "F")


def _untagged(key_type: int, chunk_id: bytes, content: Compressed, kind: str) -> Blob:
    payloads = (content.meta(kind), content.payload)
    return Blob(1, chunk_id, *(SLOT.build({"type": key_type, "payload": payload}) for payload in payloads))


def _tagged_none(content: Compressed, key_type: int, hashed: Hash) -> Blob:
    """Version 2, modes none-sha256 (80) and none-blake3 (90): an unkeyed tag in each slot."""
    chunk_id = hashed(content.plaintext)
    slots = []
    for name, payload in ((b"M", content.meta("F")), (b"D", content.payload)):
        aad = {"version": 2, "chunk_id": chunk_id, "slot": name, "id": chunk_id}
        tag = hashed(TAG_INPUT.build({"type": key_type, "aad": aad, "payload": payload}))
        slots.append(TAGGED_SLOT.build({"type": key_type, "tag": tag, "payload": payload}))
    return Blob(2, chunk_id, *slots)


def _aead(number: int, version: int, key_type: int, chunk_id: bytes | None = None, *, is_empty: bool = False) -> Blob:
    """The structure of an encrypted blob: counters in borg's order, arbitrary tags and ciphertexts."""
    session = _sha256(b"session")[:24]
    slots = []
    for name, iv in ((b"meta", 2 * number + 1), (b"data", 2 * number)):
        tag, ciphertext = _sha256(b"%s tag %d" % (name, iv))[:16], _sha256(b"%s %d" % (name, iv))
        ciphertext = b"" if is_empty else ciphertext
        values = {"type": key_type, "iv": iv, "session_id": session, "tag": tag, "ciphertext": ciphertext}
        slots.append(AEAD_SLOT.build(values))
    return Blob(version, chunk_id or _sha256(b"chunk %d" % number), *slots)


def samples() -> Iterator[Sample]:
    """Every golden Borg pack and index."""
    yield from _limits()
    yield from _unencrypted_packs()
    yield from _keyed_packs()
    yield from _deceptive_packs()
    yield from _indexes()


def _limits() -> Iterator[Sample]:
    """Headers and envelopes at their limits."""
    yield _pack("empty", "No blob: a file of 0 bytes.")
    yield _pack("slots-empty", "Envelopes and nothing in them.", _aead(0, 1, 0x40, is_empty=True))
    yield _pack("counters-high", "Counters of 48 bits at their end.", _aead((1 << 47) - 1, 2, 0x30))
    yield _pack("chunk-id-00", "chunk_id of 32 bytes 00.", _aead(0, 2, 0x10, bytes(32)))
    yield _pack("chunk-id-ff", "chunk_id of 32 bytes FF.", _aead(0, 2, 0x10, b"\xff" * 32))
    blobs = [_aead(number, version, 0x10) for number, version in enumerate((1, 2, 2, 1))]
    yield _pack("versions-mixed", "Versions 1, 2, 2, 1 in one pack; no borg writes that, the layout allows it.", *blobs)


def _unencrypted_packs() -> Iterator[Sample]:
    text = _uncompressed(b"the kettle is on the hob\n")
    yield _pack("none-one-blob", "Mode none, version 1, one uncompressed blob.", _none(text))
    yield _pack("none-empty-file", "Mode none: a chunk without content.", _none(_uncompressed(b"")))
    yield _pack("none-manifest", "Mode none: type M under the zero id.", _none(text, "M", bytes(32)))
    yield _pack("none-types", "Mode none: one blob each of types A, C, S and F.", *_types())
    yield _pack(
        "none-archive", "Mode none: an archive with its files, and with items that must be refused.", *_archive()
    )
    yield _pack("none-compressions", "Mode none: each compressor, auto and obfuscate.", *map(_none, _compressions()))
    large = _uncompressed(bytes(number % 253 for number in range(65_536)))
    yield _pack("none-large", "Mode none: 65,536 bytes of content.", _none(large))
    tagged = [_tagged_none(content, 0x80, _sha256) for content in (text, *_compressions())]
    yield _pack("none-sha256", "Mode none-sha256, version 2: tags and ids are SHA-256.", *tagged)
    tagged = [_tagged_none(content, 0x90, _blake3) for content in (text, _uncompressed(b""))]
    yield _pack("none-blake3", "Mode none-blake3, version 2: tags and ids are BLAKE3.", *tagged)


def _types() -> list[Blob]:
    """Blobs of file content, the item stream, the list of the stream's ids (msgpack), and the archive (msgpack)."""
    stream = b"item stream"
    ids = b"\x91\xc4\x20" + _sha256(stream)
    archive = META.build([["version", 2], ["name", "golden"]])
    plaintexts = {"F": b"file content", "S": stream, "C": ids, "A": archive}
    return [_none(_uncompressed(plaintext), kind) for kind, plaintext in plaintexts.items()]


def _archive() -> list[Blob]:
    """One archive of two files, the second in two chunks, and of three items that a safe reader must not extract."""
    first, second, third = (_none(_uncompressed(text)) for text in (b"the kettle is on the hob\n", b"one, ", b"two\n"))
    paths: dict[str, dict[str, object]] = {
        "docs": {"mode": 0o040755},
        "docs/kettle.txt": {"mode": 0o100644, "chunks": [[first.chunk_id, 25]]},
        "docs/numbers.txt": {"mode": 0o100600, "chunks": [[second.chunk_id, 5], [third.chunk_id, 4]]},
        "docs/way-out": {"mode": 0o120777, "target": "../.."},
        "../climbed.txt": {"mode": 0o100644, "chunks": [[first.chunk_id, 25]]},
        "/rooted.txt": {"mode": 0o100644, "chunks": [[first.chunk_id, 25]]},
    }
    items = [{"mtime": 1_700_000_000, "path": path, "user": "vera", **facts} for path, facts in paths.items()]
    stream = _none(_uncompressed(b"".join(map(_packed, items))), "S")
    pointers = _none(_uncompressed(bytes(MSGPACK_IDS.build([stream.chunk_id]))), "C")
    facts = {"hostname": "hob", "item_ptrs": [pointers.chunk_id], "name": "kitchen", "time": "2026-11-16T08:00:00"}
    return [first, second, third, stream, pointers, _none(_uncompressed(_packed({**facts, "username": "vera"})), "A")]


def _packed(values: Mapping[str, object]) -> bytes:
    """A msgpack map in the order of its keys, as borg packs items and archives."""
    pairs = [MSGPACK_STR.build(key) + ITEM_VALUES.get(key, MSGPACK_STR).build(values[key]) for key in sorted(values)]
    return bytes([0x80 | len(pairs)]) + b"".join(pairs)


def _compressions() -> list[Compressed]:
    """Each compressor once; with different text each time, since equal chunks are stored once."""
    none, lz4, lzma, zstd, zlib, auto, obfuscate = (
        b"".join(b"%s %02d: the kettle is on the hob\n" % (name, number) for number in range(12))
        for name in (b"none", b"lz4", b"lzma", b"zstd", b"zlib", b"auto", b"obfuscate")
    )
    zeros = bytes(5000)
    return [
        _uncompressed(none),
        Compressed(lz4, 1, 255, lz4_block(lz4)),
        Compressed(lzma, 2, 6, xz_stored(lzma)),
        Compressed(zstd, 3, 3, zstd_stored(zstd)),
        Compressed(zeros, 3, 3, zstd_rle(0, len(zeros))),
        Compressed(zlib, 5, 6, zlib_stored(zlib)),
        Compressed(auto, 1, 255, lz4_block(auto), has_size=False),
        Compressed(obfuscate, 3, 3, zstd_stored(obfuscate), padding=77),
    ]


def _keyed_packs() -> Iterator[Sample]:
    contents = [_uncompressed(b"readable, but"), _uncompressed(b"not verifiable without the key")]
    what = "Mode authenticated, version 1: plaintext under keyed ids."
    yield _pack("authenticated", what, *map(_authenticated, contents))
    for version, key_type, mode in ((1, 0x10, "aes256-ocb"), (2, 0x20, "chacha20-poly1305")):
        what = f"The outside of mode {mode}, version {version}: counters run on, tags and ciphertexts are made up."
        yield _pack(f"{mode}-shape", what, *(_aead(number, version, key_type) for number in range(3)))


def _deceptive_packs() -> Iterator[Sample]:
    """Content that looks like blobs; the blobs around it are intact, so it must not be taken for blobs."""
    magics = _uncompressed(OBJ_MAGIC + b"." + OBJ_MAGIC * 2 + b"\x01")
    after = _none(_uncompressed(b"after"))
    yield _pack("magic-in-data", "Content that holds the magic three times.", _none(magics), after)
    inner = _build(_none(_uncompressed(b"inner one")), _none(_uncompressed(b"inner two")))
    what = "Content that is itself a pack of two perfect blobs."
    yield _pack("pack-in-data", what, _none(_uncompressed(b"before")), _none(_uncompressed(inner)), after)


def _indexes() -> Iterator[Sample]:
    yield _index("index-empty", "A table without entries, as borg stores it.")
    blobs = [_none(content) for content in _compressions()]
    entries = _locate(blobs, _sha256(_build(*blobs)))
    yield _index("index-entries", "Where the blobs of none-compressions.pack lie.", *entries)
    blobs = _archive()
    entries = _locate(blobs, _sha256(_build(*blobs)))
    yield _index("index-archive", "Where the blobs of none-archive.pack lie.", *entries)
    top, ids = 2**32 - 1, b"\xff" * 32
    limits = (Entry(ids, ids, top, top, top, top), Entry(bytes(32), bytes(32), 0, 0, 0, 0))
    yield _index("index-limits", "Entries whose bytes are all FF and all 00.", *limits)


def _locate(blobs: Sequence[Blob], pack_id: bytes) -> Iterator[Entry]:
    start = 0
    for blob in blobs:
        yield Entry(blob.chunk_id, pack_id, start, blob.size)
        start += blob.size


def _index(name: str, what: str, *entries: Entry) -> Sample:
    description = _index_description(len(entries))
    data = bytes(INDEX.build({"meta": description, "entries": [asdict(entry) for entry in entries]}))
    fields: dict[str, Plain] = {
        "magic": INDEX_MAGIC.hex(),
        "version": 1,
        "len_description": len(description),
        "description": description.hex(),
        "entries": [entry.account() for entry in entries],
    }
    unit = Unit("borg_index", 0, len(data), fields)
    notes: dict[str, Plain] = {"index_id_sha256": _sha256(data).hex(), "index_id_blake3": _blake3(data).hex()}
    return Sample(f"borg/{name}.index", what, data, (unit,), "borg_index", notes)


def _index_description(used: int) -> bytes:
    """JSON as borghash writes it; the capacity is that of borg's files."""
    names = ["flags", "size", "pack_id", "obj_offset", "obj_size"]
    description = {
        "key_size": 32,
        "value_size": 48,
        "byte_order": "little",
        "value_type_name": "ChunkIndexEntry",
        "value_type_fields": names,
        "value_format_name": "ChunkIndexEntryFormatT",
        "value_format_fields": names,
        "value_format": ["I", "I", "32s", "I", "I"],
        "capacity": 2 * used or 1000,
        "used": used,
    }
    return json.dumps(description).encode()


def _pack(name: str, what: str, *blobs: Blob) -> Sample:
    data = _build(*blobs)
    start, units = 0, []
    for blob in blobs:
        units.append(Unit("borg_blob", start, start + blob.size, blob.account()))
        start += blob.size
    notes: Mapping[str, Plain] = {"pack_id_sha256": _sha256(data).hex(), "pack_id_blake3": _blake3(data).hex()}
    return Sample(f"borg/{name}.pack", what, data, tuple(units), "borg_pack", notes)


def _build(*blobs: Blob) -> bytes:
    return bytes(PACK.build([asdict(blob) for blob in blobs]))
