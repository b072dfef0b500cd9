"""The least that reading some bytes can cost."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pyarrow as pa
import pyarrow.compute as pc
import zstandard
from crc32c import crc32c

from tools.bench.measure import Contender, Read

WITH_CRC32C = "CRC-32C by the package crc32c, then memcpy to memory in use"
WITH_CRC32 = "CRC-32 by zlib, then memcpy to memory in use"


def checksum_and_copy(*, is_crc32c: bool = True) -> Contender:
    """One checksum over all bytes and one copy of them."""
    name = "floor: crc32c + memcpy" if is_crc32c else "floor: crc32 + memcpy"
    note = WITH_CRC32C if is_crc32c else WITH_CRC32
    return Contender(name, lambda: _checksum_and_copy(crc32c if is_crc32c else zlib.crc32), note=note)


def _checksum_and_copy(checksum: Callable[[bytes], int]) -> Read:
    target = bytearray()

    def read(data: bytes) -> None:
        nonlocal target
        if len(target) != len(data):
            target = bytearray(data)
        checksum(data)
        memoryview(target)[:] = data

    return read


DECOMPRESSORS: dict[str, Callable[[memoryview], bytes | memoryview]] = {
    "none": lambda data: data,
    "lz4": lz4.frame.decompress,
    "zstd": zstandard.ZstdDecompressor().decompress,
    "lz4 by cramjam": lambda data: memoryview(cramjam.lz4.decompress(data)),
    "zstd by cramjam": lambda data: memoryview(cramjam.zstd.decompress(data)),
}


def decompress_checksum_and_copy(compression: str) -> Contender:
    """What no reader of Kafka's batches can leave out: the checksum of each, its decompression and one copy."""
    name = "floor: crc32c + memcpy" if compression == "none" else f"floor: {compression} + crc32c + memcpy"
    note = "batch by batch; no record is looked at"
    return Contender(name, lambda: _read_batches(DECOMPRESSORS[compression]), note=note)


def _read_batches(decompress: Callable[[memoryview], bytes | memoryview]) -> Read:
    target = bytearray(b"\1" * (8 << 20))

    def read(data: bytes) -> None:
        view, at = memoryview(data), 0
        while at < len(view):
            end = at + 12 + int.from_bytes(view[at + 8 : at + 12], "big")
            crc32c(view[at + 21 : end])
            records = decompress(view[at + 61 : end])
            memoryview(target)[: len(records)] = records
            at = end

    return read


def copy_of_heads(unit: int, head: int) -> Contender:
    """One copy of the first bytes of every unit, where someone has said that all units have one size."""

    def read(data: bytes) -> int:
        units = pa.Array.from_buffers(pa.binary(unit), len(data) // unit, [None, pa.py_buffer(data)])
        return len(pc.binary_slice(units, 0, head))

    note = f"Arrow's binary_slice: the first {head} of every {unit} bytes, nothing read or checked"
    return Contender("floor: copy of heads", lambda: read, note=note)
