"""What a blob's slots hold in the modes that can be read without a key: the meta map and the chunk itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack

from thawline import codecs
from thawline.errors import CodecError
from thawline.formats.borg.findings import BAD_DATA, BAD_ID, BAD_META, BAD_TAG
from thawline.formats.borg.header import MAGIC
from thawline.formats.borg.modes import Mode
from thawline.model import Code
from thawline.wording import counted, grouped

LARGEST_PLAINTEXT = 128 << 20
"""Borg itself gives up on a chunk that decompresses to more."""
CODECS = {0: "none", 1: "lz4_block", 2: "lzma", 3: "zstd", 5: "zlib"}
"""Codecs by `ctype`. 4, obfuscation, wraps one of these and is not stored any more; 8 is zlib in borg 1."""
MANIFEST_ID = bytes(32)
"""The manifest is stored under this id, which is no hash of it."""
LARGEST_NUMBER = 1 << 31


class Flaw(Exception):
    """A blob that is not what it should be: which kind of finding that is, and why."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Meta:
    """The meta map: what kind of object it is, and how its data slot is compressed."""

    type: str
    """M manifest, A archive, C list of chunk ids, S item stream, F file content."""
    ctype: int
    clevel: int
    csize: int
    """Bytes of the data slot's payload."""
    size: int | None
    """Bytes of the plaintext; missing after `--compression auto,…`."""
    psize: int | None
    """Bytes of the payload that count; the rest is what `obfuscate` has put behind them."""


@dataclass(frozen=True, slots=True)
class Slots:
    """A blob as far as its envelopes tell."""

    version: int
    chunk_id: bytes
    key_type: int
    meta_tag: bytes | None
    meta: bytes
    data_tag: bytes | None
    data: bytes


@dataclass(frozen=True, slots=True)
class Content:
    """A blob that could be read: its meta map and plaintext, and what has been checked of them."""

    meta: Meta
    plaintext: bytes
    verified_by: tuple[str, ...]
    """`tag` and `chunk_id`, where they are hashes that anybody can compute."""


def read_meta(payload: bytes) -> Meta:
    """The meta map of a blob; `Flaw` if it is none."""
    try:
        found: Any = msgpack.unpackb(payload)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise Flaw(BAD_META, f"the meta slot holds no msgpack map: {error}") from None
    if not isinstance(found, dict):
        raise Flaw(BAD_META, "the meta slot holds no map")
    if not isinstance(found.get("type"), str):
        raise Flaw(BAD_META, "the meta map has no type")
    numbers = {key: found.get(key) for key in ("ctype", "clevel", "csize", "size", "psize")}
    for key, number in numbers.items():
        is_missing = number is None and key in {"size", "psize"}
        if not is_missing and not (isinstance(number, int) and -LARGEST_NUMBER <= number < LARGEST_NUMBER):
            raise Flaw(BAD_META, f"the meta map has no {key}" if number is None else f"its {key} is {number!r:.40}")
    return Meta(found["type"], **numbers)  # type: ignore[arg-type]


def check_size(meta: Meta, len_payload: int) -> None:
    """Raise `Flaw` unless the meta map and the data slot agree on its size: that pins both ends of both slots."""
    if meta.csize != len_payload:
        raise Flaw(
            BAD_META,
            f"the meta map says {counted(meta.csize, 'byte')} of data, the data slot holds {grouped(len_payload)}",
        )
    if meta.psize is not None and not 0 <= meta.psize <= meta.csize:
        raise Flaw(BAD_META, f"its psize is {grouped(meta.psize)}, of {counted(meta.csize, 'byte')}")


def read_content(slots: Slots, mode: Mode) -> Content:
    """What a blob holds, checked as far as its mode allows; `Flaw` says what is wrong."""
    checked = []
    if mode.tag_hash:
        _check_tag(slots, mode, b"M", slots.meta_tag, slots.meta)
        _check_tag(slots, mode, b"D", slots.data_tag, slots.data)
        checked.append("tag")
    meta = read_meta(slots.meta)
    check_size(meta, len(slots.data))
    plaintext = decompress(meta, slots.data)
    if mode.id_hash and not (meta.type == "M" and slots.chunk_id == MANIFEST_ID):
        if mode.id_hash(plaintext) != slots.chunk_id:
            raise Flaw(BAD_ID, f"its content hashes to {mode.id_hash(plaintext).hex()}")
        checked.append("chunk_id")
    return Content(meta, plaintext, tuple(checked))


def decompress(meta: Meta, payload: bytes) -> bytes:
    """The plaintext of a data slot, never more than its meta map or borg allows."""
    if meta.ctype not in CODECS:
        raise Flaw(BAD_DATA, f"its ctype is {meta.ctype}, which names no compression")
    if meta.size is not None and not 0 <= meta.size <= LARGEST_PLAINTEXT:
        raise Flaw(BAD_DATA, f"its size is {meta.size}, and borg takes {LARGEST_PLAINTEXT} at most")
    most = LARGEST_PLAINTEXT if meta.size is None else meta.size
    stored = payload if meta.psize is None else payload[: meta.psize]
    is_plain = meta.ctype == 0 and len(stored) <= most
    plaintext = stored if is_plain else _decompressed(CODECS[meta.ctype], stored, most)
    if meta.size is not None and len(plaintext) != meta.size:
        raise Flaw(
            BAD_DATA, f"it decompresses to {counted(len(plaintext), 'byte')}, its meta map says {grouped(meta.size)}"
        )
    return plaintext


def _decompressed(codec: str, stored: bytes, most: int) -> bytes:
    try:
        return codecs.decompress(codec, stored, max_bytes=max(most, 1))
    except CodecError as error:
        raise Flaw(BAD_DATA, str(error)) from None


def _check_tag(slots: Slots, mode: Mode, slot: bytes, tag: bytes | None, payload: bytes) -> None:
    assert mode.tag_hash is not None  # noqa: S101 - the caller has asked
    if mode.tag_hash(tag_input(slots, slot) + payload) != tag:
        raise Flaw(BAD_TAG, f"the tag of the {'meta' if slot == b'M' else 'data'} slot does not fit its bytes")


def tag_input(slots: Slots, slot: bytes) -> bytes:
    """What stands before the payload in what a tag covers: the envelope's head, and the header but for its sizes."""
    covered = MAGIC + bytes([slots.version]) + slots.chunk_id + slot + slots.chunk_id
    return bytes([slots.key_type, 0]) + len(covered).to_bytes(2, "big") + covered
