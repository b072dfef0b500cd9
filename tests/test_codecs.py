from __future__ import annotations

import gzip
import io
import json
import lzma
import mmap
import random
import struct
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cramjam
import lz4.block
import lz4.frame
import pytest
import zstandard

from thawline.codecs import Room, decompress, decompress_chunks, kafka_codec, rbak_codec
from thawline.errors import CodecError, FormatError, OutputTooLarge
from tools.mutants import mutants as seeded_mutants

MIB = 1 << 20
KAFKA_COMPRESSION = ["none", "gzip", "snappy", "lz4", "zstd"]


def prose(size: int, seed: int = 1) -> bytes:
    """Compressible bytes without long repetitions."""
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randint(2, 9)).hex().encode() for _ in range(400)]
    return b" ".join(rng.choices(words, k=size // 4))[:size]


TEXT = prose(700)
LONG = prose(600_000)


def snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def xerial(data: bytes, *, chunk: int = 32 << 10, order: str = ">") -> bytes:
    blocks = (snappy(data[at : at + chunk]) for at in range(0, len(data), chunk))
    head = b"\x82SNAPPY\0" + struct.pack(order + "ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def zstd(data: bytes, *, size: bool = False, checksum: bool = False) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=size, write_checksum=checksum).compress(data)


def lz4_frame(
    data: bytes, *, linked: bool = False, size: bool = False, block_size: int = 4, checks: bool = False
) -> bytes:
    packed: bytes = lz4.frame.compress(
        data,
        block_linked=linked,
        store_size=size,
        block_size=block_size,
        content_checksum=checks,
        block_checksum=checks,
    )
    return packed


def lz4_v0(data: bytes) -> bytes:
    frame = lz4_frame(data)
    assert frame[:7].hex() == "04224d18604082"
    return frame[:6] + b"\x1a" + frame[7:]


def xz(data: bytes, check: int = lzma.CHECK_NONE) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=check, preset=1)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "zlib": zlib.compress,
    "lzma": xz,
    "zstd": zstd,
    "snappy": snappy,
    "snappy_xerial": xerial,
    "lz4": lz4_frame,
    "lz4_kafka": lz4_frame,
    "lz4_legacy_checksum": lz4_v0,
    "lz4_block": lambda data: lz4.block.compress(data, store_size=False),
    "lz4_sized_block": lz4.block.compress,
}
CODECS = pytest.mark.parametrize("codec", COMPRESS)


def salvage(codec: str, data: bytes | bytearray, max_bytes: int = 64 * MIB) -> tuple[bytes, CodecError | None]:
    """What comes before the error, and the error."""
    output = bytearray()
    try:
        for chunk in decompress_chunks(codec, data, max_bytes=max_bytes):
            output += chunk
    except CodecError as error:
        return bytes(output), error
    return bytes(output), None


# --- what is whole is read exactly ------------------------------------------------------------------------------------


@CODECS
@pytest.mark.parametrize(
    "data", [b"", b"x", TEXT, LONG, bytes(300_000)], ids=["empty", "byte", "text", "long", "zeros"]
)
def test_what_a_real_compressor_wrote_comes_back(codec: str, data: bytes) -> None:
    packed = COMPRESS[codec](data)
    assert decompress(codec, packed) == data
    assert b"".join(decompress_chunks(codec, packed)) == data


@pytest.mark.parametrize("codec", ["none", *COMPRESS])
def test_any_contiguous_buffer_is_read(codec: str, tmp_path: Path) -> None:
    packed = COMPRESS.get(codec, bytes)(TEXT)
    file = tmp_path / "payload"
    file.write_bytes(b"head" + packed)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        buffers: list[bytes | bytearray | memoryview] = [
            packed,
            bytearray(packed),
            memoryview(mapped)[4:],
            memoryview(packed).cast("b"),
        ]
        assert [decompress(codec, buffer) for buffer in buffers] == [TEXT] * 4
        buffers.clear()


@CODECS
def test_output_that_fills_the_bound_exactly_is_allowed(codec: str) -> None:
    assert decompress(codec, COMPRESS[codec](LONG), max_bytes=len(LONG)) == LONG


def test_none_gives_the_bytes_back_within_the_bound() -> None:
    assert decompress("none", b"abc", max_bytes=3) == b"abc"
    with pytest.raises(OutputTooLarge):
        decompress("none", b"abcd", max_bytes=3)


def test_an_unknown_codec_is_refused_at_once_and_the_known_ones_are_named() -> None:
    with pytest.raises(CodecError, match=r"unknown codec 'brotli'; known are none, gzip, .*lz4_sized_block"):
        decompress_chunks("brotli", b"")


def test_a_codec_error_is_a_format_error() -> None:
    with pytest.raises(FormatError):
        decompress("gzip", b"not gzip")


# --- gzip, zlib, xz ---------------------------------------------------------------------------------------------------


def test_gzip_reads_several_members_with_names_and_zero_padding() -> None:
    named = io.BytesIO()
    with gzip.GzipFile("segment.log", "wb", fileobj=named) as member:
        member.write(b"two")
    padded = gzip.compress(b"one", mtime=0) + bytes(5000) + named.getvalue() + gzip.compress(b"", mtime=0) + bytes(3)
    assert decompress("gzip", padded) == b"onetwo"


@pytest.mark.parametrize("codec", ["gzip", "zlib", "lzma"])
def test_what_follows_a_member_and_is_no_member_is_an_error_after_the_output(codec: str) -> None:
    output, error = salvage(codec, COMPRESS[codec](TEXT) + b"rubbish, twenty bytes or more")
    assert output == TEXT
    assert error is not None


@pytest.mark.parametrize("check", [lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])
def test_xz_reads_every_integrity_check(check: int) -> None:
    assert decompress("lzma", xz(TEXT, check)) == TEXT


def test_an_xz_dictionary_beyond_the_memory_limit_is_refused() -> None:
    packed = bytearray(xz(TEXT))
    size = (packed[12] + 1) * 4
    at = packed.index(b"\x21\x01", 12) + 2  # LZMA2, one byte of properties: the dictionary's size
    packed[at] = 40  # 4 GiB - 1
    packed[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(packed[12 : 12 + size - 4]))
    with pytest.raises(CodecError, match="Memory usage limit"):
        decompress("lzma", packed)


# --- zstd -------------------------------------------------------------------------------------------------------------


def test_zstd_without_content_size_decodes() -> None:
    packed = zstd(LONG)
    assert zstandard.frame_content_size(packed) == -1
    assert decompress("zstd", packed) == LONG


def test_zstd_reads_several_frames_skippable_frames_and_checksums() -> None:
    skippable = struct.pack("<II", 0x184D2A57, 5) + b"aside"
    packed = skippable + zstd(TEXT, size=True) + zstd(b"") + skippable + zstd(LONG, checksum=True)
    assert decompress("zstd", packed) == TEXT + LONG


def test_zstd_of_every_level_decodes() -> None:
    for level in (-5, 1, 3, 9, 19, 22):
        assert decompress("zstd", zstandard.ZstdCompressor(level=level).compress(LONG)) == LONG


def test_a_zstd_content_size_beyond_the_bound_is_refused_before_decoding() -> None:
    packed = zstd(LONG, size=True)
    output, error = salvage("zstd", packed, max_bytes=len(LONG) - 1)
    assert (output, type(error)) == (b"", OutputTooLarge)


def test_a_zstd_window_beyond_128_mib_is_refused() -> None:
    raw_block = b"\x09\0\0" + b"x"
    window = {log: bytes.fromhex("28b52ffd00") + bytes([(log - 10) << 3]) + raw_block for log in (27, 28)}
    assert decompress("zstd", window[27]) == b"x"
    with pytest.raises(CodecError, match="too much memory"):
        decompress("zstd", window[28])


def test_a_zstd_frame_that_needs_a_dictionary_is_an_error() -> None:
    dictionary = zstandard.train_dictionary(2048, [prose(500, seed) for seed in range(200)])
    with pytest.raises(CodecError):
        decompress("zstd", zstandard.ZstdCompressor(dict_data=dictionary).compress(TEXT))


def test_unfinished_zstd_iterators_do_not_disturb_each_other() -> None:
    inputs = [prose(500_000, seed) for seed in range(3)]
    running = [decompress_chunks("zstd", zstd(data)) for data in inputs]
    starts = [next(chunks) for chunks in running]
    assert decompress("zstd", zstd(TEXT)) == TEXT
    assert [start + b"".join(chunks) for start, chunks in zip(starts, running, strict=True)] == inputs


def test_threads_may_decompress_at_the_same_time() -> None:
    inputs = [prose(300_000, seed) for seed in range(4)]
    results: list[bool] = []

    def work(data: bytes) -> None:
        packed = zstd(data)
        results.extend(decompress("zstd", packed) == data for _ in range(20))

    threads = [threading.Thread(target=work, args=(data,)) for data in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


# --- snappy -----------------------------------------------------------------------------------------------------------


def test_a_snappy_length_bomb_is_refused_before_allocation() -> None:
    with pytest.raises(CodecError, match="declares 4 294 967 295 bytes, its input yields 170 at most"):
        decompress("snappy", b"\xff\xff\xff\xff\x0fabc", max_bytes=1 << 40)
    dense = b"\x80\x80\x80\x04" + b"\0a" + b"\xfe\x01\0" * ((8 * MIB - 1) // 64)
    with pytest.raises(OutputTooLarge):
        decompress("snappy", dense, max_bytes=MIB)


def test_the_densest_snappy_there_is_passes_the_plausibility_check() -> None:
    repeats = 100_000
    size = 1 + 64 * repeats
    varint = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, size >> 21])
    assert decompress("snappy", varint + b"\0a" + b"\xfe\x01\0" * repeats) == b"a" * size


@pytest.mark.parametrize("order", ["<", ">"])
def test_xerial_versions_may_have_either_byte_order(order: str) -> None:
    assert decompress("snappy_xerial", xerial(LONG, order=order)) == LONG


def test_concatenated_xerial_streams_are_read_to_the_end() -> None:
    assert decompress("snappy_xerial", xerial(TEXT) + xerial(b"", order="<") + xerial(LONG)) == TEXT + LONG


def test_a_xerial_chunk_length_that_only_starts_like_the_magic_is_an_error() -> None:
    output, error = salvage("snappy_xerial", xerial(TEXT) + b"\x82SNATCHED_______________")
    assert output == TEXT
    assert "no frame starts at byte" in str(error)


def test_xerial_chunks_share_one_bound() -> None:
    packed = xerial(bytes(4 * MIB), chunk=MIB)
    output, error = salvage("snappy_xerial", packed, max_bytes=2 * MIB + 5)
    assert (output, type(error)) == (bytes(2 * MIB), OutputTooLarge)


def test_xerial_vectors_of_other_clients(vectors: Path) -> None:
    def read(name: str) -> bytes:
        return (vectors / "kafka" / name).read_bytes()

    assert decompress("snappy_xerial", read("franz-go/xerial_ok.bin")) == b"Hello, World!"
    assert decompress("snappy_xerial", read("aiokafka/snappy_xerial_blocks300.bin")) == b"SNAPPY" * 50 + b"XERIAL" * 50
    for name in ("xerial_too_short", "xerial_truncated", "snappy_framed_not_xerial"):
        with pytest.raises(CodecError):
            decompress("snappy_xerial", read(f"franz-go/{name}.bin"))
    bomb = read("rskafka/fuzz_java_snappy_oom.body.bin")[40:]  # the body starts at the batch's byte 21, records at 61
    assert kafka_codec("snappy", 2, bomb) == "snappy_xerial"
    with pytest.raises(CodecError, match="ends inside a frame: 4 227 860 745 bytes due"):
        decompress("snappy_xerial", bomb)


# --- lz4 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize("size", [False, True])
@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
def test_lz4_reads_every_flag(*, linked: bool, checks: bool, size: bool, block_size: int) -> None:
    data = LONG * (8 if block_size == 7 else 1)
    packed = lz4_frame(data, linked=linked, checks=checks, size=size, block_size=block_size)
    assert decompress("lz4", packed) == data
    if not linked:
        assert decompress("lz4_kafka", packed) == data


def test_lz4_reads_all_frames_and_kafka_only_the_first() -> None:
    frames = lz4_frame(TEXT) + struct.pack("<II", 0x184D2A50, 3) + b"..." + lz4_frame(LONG, checks=True)
    assert decompress("lz4", frames) == TEXT + LONG
    assert decompress("lz4_kafka", frames) == TEXT
    assert decompress("lz4_kafka", lz4_frame(TEXT) + b"rubbish") == TEXT
    assert salvage("lz4", lz4_frame(TEXT) + b"rubbish")[0] == TEXT
    with pytest.raises(CodecError, match="no frame starts at byte"):
        decompress("lz4", lz4_frame(TEXT) + b"rubbish")


def test_kafka_refuses_linked_blocks_and_dictionaries() -> None:
    for packed in (lz4_frame(LONG, linked=True), bytes.fromhex("04224d18 6140 00000000 00 00000000")):
        for codec in ("lz4_kafka", "lz4_legacy_checksum"):
            with pytest.raises(CodecError, match="Kafka refuses linked blocks and dictionaries"):
                decompress(codec, packed)


def test_kafka_does_not_compare_content_size_and_content_checksum() -> None:
    packed = lz4_frame(TEXT, checks=True)
    wrong = packed[:-1] + bytes([packed[-1] ^ 1])
    assert decompress("lz4_kafka", wrong) == TEXT
    assert salvage("lz4", wrong)[0] == TEXT
    with pytest.raises(CodecError, match="contentChecksum"):
        decompress("lz4", wrong)
    sized = lz4_frame(TEXT, size=True)
    longer = sized[:6] + struct.pack("<Q", len(TEXT) + 1) + sized[14:]
    assert decompress("lz4_legacy_checksum", longer) == TEXT


def test_the_wrong_header_checksum_of_kafka_magic_0_is_ignored_there_and_only_there() -> None:
    right, wrong = lz4_frame(TEXT), lz4_v0(TEXT)
    assert (right[:7].hex(), wrong[:7].hex()) == ("04224d18604082", "04224d1860401a")  # KAFKA-3160
    assert decompress("lz4_legacy_checksum", right) == decompress("lz4_legacy_checksum", wrong) == TEXT
    for codec in ("lz4", "lz4_kafka"):
        with pytest.raises(CodecError, match="headerChecksum"):
            decompress(codec, wrong)


def test_any_header_checksum_is_ignored_also_behind_a_content_size() -> None:
    for length in (1, 255, 256, 70_000):
        packed = bytearray(lz4_frame(LONG[:length], size=True, checks=True))
        packed[14] ^= 0xFF
        assert decompress("lz4_legacy_checksum", packed) == LONG[:length]


def test_an_lz4_block_may_expand_255_times() -> None:
    packed = lz4.block.compress(bytes(20 * MIB), store_size=False)
    assert len(packed) * 250 < 20 * MIB
    assert decompress("lz4_block", packed) == decompress("lz4_block", packed, max_bytes=20 * MIB) == bytes(20 * MIB)
    with pytest.raises(CodecError, match="or holds more than 20 971 519 bytes"):
        decompress("lz4_block", packed, max_bytes=20 * MIB - 1)


def test_an_lz4_size_prefix_is_checked_before_allocation_and_after_decoding() -> None:
    packed = lz4.block.compress(TEXT)
    with pytest.raises(CodecError, match="declares 4 294 967 295 bytes, its input yields"):
        decompress("lz4_sized_block", b"\xff\xff\xff\xff" + packed[4:], max_bytes=1 << 40)
    with pytest.raises(CodecError, match="declares 701 bytes and holds 700"):
        decompress("lz4_sized_block", struct.pack("<I", 701) + packed[4:])
    with pytest.raises(OutputTooLarge):
        decompress("lz4_sized_block", packed, max_bytes=699)


# --- which codec ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compression", "magic", "payload", "codec"),
    [
        ("none", 2, b"", "none"),
        ("gzip", 0, gzip.compress(b"", mtime=0), "gzip"),
        ("snappy", 1, snappy(TEXT), "snappy"),
        ("snappy", 1, xerial(TEXT), "snappy_xerial"),
        ("snappy", 2, b"", "snappy"),
        ("lz4", 0, lz4_v0(TEXT), "lz4_legacy_checksum"),
        ("lz4", 1, lz4_frame(TEXT), "lz4_kafka"),
        ("lz4", 2, lz4_frame(TEXT), "lz4_kafka"),
        ("zstd", 2, zstd(TEXT), "zstd"),
    ],
)
def test_kafka_codec_follows_magic_and_content(compression: str, magic: int, payload: bytes, codec: str) -> None:
    assert kafka_codec(compression, magic, payload) == kafka_codec(compression, magic, memoryview(payload)) == codec


def test_kafka_refuses_zstd_before_magic_2_and_what_it_does_not_know() -> None:
    for magic in (0, 1):
        with pytest.raises(CodecError, match="KIP-110"):
            kafka_codec("zstd", magic, zstd(TEXT))
    with pytest.raises(CodecError, match="Kafka has no compression 'lzma'"):
        kafka_codec("lzma", 2, b"")


def test_rbak_codec_tells_a_frame_from_a_sized_block() -> None:
    assert rbak_codec("lz4", lz4_frame(TEXT, linked=True)) == "lz4"
    assert rbak_codec("lz4", lz4.block.compress(TEXT)) == "lz4_sized_block"
    assert [rbak_codec(name, b"") for name in ("none", "zstd")] == ["none", "zstd"]
    with pytest.raises(CodecError, match="RBAK has no compression 'gzip'"):
        rbak_codec("gzip", b"")


# --- damage -----------------------------------------------------------------------------------------------------------


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


# --- bombs ------------------------------------------------------------------------------------------------------------


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


# --- what Kafka itself wrote and reads --------------------------------------------------------------------------------


def payload(log: bytes, at: int) -> tuple[int, int, bytes]:
    """Magic, codec bits and (still compressed) records of the batch or wrapper message at `at`."""
    end = at + 12 + int.from_bytes(log[at + 8 : at + 12], "big")
    magic = log[at + 16]
    if magic == 2:
        return magic, log[at + 22] & 7, log[at + 61 : end]
    key = at + (18 if magic == 0 else 26)
    value = key + 4 + max(0, int.from_bytes(log[key : key + 4], "big", signed=True))
    return magic, log[at + 17] & 7, log[value + 4 : end]


@pytest.mark.parametrize("folder", ["crafted-codec-framing", "crafted-legacy", "java-kafka-clients-4.3.0"])
def test_batches_hold_the_values_that_kafka_reads_from_them(vectors: Path, folder: str) -> None:
    seen = 0
    for path in sorted((vectors / "kafka" / folder).glob("*.log")):
        log = path.read_bytes()
        for batch in json.loads(path.with_suffix(".expected.json").read_text())["batches"]:
            magic, code, packed = payload(log, batch["position"])
            if not batch["valid"] or magic > 2 or not code or not batch["records"]:
                continue
            codec = kafka_codec(KAFKA_COMPRESSION[code], magic, packed)
            records, at = decompress(codec, packed), 0
            for record in batch["records"]:
                value = bytes.fromhex(record["value"] or "")
                at = records.index(value, at) + len(value)
            seen += 1
    assert seen >= 4


def test_linked_lz4_blocks_are_refused_as_kafka_does(vectors: Path) -> None:
    log = (vectors / "kafka" / "crafted-codec-framing" / "v2_lz4_linked_blocks.log").read_bytes()
    with pytest.raises(CodecError, match="linked blocks"):
        decompress("lz4_kafka", payload(log, 0)[2])
    assert decompress("lz4", payload(log, 0)[2])


# --- in memory that is used again -------------------------------------------------------------------------------------

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


# --- the end of memory ------------------------------------------------------------------------------------------------


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
