"""Damaged payloads give a true prefix and an error; bombs stop at their bound."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from compressors import (
    CODECS,
    COMPRESS,
    LONG,
    MIB,
    TEXT,
    lz4_frame,
    prose,
    salvage,
    xerial,
    zstd,
)

from thawline.codecs import decompress
from thawline.errors import CodecError, OutputTooLarge


@CODECS
@pytest.mark.parametrize("data", [b"", TEXT], ids=["empty", "text"])
def test_a_cut_at_any_byte_is_an_error_after_a_true_prefix(codec: str, data: bytes) -> None:
    packed = COMPRESS[codec](data)
    for end in range(len(packed)):
        output, error = salvage(codec, packed[:end])
        assert data.startswith(output)
        # After the literals of a sequence a raw block may end: only its size, which the caller knows, tells.
        # A xerial stream may end after any chunk, hence after its head.
        whole = codec == "lz4_block" or (codec == "snappy_xerial" and end == 16)
        assert error is not None or whole, end


@pytest.mark.parametrize("codec", ["gzip", "zlib", "lzma", "zstd", "lz4", "lz4_kafka", "lz4_legacy_checksum"])
def test_a_cut_says_that_the_payload_ends_inside_a_frame(codec: str) -> None:
    packed = COMPRESS[codec](LONG)
    for end in (0, 3, 6, 20, len(packed) // 2, len(packed) - 1):
        assert "ends inside a frame" in str(salvage(codec, packed[:end])[1])


@pytest.mark.parametrize(("codec", "wbits"), [("gzip", 31), ("zlib", 15)])
def test_every_byte_that_inflates_before_a_cut_is_given(codec: str, wbits: int) -> None:
    packed = COMPRESS[codec](LONG)
    for percent in range(1, 100):
        cut = packed[: len(packed) * percent // 100]
        assert (
            salvage(codec, cut)[0] == zlib.decompressobj(wbits).decompress(cut) == LONG[: len(salvage(codec, cut)[0])]
        )


@pytest.mark.parametrize(("codec", "block"), [("zstd", 128 << 10), ("lz4", 64 << 10), ("snappy_xerial", 32 << 10)])
def test_every_block_before_a_cut_is_given(codec: str, block: int) -> None:
    packed = COMPRESS[codec](LONG)
    for percent in range(1, 100):
        output, error = salvage(codec, packed[: len(packed) * percent // 100])
        assert error is not None
        assert LONG.startswith(output)
        assert len(output) % block == 0 or len(output) == len(LONG)
        assert len(output) > len(LONG) * percent // 100 - 2 * block


@pytest.mark.parametrize(("codec", "trailer"), [("gzip", 8), ("zlib", 4)])
def test_all_that_decodes_before_damage_is_given(codec: str, trailer: int) -> None:
    for data in (TEXT, LONG):
        packed = bytearray(COMPRESS[codec](data))
        packed[-trailer] ^= 1
        assert salvage(codec, packed)[0] == data


def test_the_blocks_before_a_damaged_one_are_given() -> None:
    packed = bytearray(zstd(LONG, checksum=True))
    packed[-1] ^= 1
    assert salvage("zstd", packed)[0] == LONG
    chunks = xerial(LONG)
    third = len(xerial(LONG[: 64 << 10]))
    output, error = salvage("snappy_xerial", chunks[:third] + b"\0\0\0\4\xff\xff\xff\xff" + chunks[third:])
    assert output == LONG[: 64 << 10]
    assert error is not None
    frame = bytearray(lz4_frame(LONG, checks=True))
    first = 7 + 4 + int.from_bytes(frame[7:11], "little") + 4
    frame[first + 100] ^= 1
    for codec in ("lz4", "lz4_kafka"):
        output, error = salvage(codec, frame)
        assert output == LONG[: 64 << 10]
        assert "blockChecksum" in str(error)


def mutants(packed: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Copies with bits flipped, bytes replaced, stretches cut out or doubled."""
    rng = random.Random(seed)
    for _ in range(count):
        mutant = bytearray(packed)
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            at = rng.randrange(len(mutant))
            end = min(len(mutant), at + rng.choice([1, 2, 4, 16]))
            match rng.randrange(5):
                case 0 | 1:
                    mutant[at] ^= 1 << rng.randrange(8)
                case 2:
                    mutant[at:end] = rng.choice([rng.randbytes(end - at), bytes(end - at), b"\xff" * (end - at)])
                case 3 if len(mutant) > end - at:
                    del mutant[at:end]
                case _:
                    mutant[at:at] = mutant[at:end]
        yield bytes(mutant)


@CODECS
def test_damage_raises_nothing_but_codec_errors_and_stays_within_the_bound(codec: str) -> None:
    wide = zlib.crc32(codec.encode())
    for seed, data in enumerate((TEXT, prose(90_000), bytes(200_000))):
        for mutant in mutants(COMPRESS[codec](data), wide + seed, 150):
            output, _error = salvage(codec, mutant, max_bytes=MIB)
            assert len(output) <= MIB


@CODECS
def test_noise_behind_a_true_magic_raises_nothing_but_codec_errors(codec: str) -> None:
    rng = random.Random(codec)
    head = COMPRESS[codec](TEXT)
    for _ in range(200):
        noise = head[: rng.randrange(20)] + rng.randbytes(rng.randrange(200))
        assert len(salvage(codec, noise, max_bytes=MIB)[0]) <= MIB


@CODECS
def test_a_bomb_stops_at_the_bound_in_bounded_memory(codec: str) -> None:
    bomb = COMPRESS[codec](bytes(32 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(CodecError if codec == "lz4_block" else OutputTooLarge):
            decompress(codec, bomb, max_bytes=MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize("codec", ["gzip", "zlib", "lzma", "zstd", "lz4", "lz4_kafka", "lz4_legacy_checksum"])
def test_a_stream_gives_exactly_the_bound_before_it_stops(codec: str) -> None:
    output, error = salvage(codec, COMPRESS[codec](bytes(3 * MIB)), max_bytes=MIB + 1)
    assert (output, type(error)) == (bytes(MIB + 1), OutputTooLarge)


@pytest.mark.parametrize("codec", ["gzip", "lzma", "zstd", "snappy_xerial", "lz4"])
def test_ten_thousand_empty_members_are_read_in_linear_time(codec: str) -> None:
    packed = COMPRESS[codec](b"") * 10_000
    assert decompress(codec, packed, max_bytes=0) == b""


def test_members_of_a_bomb_share_one_bound() -> None:
    for codec in ("gzip", "zlib", "lzma", "zstd", "lz4"):
        packed = COMPRESS[codec](bytes(MIB)) * 5
        output, error = salvage(codec, packed, max_bytes=3 * MIB)
        assert (output, type(error)) == (bytes(3 * MIB), OutputTooLarge)


SQUEEZED = """
import resource, sys
from thawline import codecs
codec, data, room = sys.argv[1], sys.stdin.buffer.read(), codecs.Room(1 << 20)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + (6 << 20),) * 2)
for read in (codecs.decompress, room.add):
    try:
        read(codec, data, max_bytes=128 << 20)
    except MemoryError:
        print("not enough memory")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc says how much memory there is")
@CODECS
def test_memory_that_ends_is_an_error_and_no_crash(codec: str) -> None:
    data = COMPRESS[codec](bytes(64 * MIB))
    command = [sys.executable, "-c", SQUEEZED, codec]
    ran = subprocess.run(command, input=data, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout.split(b"\n")[:2]) == (0, [b"not enough memory"] * 2), ran.stderr[-500:]
