"""Contenders for RBF, Borg and RBAK: units of a head that says how long the rest is."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Any

from crc32c import crc32c

from tools.bench.measure import Contender
from tools.bench.parsers import Compile, agree, at_end, by_construct, by_ksc, by_loop

UINT32 = struct.Struct("<I")


def rbf_contenders() -> list[Contender]:
    """Readers of RBF frames that check all of the framing and the CRC."""
    return [
        by_ksc("rbf_file::entry", 20, lambda row: _agree_frame(row.frame.body)),
        by_construct(_compiled_frames, 20),
        by_loop(_frames_by_loop),
    ]


def _agree_frame(body: Any) -> None:
    agree(crc32c(body.crc32c_input), body.crc32c)


def _compiled_frames(compiled: Compile) -> Callable[[io.BytesIO], Iterator[object]]:
    frames = compiled("rbf")

    def rows(stream: io.BytesIO) -> Iterator[object]:
        data = stream.getbuffer()
        while not at_end(stream):
            frame = frames.parse_stream(stream)
            if frame.status != [frame.last_status] * len(frame.status):
                raise ValueError("the status bytes differ")
            agree(crc32c(data[frame.start + 4 : frame.start + frame.len_frame - 4]), frame.crc32c)
            yield frame

    return rows


FRAME_HEAD = struct.Struct("<II")
FRAME_TAIL = struct.Struct("<II4s")


def _frames_by_loop(data: bytes) -> Iterator[object]:
    position = 0
    while position < len(data):
        size, tag = FRAME_HEAD.unpack_from(data, position)
        end = position + size
        last = data[end - 9]
        start_of_status = end - 9 - (last & 3)
        len_tail, crc, fence = FRAME_TAIL.unpack_from(data, end - 8)
        status = data[start_of_status : end - 8]
        if last & 0x7C or size % 4 or len_tail != size or fence != b"RBF1" or status != bytes([last]) * len(status):
            raise ValueError("the framing is wrong")
        agree(crc32c(data[position + 4 : end - 4]), crc)
        yield size, tag, last > 127, data[position + 8 : start_of_status], crc  # noqa: PLR2004 - the highest bit
        position = end + 4


def borg_contenders() -> list[Contender]:
    """Readers of the headers of Borg blobs."""
    return [by_ksc("borg_blob", 10), by_construct(_each("borg"), 10), by_loop(_blobs_by_loop)]


def _each(name: str) -> Callable[[Compile], Callable[[io.BytesIO], Iterator[object]]]:
    """Units of one description back to back."""

    def rows(compiled: Compile) -> Callable[[io.BytesIO], Iterator[object]]:
        units = compiled(name)

        def read(stream: io.BytesIO) -> Iterator[object]:
            while not at_end(stream):
                yield units.parse_stream(stream)

        return read

    return rows


BLOB_HEAD = struct.Struct("<8sB32sII")


def _blobs_by_loop(data: bytes) -> Iterator[object]:
    position = 0
    while position < len(data):
        magic, version, chunk_id, len_meta, len_data = BLOB_HEAD.unpack_from(data, position)
        if magic != b"BORG_OBJ" or version not in {1, 2}:
            raise ValueError("no blob")
        yield version, chunk_id, len_meta, len_data
        position += BLOB_HEAD.size + len_meta + len_data


def rbak_contenders() -> list[Contender]:
    """Readers of the documents of an RBAK payload; none of them looks into the JSON."""
    return [by_ksc("rbak_payload::record", 10), by_construct(_each("rbak"), 10), by_loop(_documents_by_loop)]


def _documents_by_loop(data: bytes) -> Iterator[object]:
    position = 0
    while position < len(data):
        (size,) = UINT32.unpack_from(data, position)
        position += 4
        yield size, data[position : position + size]
        position += size
