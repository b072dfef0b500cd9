"""Files and folders that cost as much as they can: a worst case for each format and each kind of file.

Each is built for a size in bytes. What repeats is laid end to end; nested claims lie in each other.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable

import lz4.block
import lz4.frame
import msgpack
import zstandard

from thawline.checksums import crc32, sha256
from thawline.formats.borg.blobs import pack_header
from tools.bench.attack import ATTACKS
from tools.bench.hostile_kafka import KAFKA
from tools.bench.worst_cases import Files, Hostile, noise, numbered, repeated, single

# RBAK


def segment(payload: bytes, count: int, codec: int = 0) -> bytes:
    """A segment with a right checksum."""
    covered = b"RBAK" + struct.pack("<BBHQqq", 1, codec, 0, count, 1, 1) + payload
    return covered + crc32(covered).to_bytes(4, "little") + b"KABR"


def _versioned(version: int, codec: int) -> bytes:
    """An empty segment with a right checksum, of any version and compression."""
    covered = b"RBAK" + bytes([version, codec]) + bytes(26)
    return covered + crc32(covered).to_bytes(4, "little") + b"KABR"


def _sized(text: bytes) -> bytes:
    return len(text).to_bytes(4, "little") + text


SMALL = segment(_sized(b"{}"), 1)
MESSAGE = {"body": [], "properties": {}, "headers": [], "exchange": "", "routing_key": "", "delivery_tag": 1}
MESSAGE |= {"redelivered": False, "backed_up_at": 1, "source_queue": "q", "source_vhost": "/"}


def _payload(texts: Iterable[bytes], codec: int = 0) -> bytes:
    kept = [_sized(text) for text in texts]
    payload = b"".join(kept)
    if codec == 1:
        payload = zstandard.compress(payload, 19)
    elif codec == 2:  # noqa: PLR2004 - lz4, as a block with its size before it
        payload = lz4.block.compress(payload)
    return segment(payload, len(kept), codec)


def _message(**fields: object) -> bytes:
    return json.dumps({**MESSAGE, **fields}, separators=(",", ":")).encode()


def _many_headers(size: int) -> bytes:
    """Messages of a megabyte of headers each, compressed; what is decoded is 64 times the size."""
    text = _message(headers=[["k", 1]] * 100_000)
    return _payload([text] * max(64 * size // len(text), 1), 1)


def _backup(manifest: Callable[[int], object]) -> Callable[[int], Files]:
    good = _payload([_message()])
    return lambda size: {
        "backup/manifest.json": json.dumps(manifest(size)).encode(),
        "backup/queues/_default/q/segment-0001.rbak": good,
    }


def _listed(keys: Iterable[str]) -> object:
    entries = [{"key": key, "sequence": 1, "record_count": 1} for key in keys]
    return {"backup_id": "b", "queues": [{"name": "q", "vhost": "/", "segments": entries}]}


RBAK = [
    single("rbak", "small segments in a row", "x.rbak", lambda size: repeated(SMALL, size)),
    single(
        "rbak",
        "small segments, every other broken",
        "x.rbak",
        lambda size: repeated(SMALL + SMALL[:-5] + b"xKABR", size),
    ),
    single("rbak", "small broken segments in a row", "x.rbak", lambda size: repeated(SMALL[:-5] + b"xKABR", size)),
    single("rbak", "small segments, zstd", "x.zst", lambda size: repeated(_payload([b"{}"], 1), size)),
    single("rbak", "small segments, lz4", "x.lz4", lambda size: repeated(_payload([b"{}"], 2), size)),
    single("rbak", "small segments that do not decompress", "x.zst", lambda size: repeated(segment(b"x", 1, 1), size)),
    single("rbak", "small segments of bad records", "x.rbak", lambda size: repeated(_payload([b"{", b"", b"["]), size)),
    single(
        "rbak",
        "small segments, all different",
        "x.rbak",
        lambda size: numbered(lambda n: segment(SMALL[32:38], n), size),
    ),
    single(
        "rbak",
        "small segments of unknown versions",
        "x.rbak",
        lambda size: repeated(_versioned(9, 0) + _versioned(1, 9), size),
    ),
    single("rbak", "nothing but starts", "x.rbak", lambda size: repeated(b"RBAK", size)),
    single("rbak", "nothing but ends", "x.rbak", lambda size: SMALL[:-8] + repeated(b"KABR", size)),
    single("rbak", "starts and ends", "x.rbak", lambda size: SMALL[:32] + repeated(b"RBAKKABR", size)),
    single("rbak", "garbage between segments", "x.rbak", lambda size: repeated(SMALL + b"\xff" * 50, size)),
    single("rbak", "records as short as can be", "x.rbak", lambda size: _payload([b"{}"] * (size // 6))),
    single("rbak", "records that are no JSON", "x.rbak", lambda size: _payload([b"["] * (size // 5))),
    single("rbak", "empty records", "x.rbak", lambda size: _payload([b""] * (size // 4))),
    single(
        "rbak",
        "records that are nested deeply",
        "x.rbak",
        lambda size: _payload([b'{"headers":' + b"[" * 5000] * (size // 5000)),
    ),
    single("rbak", "one record", "x.rbak", lambda size: _payload([_message(body=[0] * (size // 2))])),
    single("rbak", "headers, zstd", "x.zst", _many_headers, 64),
    single(
        "rbak", "headers, no compression", "x.rbak", lambda size: _payload([_message(headers=[["k", 1]] * (size // 8))])
    ),
    single(
        "rbak",
        "long names of headers",
        "x.rbak",
        lambda size: _payload([_message(headers={f"{n:06}": None for n in range(size // 14)})]),
    ),
    single("rbak", "zeros, lz4", "x.lz4", lambda size: _payload([bytes(size * 200)], 2), 200),
    single("rbak", "zeros, zstd", "x.zst", lambda size: _payload([bytes(size * 200)], 1), 200),
    single("rbak", "random bytes", "x.rbak", lambda size: b"RBAK" + noise(size)),
    Hostile("rbak", "manifest, a key of many parts", _backup(lambda size: _listed(["a/" * (size // 2)])), "backup"),
    Hostile(
        "rbak", "manifest, many keys", _backup(lambda size: _listed(f"q/{n}" for n in range(size // 60))), "backup"
    ),
    Hostile(
        "rbak",
        "manifest, the same key",
        _backup(lambda size: _listed(["queues/_default/q/segment-0001.rbak"] * (size // 90))),
        "backup",
    ),
    Hostile(
        "rbak",
        "manifest, many queues",
        _backup(
            lambda size: {"backup_id": "b", "queues": [{"name": str(n), "segments": []} for n in range(size // 30)]}
        ),
        "backup",
    ),
    Hostile(
        "rbak",
        "manifest, other keys",
        _backup(lambda size: {"backup_id": "b", "queues": [], **{str(n): n for n in range(size // 16)}}),
        "backup",
    ),
]


# Borg


def blob(meta: bytes, data: bytes, key_type: int = 2, chunk_id: bytes | None = None) -> bytes:
    """A blob of version 1 with its own id."""
    slots = (bytes([key_type]) + meta, bytes([key_type]) + data)
    return pack_header(1, sha256(data) if chunk_id is None else chunk_id, *map(len, slots)) + b"".join(slots)


def meta(size: int, ctype: int = 0, csize: int | None = None, kind: str = "F") -> bytes:
    """The meta map of a blob."""
    packed: bytes = msgpack.packb(
        {"type": kind, "size": size, "ctype": ctype, "clevel": 255, "csize": size if csize is None else csize}
    )
    return packed


def plain(data: bytes, kind: str = "F", key_type: int = 2, chunk_id: bytes | None = None) -> bytes:
    """A blob that is not compressed."""
    return blob(meta(len(data), kind=kind), data, key_type, chunk_id)


def _nested(size: int) -> bytes:
    """Blobs in each other, each of which holds all that follow and has a wrong id."""
    heads, left = [], size
    while left > 200:  # noqa: PLR2004 - room for another
        left -= 96
        map_ = msgpack.packb({"type": "F", "size": left, "ctype": 0, "clevel": 255, "csize": left})
        heads.append(pack_header(1, b"\7" * 32, 1 + len(map_), 1 + left) + b"\2" + map_ + b"\2")
        left -= len(heads[-1]) - 96
    return b"".join(heads)[: size - left] + bytes(max(left, 0))


def _archive(stream: bytes) -> Files:
    """A repository of one archive with an item stream, in a mode whose ids cannot be checked without the key."""
    stream_id, list_id, archive_id = b"\1" * 32, b"\2" * 32, b"\3" * 32
    about = {
        "version": 2,
        "name": "arc",
        "item_ptrs": [list_id],
        "hostname": "",
        "username": "",
        "comment": "",
        "time": "2024-01-01T00:00:00.000000+00:00",
    }
    ids: bytes = msgpack.packb([stream_id])
    pack = plain(stream, "S", 7, stream_id) + plain(ids, "C", 7, list_id)
    pack += plain(msgpack.packb(about), "A", 7, archive_id)
    name = sha256(pack).hex()
    return {
        f"repo/packs/{name[:2]}/{name}": pack,
        f"repo/archives/{archive_id.hex()}": b"",
        "repo/config/version": b"4",
    }


ITEM = msgpack.packb({"path": "a", "mode": 0o100644, "mtime": 0, "uid": 0, "gid": 0})
BROKEN = bytearray(plain(b"x" * 20))
BROKEN[20] ^= 1

BORG = [
    single("borg", "blobs in each other, wrong ids", "x.pack", _nested),
    single("borg", "nothing but magics", "x.pack", lambda size: repeated(b"BORG_OBJ", size)),
    single(
        "borg", "heads in each other", "x.pack", lambda size: repeated(pack_header(1, bytes(32), 40, 20_000_000), size)
    ),
    single(
        "borg",
        "heads in each other, short",
        "x.pack",
        lambda size: repeated(pack_header(1, bytes(32), 40, 60_000), size),
    ),
    single("borg", "small blobs", "x.pack", lambda size: numbered(lambda n: plain(b"%d" % n), size)),
    single("borg", "the same small blob", "x.pack", lambda size: repeated(plain(b"x"), size)),
    single("borg", "small blobs, wrong ids", "x.pack", lambda size: repeated(bytes(BROKEN), size)),
    single(
        "borg",
        "small blobs, every other broken",
        "x.pack",
        lambda size: repeated(plain(b"x" * 20) + bytes(BROKEN), size),
    ),
    single("borg", "garbage between blobs", "x.pack", lambda size: repeated(plain(b"x") + b"\xff" * 50, size)),
    single("borg", "heads without sizes", "x.pack", lambda size: repeated(pack_header(1, bytes(32), 0, 0), size)),
    single(
        "borg",
        "heads without sizes between blobs",
        "x.pack",
        lambda size: repeated(plain(b"x") + pack_header(1, bytes(32), 0, 0), size),
    ),
    single(
        "borg",
        "slots of a byte between blobs",
        "x.pack",
        lambda size: repeated(plain(b"x") + pack_header(1, bytes(32), 1, 1) + b"\xee\xee", size),
    ),
    single(
        "borg",
        "encrypted blobs that end early",
        "x.pack",
        lambda size: repeated(pack_header(1, bytes(32), 20, 20) + b"\x10" * 40, size),
    ),
    single(
        "borg",
        "sizes that lead into the next blob",
        "x.pack",
        lambda size: repeated(plain(b"x") + pack_header(1, bytes(32), 30, 30), size),
    ),
    single(
        "borg", "meta maps nested deeply", "x.pack", lambda size: repeated(blob(b"\x91" * 900 + b"\xc0", b"x"), size)
    ),
    single(
        "borg", "one large meta map", "x.pack", lambda size: blob(msgpack.packb(dict.fromkeys(range(size // 4))), b"x")
    ),
    single("borg", "random bytes", "x.pack", lambda size: b"BORG_OBJ" + noise(size)),
    Hostile("borg", "items as short as can be", lambda size: _archive(repeated(ITEM, size)), "repo"),
    Hostile(
        "borg",
        "false starts of items",
        lambda size: _archive(ITEM + b"\xc1" + repeated(b"\x85\xa4path\xc1", size)),
        "repo",
    ),
    Hostile(
        "borg",
        "items that do not end",
        lambda size: _archive(b"\xc1" + repeated(b"\x8f\xa4path\xda\xff\xff", size)),
        "repo",
    ),
    Hostile(
        "borg",
        "an item of many chunks",
        lambda size: _archive(
            msgpack.packb({"path": "a", "mode": 0o100644, "chunks": [[b"\1" * 32, 1]] * (size // 36)})
        ),
        "repo",
    ),
]


# Aerospike

ASB_HEAD = b"Version 3.1\n# namespace test\n# first-file\n"
DIGEST = base64.b64encode(bytes(range(20)))
ASB = b"+ n test\n+ d " + DIGEST + b"\n+ s demo\n+ g 1\n+ t 0\n+ b 1\n- I a 1\n"


def _asb(name: str, part: bytes, decoded: float = 1) -> Hostile:
    return single("aerospike", name, "x.asb", lambda size: ASB_HEAD + repeated(part, size), decoded)


def _with_metadata(text: Callable[[int], bytes]) -> Callable[[int], Files]:
    return lambda size: {"dump/a.asb": ASB_HEAD + ASB, "dump/metadata.yaml": text(size)}


def _merges(size: int) -> bytes:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], b{n}: 1}}" for n in range(1, min(size // 60, 40))]
    return "\n".join(lines).encode() + b"\nrecord-count: 1\n"


def _bin(kind: bytes, value: bytes) -> bytes:
    return ASB.replace(b"- I a 1", b"- %s a %d %s" % (kind, len(value), value))


INDEX, UDF = b"* i test demo ix N 1 a N\n", b"* u L a 1 x\n"
SHORTEST = b"+ n \n+ d " + DIGEST + b"\n"
"""The least that is taken for the start of a record."""
FRAME = bytes.fromhex("28b52ffd")
RAW = b"\x20\x02\x08\x00\x00\n"
"""The head of a frame and a block of one byte that is not the last."""
RESERVED = b"\x06\x00\x00"
"""The head of a block of a kind that there is not."""


def _old(name: str, part: bytes) -> Hostile:
    return single("aerospike", name, "x.asb", lambda size: b"Version 3.0\n# namespace test\n" + repeated(part, size))


def _frames(name: str, part: bytes) -> Hostile:
    return single("aerospike", name, "x.asb", lambda size: zstandard.compress(ASB_HEAD) + repeated(part, size))


AEROSPIKE = [
    _asb("records and indexes by turns", ASB + INDEX),
    _asb("indexes and UDFs by turns", INDEX + UDF),
    _asb("indexes, every other broken", INDEX + INDEX.replace(b" 1 ", b" 2 ")),
    _asb("contexts that cannot be decoded", INDEX.replace(b"N\n", b"N x\n")),
    _asb("empty lines between records", ASB + b"\n"),
    _asb("records that one tool refuses", ASB.replace(b"+ g 1", b"+ g ")),
    _asb("doubles that one tool refuses", ASB.replace(b"- I a 1", b"- D a 0x1p3")),
    _asb("digests, every other wrong", ASB + b"+ k I 1\n" + ASB),
    _asb("lists, every other broken", ASB + _bin(b"L!", b"x")),
    _asb("starts of records and nothing else", SHORTEST),
    _old("version 3.0, backslashes", ASB.replace(b"demo", b"de\\mo")),
    _old("version 3.0, every other with a backslash", ASB + ASB.replace(b"demo", b"de\\mo")),
    _old("version 3.0, UDFs", UDF),
    single("aerospike", "zstd, nothing but magics", "x.asb", lambda size: repeated(FRAME, size)),
    _frames("zstd, small frames", zstandard.compress(ASB)),
    _frames("zstd, frames without a block", FRAME + b"\x20\x01" + RESERVED),
    _frames("zstd, frames that break off", FRAME + RAW + RESERVED),
    single(
        "aerospike",
        "zstd, starts of records",
        "x.asb",
        lambda size: zstandard.compress(ASB_HEAD + repeated(SHORTEST, 16 * size), 19),
        16,
    ),
    _asb("broken lines", b"+ x\n"),
    _asb("empty lines", b"\n"),
    _asb("records that end early", b"+ n test\n"),
    _asb("records, every other broken", ASB + ASB.replace(b"+ g 1", b"+ g x")),
    _asb("garbage between records", ASB + b"\xff" * 40 + b"\n"),
    _asb("records without bins", ASB.replace(b"+ b 1\n- I a 1\n", b"+ b 0\n")),
    _asb("records as short as can be", ASB),
    _asb("bins that are not there", ASB.replace(b"+ b 1", b"+ b 65535")),
    _asb("values that are longer than the file", ASB.replace(b"- I a 1", b"- S a 999999999 x")),
    _asb("names with escapes", ASB.replace(b"demo", b"\\ " * 200)),
    _asb("keys", b"+ k I 1\n" + ASB),
    _asb("indexes that end early", b"* i test\n"),
    _asb("UDFs", b"* u L a.lua 1 x\n"),
    _asb("UDFs that are longer than the file", b"* u L a.lua 99999999 x\n"),
    _asb("lists nested deeply", _bin(b"L!", b"\x91" * 3000)),
    _asb("documents nested deeply", _bin(b"J", b"[" * 3000)),
    single("aerospike", "one long line", "x.asb", lambda size: ASB_HEAD + b"+ " + b"x" * size),
    single(
        "aerospike",
        "one record of many bins",
        "x.asb",
        lambda size: (
            ASB_HEAD + ASB.replace(b"+ b 1\n- I a 1\n", b"+ b %d\n" % (size // 8)) + b"- I a 1\n" * (size // 8)
        ),
    ),
    single("aerospike", "random bytes", "x.asb", lambda size: ASB_HEAD + noise(size)),
    Hostile("aerospike", "metadata of merges", _with_metadata(_merges), "dump"),
    Hostile("aerospike", "metadata that is long", _with_metadata(lambda size: b"a: [" + b"1," * (size // 2)), "dump"),
    Hostile(
        "aerospike", "metadata nested deeply", _with_metadata(lambda size: b"a: " + b"[" * min(size, 60_000)), "dump"
    ),
]

RBF = [single("rbf", name, "x.rbf", build) for name, build in ATTACKS.items()]
HOSTILE = (*KAFKA, *RBF, *RBAK, *BORG, *AEROSPIKE)
