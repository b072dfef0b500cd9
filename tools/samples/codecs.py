"""Compressed bytes that do not depend on a library: every codec's framing, described with `construct`.

Data is stored, or compressed by a fixed rule, not by a library. Golden files keep their bytes when a new release of
zstandard, lz4, zlib or snappy finds other matches.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from construct import (
    Aligned,
    Bit,
    BitsInteger,
    BitStruct,
    Byte,
    Bytes,
    ByteSwapped,
    Checksum,
    Const,
    Enum,
    Flag,
    GreedyBytes,
    GreedyRange,
    If,
    IfThenElse,
    Int16ub,
    Int16ul,
    Int32sb,
    Int32ub,
    Int32ul,
    Nibble,
    Padding,
    Prefixed,
    PrefixedArray,
    RawCopy,
    Rebuild,
    RepeatUntil,
    Struct,
    VarInt,
    len_,
    obj_,
    sum_,
    this,
)

# RFC 8878. No Frame_Content_Size: zstd's streaming encoder omits it unless a size is pledged. Window_Descriptor 0x58
# (2 MiB) is that of its default level 3.
ZSTD_BLOCK_MAX = 128 * 1024
ZSTD_BLOCK = Struct(
    "header"
    / ByteSwapped(
        BitStruct(
            "Block_Size" / BitsInteger(21),
            "Block_Type" / Enum(BitsInteger(2), Raw_Block=0, RLE_Block=1, Compressed_Block=2),
            "Last_Block" / Flag,
        )
    ),
    "content" / IfThenElse(this.header.Block_Type == "RLE_Block", Bytes(1), Bytes(this.header.Block_Size)),
)
ZSTD_FRAME = Struct(
    "Magic_Number" / Const(0xFD2FB528, Int32ul),
    "Frame_Header_Descriptor" / Const(b"\x00"),
    "Window_Descriptor" / Const(b"\x58"),
    "blocks" / RepeatUntil(obj_.header.Last_Block, ZSTD_BLOCK),
)

# LZ4 frame format: version 01, independent blocks of at most 64 KiB, no checksums of the data.
# HC is the second byte of xxh32(FLG, BD), which is constant here.
LZ4_FRAME_BLOCK_MAX = 64 * 1024
LZ4_FRAME_BLOCK = Struct(
    "size" / ByteSwapped(BitStruct("is_uncompressed" / Const(1, Bit), "length" / BitsInteger(31))),
    "data" / Bytes(this.size.length),
)
LZ4_FRAME = Struct(
    "magic" / Const(0x184D2204, Int32ul),
    "FLG" / Const(b"\x60"),
    "BD" / Const(b"\x40"),
    "HC" / Const(b"\x82"),
    "blocks" / GreedyRange(LZ4_FRAME_BLOCK),
    "EndMark" / Const(0, Int32ul),
)

# LZ4 block format: sequences of literals and a copy of earlier bytes; the last one has no copy.
# A length of 15 in the token continues in bytes of 255 and one smaller byte.
LZ4_MIN_MATCH = 4
LZ4_LAST_LITERALS = 5
LZ4_NO_MATCH_TAIL = 12
LZ4_MAX_OFFSET = 0xFFFF
LZ4_TOKEN_MAX = 15
LZ4_GOES_ON = 255
LZ4_LENGTH_REST = RepeatUntil(obj_ < LZ4_GOES_ON, Byte)
LZ4_LITERALS = Struct(
    "token" / BitStruct("literal_length" / Nibble, "match_length" / Nibble),
    "literal_length_rest" / If(this.token.literal_length == LZ4_TOKEN_MAX, LZ4_LENGTH_REST),
    "literals"
    / IfThenElse(
        this.token.literal_length == LZ4_TOKEN_MAX,
        Bytes(LZ4_TOKEN_MAX + sum_(this.literal_length_rest)),
        Bytes(this.token.literal_length),
    ),
)
LZ4_MATCH = Struct("offset" / Int16ul, "match_length_rest" / If(this._.is_long, LZ4_LENGTH_REST))
LZ4_SIZED_BLOCK = Struct("uncompressed_size" / Int32ul, "block" / GreedyBytes)

# RFC 1952 around the stored blocks of RFC 1951. OS 255 is "unknown".
DEFLATE_BLOCK_MAX = 0xFFFF
DEFLATE_BLOCK = Struct(
    "header" / BitStruct("padding" / Const(0, BitsInteger(5)), "BTYPE" / Const(0, BitsInteger(2)), "BFINAL" / Flag),
    "LEN" / Rebuild(Int16ul, len_(this.data)),
    "NLEN" / Rebuild(Int16ul, 0xFFFF - len_(this.data)),
    "data" / Bytes(this.LEN),
)
GZIP_MEMBER = Struct(
    "ID" / Const(b"\x1f\x8b"),
    "CM" / Const(b"\x08"),
    "FLG" / Const(b"\x00"),
    "MTIME" / Const(0, Int32ul),
    "XFL" / Const(b"\x00"),
    "OS" / Const(b"\xff"),
    "blocks" / RepeatUntil(obj_.header.BFINAL, DEFLATE_BLOCK),
    "CRC32" / Int32ul,
    "ISIZE" / Int32ul,
)

# RFC 1950: 32 KiB window, no dictionary, "fastest" (what level 0 and 1 write).
ZLIB = Struct(
    "CMF" / Const(b"\x78"),
    "FLG" / Const(b"\x01"),
    "blocks" / RepeatUntil(obj_.header.BFINAL, DEFLATE_BLOCK),
    "ADLER32" / Int32ub,
)

# The .xz file format with one block of uncompressed LZMA2 chunks and no integrity check, as borg requests (CHECK_NONE).
# The first chunk resets the dictionary.
LZMA2_CHUNK_MAX = 64 * 1024
LZMA2_CHUNK = Struct(
    "control" / Enum(Byte, end=0, reset_and_uncompressed=1, uncompressed=2),
    "size_minus_1" / If(this.control != "end", Rebuild(Int16ub, len_(this.data) - 1)),
    "data" / If(this.control != "end", Bytes(this.size_minus_1 + 1)),
)
XZ_STREAM_FLAGS = Const(b"\x00\x00")
XZ_BLOCK_HEADER = Struct(
    "size_in_words_minus_1" / Const(2, Byte),
    "flags" / Const(b"\x00"),
    "filter_id" / Const(0x21, Byte),
    "filter_properties" / Prefixed(Byte, Const(b"\x16")),
    "padding" / Padding(3),
)
XZ_INDEX = Aligned(
    4,
    Struct(
        "indicator" / Const(b"\x00"),
        "records" / PrefixedArray(VarInt, Struct("unpadded_size" / VarInt, "uncompressed_size" / VarInt)),
    ),
)
XZ_FOOTER = Struct("index_size_in_words_minus_1" / Int32ul, "flags" / XZ_STREAM_FLAGS)
XZ = Struct(
    "magic" / Const(b"\xfd7zXZ\x00"),
    "flags" / XZ_STREAM_FLAGS,
    "flags_CRC32" / Const(zlib.crc32(XZ_STREAM_FLAGS.build(None)), Int32ul),
    "block_header" / XZ_BLOCK_HEADER,
    "block_header_CRC32" / Const(zlib.crc32(XZ_BLOCK_HEADER.build({})), Int32ul),
    "chunks" / Aligned(4, RepeatUntil(obj_.control == "end", LZMA2_CHUNK)),
    "index" / RawCopy(XZ_INDEX),
    "index_CRC32" / Checksum(Int32ul, zlib.crc32, this.index.data),
    "footer_CRC32" / Int32ul,
    "footer" / XZ_FOOTER,
    "footer_magic" / Const(b"YZ"),
)

# Snappy: the length, then elements. The tag of a literal holds its length minus one up to 59; 61 means that two bytes
# with it follow.
SNAPPY_LITERAL_MAX = 64 * 1024
SNAPPY_TAG_MAX = 59
SNAPPY_TWO_BYTES = 61
SNAPPY_LITERAL = Struct(
    "tag" / BitStruct("length_minus_1" / BitsInteger(6), "type" / Const(0, BitsInteger(2))),
    "length_minus_1" / If(this.tag.length_minus_1 == SNAPPY_TWO_BYTES, Int16ul),
    "data"
    / IfThenElse(
        this.tag.length_minus_1 == SNAPPY_TWO_BYTES, Bytes(this.length_minus_1 + 1), Bytes(this.tag.length_minus_1 + 1)
    ),
)
SNAPPY = Struct("uncompressed_length" / VarInt, "elements" / GreedyRange(SNAPPY_LITERAL))

# The framing of xerial's snappy-java: big endian, around raw blocks.
SNAPPY_XERIAL = Struct(
    "magic" / Const(b"\x82SNAPPY\x00"),
    "version" / Const(1, Int32sb),
    "compatible_version" / Const(1, Int32sb),
    "chunks" / GreedyRange(Prefixed(Int32sb, GreedyBytes)),
)


def zstd_stored(*chunks: bytes) -> bytes:
    """One zstd frame with a raw block for each chunk, without a content size."""
    return _zstd_frame([("Raw_Block", len(chunk), chunk) for chunk in chunks])


def zstd_rle(byte: int, count: int) -> bytes:
    """One zstd frame of `count` times `byte` in run-length blocks, without a content size."""
    sizes = [min(count - done, ZSTD_BLOCK_MAX) for done in range(0, count, ZSTD_BLOCK_MAX)]
    return _zstd_frame([("RLE_Block", size, bytes([byte])) for size in sizes])


def _zstd_frame(blocks: list[tuple[str, int, bytes]]) -> bytes:
    blocks = blocks or [("Raw_Block", 0, b"")]
    if max(size for _, size, _ in blocks) > ZSTD_BLOCK_MAX:
        raise ValueError(f"a zstd block holds at most {ZSTD_BLOCK_MAX} bytes; pass several chunks")
    last = len(blocks) - 1
    return _build(
        ZSTD_FRAME,
        blocks=[
            {"header": {"Block_Size": size, "Block_Type": kind, "Last_Block": index == last}, "content": content}
            for index, (kind, size, content) in enumerate(blocks)
        ],
    )


def lz4_frame_stored(*chunks: bytes) -> bytes:
    """One LZ4 frame of uncompressed blocks: one for each chunk, more for a chunk above 64 KiB."""
    parts = [part for chunk in chunks for part in _split(chunk, LZ4_FRAME_BLOCK_MAX)]
    return _build(LZ4_FRAME, blocks=[{"size": {"length": len(part)}, "data": part} for part in parts])


def lz4_block(data: bytes) -> bytes:
    """A raw LZ4 block; a repeat of four bytes or more becomes a copy of the latest occurrence."""
    block, done = b"", 0
    for start, length, offset in _lz4_matches(data):
        block += _lz4_literals(data[done:start], length - LZ4_MIN_MATCH)
        rest = _lz4_length_rest(length - LZ4_MIN_MATCH)
        block += LZ4_MATCH.build({"offset": offset, "match_length_rest": rest}, is_long=rest is not None)
        done = start + length
    return block + _lz4_literals(data[done:], 0)


def lz4_sized_block(data: bytes) -> bytes:
    """A raw LZ4 block after its uncompressed size, as `lz4_flex::compress_prepend_size` writes it."""
    return _build(LZ4_SIZED_BLOCK, uncompressed_size=len(data), block=lz4_block(data))


def _lz4_matches(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Start, length and offset of each copy; the block's end rules keep the tail literal."""
    places: dict[bytes, int] = {}
    free = 0
    for start in range(len(data) - LZ4_NO_MATCH_TAIL + 1):
        word = data[start : start + LZ4_MIN_MATCH]
        earlier = places.get(word)
        places[word] = start
        if earlier is None or start < free or start - earlier > LZ4_MAX_OFFSET:
            continue
        length = LZ4_MIN_MATCH
        while start + length < len(data) - LZ4_LAST_LITERALS and data[earlier + length] == data[start + length]:
            length += 1
        free = start + length
        yield start, length, start - earlier


def _lz4_literals(literals: bytes, match_length: int) -> bytes:
    token = {
        "literal_length": min(len(literals), LZ4_TOKEN_MAX),
        "match_length": min(match_length, LZ4_TOKEN_MAX),
    }
    return _build(LZ4_LITERALS, token=token, literal_length_rest=_lz4_length_rest(len(literals)), literals=literals)


def _lz4_length_rest(length: int) -> list[int] | None:
    """The length bytes after the token; None if the token holds the length."""
    if length < LZ4_TOKEN_MAX:
        return None
    full, rest = divmod(length - LZ4_TOKEN_MAX, LZ4_GOES_ON)
    return [LZ4_GOES_ON] * full + [rest]


def gzip_stored(*members: bytes) -> bytes:
    """A gzip member of stored blocks for each of `members`, without a time or a name."""
    return b"".join(_gzip_member(member) for member in members)


def _gzip_member(data: bytes) -> bytes:
    return _build(GZIP_MEMBER, blocks=_deflate_blocks(data), CRC32=zlib.crc32(data), ISIZE=len(data))


def zlib_stored(data: bytes) -> bytes:
    """One zlib stream of stored blocks."""
    return _build(ZLIB, blocks=_deflate_blocks(data), ADLER32=zlib.adler32(data))


def _deflate_blocks(data: bytes) -> list[dict[str, object]]:
    parts = _split(data, DEFLATE_BLOCK_MAX) or [b""]
    last = len(parts) - 1
    return [{"header": {"BFINAL": index == last}, "data": part} for index, part in enumerate(parts)]


def xz_stored(data: bytes) -> bytes:
    """One .xz stream whose only block stores the data, without an integrity check."""
    chunks: list[dict[str, object]] = [
        {"control": "uncompressed" if index else "reset_and_uncompressed", "data": part}
        for index, part in enumerate(_split(data, LZMA2_CHUNK_MAX))
    ]
    chunks.append({"control": "end", "data": None})
    unpadded = XZ_BLOCK_HEADER.sizeof() + 4 + len(LZMA2_CHUNK[len(chunks)].build(chunks))
    index = {"records": [{"unpadded_size": unpadded, "uncompressed_size": len(data)}]}
    footer = {"index_size_in_words_minus_1": len(XZ_INDEX.build(index)) // 4}
    footer_crc = zlib.crc32(XZ_FOOTER.build(footer))
    return _build(XZ, chunks=chunks, index={"value": index}, footer_CRC32=footer_crc, footer=footer)


def snappy_raw(data: bytes) -> bytes:
    """A raw snappy block of literals."""
    return _build(
        SNAPPY,
        uncompressed_length=len(data),
        elements=[_snappy_literal(part) for part in _split(data, SNAPPY_LITERAL_MAX)],
    )


def _snappy_literal(data: bytes) -> dict[str, object]:
    length = len(data) - 1
    tag = length if length <= SNAPPY_TAG_MAX else SNAPPY_TWO_BYTES
    return {"tag": {"length_minus_1": tag}, "length_minus_1": length, "data": data}


def snappy_xerial(*chunks: bytes) -> bytes:
    """A snappy block for each chunk, in the framing of snappy-java."""
    return _build(SNAPPY_XERIAL, chunks=[snappy_raw(chunk) for chunk in chunks])


def _split(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def _build(spec: Struct, **values: object) -> bytes:
    return bytes(spec.build(values))
