"""Every codec reads what real compressors write, in every variant that the formats know."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import mmap
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import lz4.block
import lz4.frame
import pytest
import zstandard
from compressors import (
    CODECS,
    COMPRESS,
    KAFKA_COMPRESSION,
    LONG,
    MIB,
    TEXT,
    lz4_frame,
    lz4_v0,
    prose,
    salvage,
    snappy,
    xerial,
    xz,
    zstd,
)

from thawline.codecs import decompress, decompress_chunks
from thawline.errors import CodecError, FormatError, OutputTooLarge
from thawline.formats.kafka.records import codec_of as kafka_codec
from thawline.formats.rbak.payload import codec_of as rbak_codec


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


FILLED = """
import resource, sys
from thawline import codecs
codec, data, room, held = sys.argv[1], sys.stdin.buffer.read(), codecs.Room(1 << 20), []
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + (4 << 20),) * 2)
for size in (1 << 20, 1 << 17, 1 << 14, 1 << 12, 600):
    try:
        while True:
            held.append(bytearray(size))
    except MemoryError:
        pass
del held[-int(sys.argv[2]):]
room.add(codec, data)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc says how much memory there is")
@pytest.mark.parametrize("codec", ["zstd", "snappy", "snappy_xerial", "lz4_kafka"])
def test_the_last_bytes_of_memory_are_an_error_and_no_crash(codec: str) -> None:
    data = COMPRESS[codec](LONG)
    if codec == "zstd":
        data = zstandard.ZstdCompressor(write_content_size=False).compress(LONG)
    for freed in (4, 20, 60, 200):
        command = [sys.executable, "-c", FILLED, codec, str(freed)]
        ran = subprocess.run(command, input=data, capture_output=True, check=False)
        assert ran.returncode >= 0, ran.stderr[-500:]  # no signal
