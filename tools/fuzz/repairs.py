"""Checksums, sizes and ids of damaged files made right again, so that the damage reaches the code that it is meant for.

A repair goes from unit to unit as far as lengths lead and leaves the rest as it is. A `deep` repair changes what units
hold in between: the payload is decompressed, changed, compressed again, and everything around it is made to fit.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import cramjam
import lz4.block
import lz4.frame
import msgpack
import zstandard

from thawline import codecs
from thawline.checksums import crc32, crc32c
from thawline.errors import CodecError
from thawline.formats.borg.blobs import CODECS as BORG_CODECS
from thawline.formats.borg.blobs import (
    ENVELOPES,
    HEADER_SIZE,
    LARGEST_OBJECT,
    MANIFEST_ID,
    Header,
    Slots,
    header_at,
    mode_of,
    pack_header,
    tag_input,
)
from tools.mutants import patched

Change = Callable[[bytes], bytes]
Repair = Callable[[bytes, Change], bytes]
"""The bytes of a file with what its units hold changed, and all checksums right."""

MOST_DECODED = 1 << 20
"""A payload that holds more is left as it is; a mutant is to be small."""
BATCH_HEAD, MESSAGE_HEAD, KAFKA_PREFIX = 61, 17, 12
KAFKA_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RBAK_HEADER, RBAK_FOOTER = 32, 8


def unchanged(data: bytes) -> bytes:
    """Change nothing."""
    return data


def kafka(data: bytes, change: Change = unchanged) -> bytes:
    """Batches with their CRC-32C, messages of v0 and v1 with their CRC-32; records changed before that."""
    return b"".join(_kafka_unit(unit, change) for unit in _kafka_units(data))


def _kafka_units(data: bytes) -> Iterator[bytes]:
    """Units as far as their sizes lead, and what is left."""
    at = 0
    while at + MESSAGE_HEAD <= len(data):
        end = at + KAFKA_PREFIX + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if not at + MESSAGE_HEAD <= end <= len(data):
            break
        yield data[at:end]
        at = end
    yield data[at:]


def _kafka_unit(unit: bytes, change: Change) -> bytes:
    if len(unit) >= BATCH_HEAD and unit[16] >= 2:  # noqa: PLR2004 - the magic of batches
        unit = unit[:BATCH_HEAD] + _recompressed(KAFKA_CODECS, unit[22] & 7, unit[BATCH_HEAD:], change)
        unit = _sized(unit)
        return patched(unit, 17, crc32c(unit[21:]).to_bytes(4, "big"))
    if len(unit) < MESSAGE_HEAD:
        return unit
    unit = _sized(unit[:MESSAGE_HEAD] + change(unit[MESSAGE_HEAD:]))
    return patched(unit, 12, crc32(unit[16:]).to_bytes(4, "big"))


def _sized(unit: bytes) -> bytes:
    return patched(unit, 8, (len(unit) - KAFKA_PREFIX).to_bytes(4, "big"))


COMPRESS: dict[str, Change] = {
    "none": unchanged,
    "gzip": lambda data: gzip.compress(data, 1, mtime=0),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "lz4": lz4.frame.compress,
    "zstd": zstandard.compress,
    "zlib": zlib.compress,
    "lz4_block": lambda data: lz4.block.compress(data, store_size=False),
}


def _recompressed(names: tuple[str, ...], number: int, stored: bytes, change: Change) -> bytes:
    """A payload changed inside; as it is, but for the change, if it is not compressed or cannot be decompressed."""
    name = names[number] if number < len(names) else ""
    if change is unchanged or name not in COMPRESS:
        return change(stored)
    try:
        return COMPRESS[name](change(codecs.decompress(name, stored, max_bytes=MOST_DECODED)))
    except CodecError:
        return change(stored)


def rbak(data: bytes, change: Change = unchanged) -> bytes:
    """A segment with its footer; its records changed before that."""
    if len(data) < RBAK_HEADER + RBAK_FOOTER:
        return data
    names = ("none", "zstd", "lz4")
    payload = _recompressed(names, data[5], data[RBAK_HEADER:-RBAK_FOOTER], change)
    covered = data[:RBAK_HEADER] + payload
    return covered + crc32(covered).to_bytes(4, "little") + b"KABR"


def rbf(data: bytes, change: Change = unchanged) -> bytes:
    """Frames with their CRC-32C and both lengths; tag, payload and status changed before that."""
    parts, at = [data[:4]], 4
    while at + 20 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        if size < 20 or at + size > len(data):  # noqa: PLR2004 - the shortest frame
            break
        inside = change(data[at + 4 : at + size - 8])
        length = (len(inside) + 12).to_bytes(4, "little")
        parts.append(length + inside + length + crc32c(inside + length).to_bytes(4, "little"))
        parts.append(data[at + size : at + size + 4])
        at += size + 4
    return b"".join(parts) + data[at:]


def borg(data: bytes, change: Change = unchanged) -> bytes:
    """Blobs with ids and tags that anybody can compute; either slot changed before that."""
    parts, at, view = [], 0, memoryview(data)
    while (header := header_at(view, at)) and header.end <= len(data) and header.end - at <= LARGEST_OBJECT:
        parts.append(_blob(data[at : header.end], replace(header, start=0), change))
        at = header.end
    return b"".join(parts) + data[at:]


def _blob(blob: bytes, header: Header, change: Change) -> bytes:
    envelope = ENVELOPES.get(header.version, 0)
    middle = HEADER_SIZE + header.len_meta
    if header.version not in ENVELOPES or min(header.len_meta, header.len_data) < envelope:
        return blob
    mode = mode_of(header.version, blob[HEADER_SIZE], None)
    if mode.is_sealed:
        return blob
    meta, content = _refilled(blob[HEADER_SIZE + envelope : middle], blob[middle + envelope :], change)
    chunk_id = header.chunk_id
    if mode.id_hash and chunk_id != MANIFEST_ID and (plain := _plain(meta, content)) is not None:
        chunk_id = mode.id_hash(plain)
    slots = Slots(header.version, chunk_id, blob[HEADER_SIZE], None, meta, None, content)
    heads = [_envelope(slots, which, envelope, mode.tag_hash) for which in (b"M", b"D")]
    sizes = (envelope + len(meta), envelope + len(content))
    return pack_header(header.version, chunk_id, *sizes) + heads[0] + meta + heads[1] + content


def _refilled(meta: bytes, content: bytes, change: Change) -> tuple[bytes, bytes]:
    """Both payloads with the plaintext changed, then the meta map, which fits the plaintext before that."""
    plain = _plain(meta, content)
    if change is unchanged or plain is None:
        return change(meta), change(content)
    found, changed = msgpack.unpackb(meta, strict_map_key=False), change(plain)
    if changed != plain:
        compress = COMPRESS.get(BORG_CODECS[found["ctype"]])
        found["ctype"] = found["ctype"] if compress else 0
        content = compress(changed) if compress else changed
        found |= {"csize": len(content)} | ({"size": len(changed)} if "size" in found else {})
    return change(msgpack.packb(found)), content


def _envelope(slots: Slots, which: bytes, size: int, tag_hash: Callable[[bytes], bytes] | None) -> bytes:
    payload = slots.meta if which == b"M" else slots.data
    tag = tag_hash(tag_input(slots, which) + payload) if tag_hash else bytes(32)
    return (bytes([slots.key_type, 0]) + tag)[:size]


def _plain(meta: bytes, content: bytes) -> bytes | None:
    """The plaintext by which a blob is named, if the meta map still tells how to get at it."""
    try:
        found = msgpack.unpackb(meta, strict_map_key=False)
        return codecs.decompress(BORG_CODECS[found["ctype"]], content, max_bytes=MOST_DECODED)
    except (ValueError, TypeError, KeyError, RecursionError, msgpack.UnpackException, CodecError):
        return None


def aerospike(data: bytes, change: Change = unchanged) -> bytes:
    """Records whose count of bins is that of the lines which follow; lines changed before that, one by one."""
    lines = [change(line) if line[:1] in {b"+", b"-", b"*"} else line for line in data.split(b"\n")]
    counted = -1
    for number, line in enumerate(lines):
        if line.startswith(b"+ b "):
            counted, bins = number, 0
        elif line[:2] in {b"+ ", b"* "}:
            counted = -1
        elif counted >= 0 and line.startswith(b"- "):  # a line that starts with anything else belongs to a value
            bins += 1
            lines[counted] = b"+ b %d" % bins
    return b"\n".join(lines)


def snapshot(data: bytes) -> bytes:
    """A producer snapshot of Kafka with its CRC-32C."""
    return patched(data, 2, crc32c(data[6:]).to_bytes(4, "big")) if len(data) >= struct.calcsize(">hI") else data


REPAIRS: dict[str, Repair] = {"kafka": kafka, "rbak": rbak, "rbf": rbf, "borg": borg, "aerospike": aerospike}
