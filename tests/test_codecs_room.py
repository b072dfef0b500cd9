"""Payloads decompressed one after the other in reused memory: the same as `decompress` gives."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

import pytest
from compressors import (
    COMPRESS,
    LONG,
    MIB,
    TEXT,
    lz4_frame,
    lz4_v0,
    prose,
    zstd,
)

from thawline.codecs import Room, decompress
from thawline.errors import CodecError
from tools.mutants import mutants as seeded_mutants

VARIANTS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    **{codec: (codec, compress) for codec, compress in COMPRESS.items()},
    "zstd with its size": ("zstd", partial(zstd, size=True)),
    "zstd with a checksum": ("zstd", partial(zstd, size=True, checksum=True)),
    "zstd, two frames": ("zstd", lambda data: zstd(data, size=True) + zstd(data)),
    "zstd, a skippable frame first": ("zstd", lambda data: struct.pack("<II", 0x184D2A50, 3) + b"abc" + zstd(data)),
    "zstd and bytes behind it": ("zstd", lambda data: zstd(data, size=True) + b"abc"),
    "lz4 of Kafka with its size": ("lz4_kafka", partial(lz4_frame, size=True)),
    "lz4 of Kafka with checksums": ("lz4_kafka", partial(lz4_frame, checks=True)),
    "lz4 of Kafka, linked": ("lz4_kafka", partial(lz4_frame, linked=True)),
    "lz4 of Kafka, two frames": ("lz4_kafka", lambda data: 2 * lz4_frame(data)),
    "lz4 of Kafka and bytes behind it": ("lz4_kafka", lambda data: lz4_frame(data) + b"abc"),
    "lz4 of Kafka, a wrong head checksum": ("lz4_kafka", lz4_v0),
}


def added(room: Room, codec: str, data: bytes, max_bytes: int = MIB) -> bytes | type[CodecError]:
    """What is added to a room, or the error."""
    before = room.end
    try:
        room.add(codec, data, max_bytes=max_bytes)
    except CodecError as error:
        assert room.end == before
        return type(error)
    return bytes(room.view()[before:])


def opened(codec: str, data: bytes, max_bytes: int = MIB) -> bytes | type[CodecError]:
    try:
        return decompress(codec, data, max_bytes=max_bytes)
    except CodecError as error:
        return type(error)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", [0, 10, 4 * MIB])
def test_a_room_holds_what_decompress_gives_one_behind_the_other(variant: str, size: int) -> None:
    codec, compress = VARIANTS[variant]
    room, expected = Room(size), b""
    for data in (TEXT, b"", LONG, TEXT):
        found = added(room, codec, compress(data))
        assert found == opened(codec, compress(data))
        expected += found if isinstance(found, bytes) else b""
        assert room.view() == expected
    room.clear()
    assert added(room, codec, compress(TEXT)) == opened(codec, compress(TEXT))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("data", [TEXT, prose(90_000)], ids=["text", "blocks"])
def test_a_room_takes_and_refuses_the_same_damage_as_decompress(variant: str, data: bytes) -> None:
    codec, compress = VARIANTS[variant]
    room = Room(MIB)
    for mutant in seeded_mutants(compress(data), 6, 150):
        room.clear()
        assert added(room, codec, mutant) == opened(codec, mutant)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("missing", [0, 1])
def test_a_room_keeps_the_bound(variant: str, missing: int) -> None:
    codec, compress = VARIANTS[variant]
    packed, bound = compress(LONG), len(LONG) - missing
    assert added(Room(2 * MIB), codec, packed, bound) == opened(codec, packed, bound)
