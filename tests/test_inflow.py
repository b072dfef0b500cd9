"""Payloads read into memory that is there already."""

from __future__ import annotations

import random

import pytest
import zstandard

from thawline import codecs
from thawline.errors import CodecError, OutputTooLarge
from thawline.inflow import Inflow, Pieces, decompressing

PLAIN = random.Random(7).randbytes(300_000) + bytes(400_000) + b"thawline" * 50_000
FRAME = zstandard.ZstdCompressor(write_checksum=True).compress(PLAIN)
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(PLAIN)
SKIPPABLE = bytes.fromhex("502a4d18 03000000 616263")


def read(inflow: Inflow, room: int) -> tuple[bytes, CodecError | None]:
    """All that flows in, and the error behind it."""
    found, memory = bytearray(), memoryview(bytearray(room))
    try:
        while size := inflow.readinto(memory):
            found += memory[:size]
    except CodecError as error:
        return bytes(found), error
    return bytes(found), None


def by_chunks(codec: str, data: bytes, max_bytes: int) -> tuple[bytes, CodecError | None]:
    """The same by the codecs."""
    found = bytearray()
    try:
        for chunk in codecs.decompress_chunks(codec, data, max_bytes=max_bytes):
            found += chunk
    except CodecError as error:
        return bytes(found), error
    return bytes(found), None


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


@pytest.mark.parametrize("room", [1000, 131_072, 8 << 20])
@pytest.mark.parametrize("data", [FRAME, UNSIZED, FRAME + UNSIZED, UNSIZED + SKIPPABLE + FRAME], ids=range(4))
def test_an_intact_payload_comes_whole(data: bytes, room: int) -> None:
    found, error = read(decompressing("zstd", data), room)
    assert error is None
    assert found == PLAIN * (2 if len(data) > len(FRAME) + 100 else 1)


@pytest.mark.parametrize("at", range(0, len(UNSIZED), len(UNSIZED) // 40))
@pytest.mark.parametrize("room", [5000, 1 << 20])
def test_all_before_a_damaged_block_is_given_and_then_the_error(at: int, room: int) -> None:
    data = changed(UNSIZED, at)
    expected, why = by_chunks("zstd", data, 1 << 24)
    found, error = read(decompressing("zstd", data, max_bytes=1 << 24), room)
    assert found == expected
    assert (error is None) == (why is None)


@pytest.mark.parametrize("at", [1, 4, 17, 1000, len(FRAME) // 2, len(FRAME) - 4, len(FRAME) - 1])
def test_a_cut_payload_is_an_error(at: int) -> None:
    expected, _ = by_chunks("zstd", FRAME[:at], 1 << 24)
    found, error = read(decompressing("zstd", FRAME[:at], max_bytes=1 << 24), 1 << 16)
    assert found == expected
    assert error is not None


@pytest.mark.parametrize("data", [FRAME, UNSIZED])
@pytest.mark.parametrize("bound", [0, 1, 4096, len(PLAIN) - 1])
def test_no_more_than_the_bound_is_given(data: bytes, bound: int) -> None:
    found, error = read(decompressing("zstd", data, max_bytes=bound), 1 << 16)
    assert found == by_chunks("zstd", data, bound)[0]
    assert isinstance(error, OutputTooLarge)


def test_a_payload_that_fills_the_bound_is_no_error() -> None:
    assert read(decompressing("zstd", UNSIZED, max_bytes=len(PLAIN)), 1 << 16) == (PLAIN, None)


@pytest.mark.parametrize("room", [1, 2, 3, 100])
def test_pieces_come_one_behind_the_other(room: int) -> None:
    assert read(Pieces(iter([b"", b"abc", b"", memoryview(b"defg"), b""])), room) == (b"abcdefg", None)
