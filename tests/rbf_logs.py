"""RBF logs that are crafted, damaged and mutated, and what is expected of them.

Rows are expected from the document's reverse scan, findings from a list of minimal files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyarrow as pa
from accounts import golden_files

import thawline
from thawline.checksums import crc32c
from thawline.model import Finding, Run
from tools.bench import attack
from tools.bench.attack import FENCE, file_of, frame
from tools.mutants import mutants

LONGEST_MUTATED = 4096


# Bytes changed, and rows marked.


def suspects_of(data: bytes) -> list[tuple[bytes, bool]]:
    """Payload of each row, and whether it is marked."""
    with thawline.open(data, "rbf") as cold:
        rows = [row for batch in cold.batches(["payload", "nested_suspect"]) for row in batch.to_pylist()]
    return [(row["payload"], row["nested_suspect"]) for row in rows]


def patched(data: bytes, at: int, patch: bytes) -> bytes:
    return data[:at] + patch + data[at + len(patch) :]


def flipped(data: bytes, at: int) -> bytes:
    return patched(data, at, bytes([data[at] ^ 0x10]))


def u4(number: int) -> bytes:
    return number.to_bytes(4, "little")


# The reverse scan of the document.


def reverse_scan(data: bytes) -> Iterator[int]:  # noqa: C901 - it is kept as the document has it
    """Section 6.1, line by line: the start of every frame that passes, from the tail to the head."""
    genesis_len, fence_len, min_frame_len = 4, 4, 20
    file_length = len(data)
    if file_length < genesis_len:
        return
    if file_length == genesis_len:
        return
    fence_pos = align_down_4(file_length - fence_len)
    while fence_pos >= 0:
        if fence_pos == 0:
            break
        if data[fence_pos : fence_pos + 4] != FENCE:
            fence_pos -= 4
            continue
        record_end = fence_pos
        if record_end < genesis_len + min_frame_len:
            fence_pos -= 4
            continue
        tail_len = u32(data, record_end - 8)
        stored_crc = u32(data, record_end - 4)
        frame_start = record_end - tail_len
        if frame_start < genesis_len or frame_start % 4 != 0:
            fence_pos -= 4
            continue
        prev_fence_pos = frame_start - fence_len
        if prev_fence_pos < 0 or data[prev_fence_pos : prev_fence_pos + 4] != FENCE:
            fence_pos -= 4
            continue
        head_len = u32(data, frame_start)
        if head_len != tail_len or head_len % 4 != 0 or head_len < min_frame_len:
            fence_pos -= 4
            continue
        computed_crc = crc32c(data, frame_start + 4, record_end - 4)
        if computed_crc != stored_crc:
            fence_pos -= 4
            continue
        status_byte_offset = frame_start + head_len - 9
        status_byte = data[status_byte_offset]
        status_len = (status_byte & 0x03) + 1
        if status_byte & 0x7C != 0:
            fence_pos -= 4
            continue
        if any(data[status_byte_offset - i] != status_byte for i in range(1, status_len)):
            fence_pos -= 4
            continue
        yield frame_start
        fence_pos = prev_fence_pos


def align_down_4(x: int) -> int:
    return x - x % 4


def u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


Row = tuple[int, int, int, bytes, bool]
"""Address, length, tag, payload and whether it is a tombstone."""


def row_at(data: bytes, start: int) -> Row:
    """The frame at a place that the reverse scan yielded [F-STATUSLEN-REVERSE-FORMULA]."""
    length = u32(data, start)
    status = data[start + length - 9]
    end = start + length - 8 - ((status & 3) + 1)
    return start, length, u32(data, start + 4), data[start + 8 : end], bool(status & 0x80)


def expected_rows(data: bytes) -> list[Row]:
    return [row_at(data, start) for start in reversed(list(reverse_scan(data)))]


def rows_of(batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch]) -> list[Row]:
    names = ("address", "length", "tag", "payload", "tombstone")
    return [tuple(row[name] for name in names) for batch in batches for row in batch.to_pylist()]  # type: ignore[misc]


def rows_read(data: bytes) -> list[Row]:
    with thawline.open(data, "rbf") as cold:
        return rows_of(cold.batches())


def items_of(data: bytes) -> list[Run | Finding]:
    with thawline.open(data, "rbf") as cold:
        cold.verify()  # the spans tile the file
        return list(cold.scan())


def findings_of(data: bytes) -> list[Finding]:
    return [item for item in items_of(data) if isinstance(item, Finding)]


def codes_of(data: bytes) -> list[str]:
    return [finding.code.id for finding in findings_of(data)]


def straddling(behind: bytes = b"behind A", lead: bytes = b"") -> bytes:
    """A file whose frame F starts inside the payload of the intact frame A and ends behind A's fence."""
    around = 8 + len(lead)
    for_size = frame(lead + FENCE + bytes(4) + b"FTAG" + b"in A", tag=0xA)
    num_status = 4 - len(behind) % 4
    size = len(for_size) - around - 4 + 4 + len(behind) + num_status + 8
    a = frame(lead + FENCE + u4(size) + b"FTAG" + b"in A", tag=0xA)
    covered = a[around + 8 :] + FENCE + behind + bytes([num_status - 1]) * num_status + u4(size)
    return file_of(frame(b"before", 1), a) + covered[len(a) - around - 4 :] + u4(crc32c(covered)) + FENCE


ONE, TWO, DEAD = frame(b"one", 1), frame(b"second", 2), frame(b"gone!", 3, is_tombstone=True)
INNER = file_of(frame(b"inner one", 10), frame(b"inner two!!", 11))
OUTER = frame(b"payload " + INNER + b"end.", 5)
NESTED = file_of(ONE, OUTER, TWO)
OUTER_AT = 4 + len(ONE) + 4

CRAFTED = {
    "empty": b"",
    "1 byte": b"R",
    "3 bytes": b"RBF",
    "4 bytes": FENCE,
    "4 other bytes": b"????",
    "5 bytes": FENCE + b"?",
    "genesis twice": FENCE * 2,
    "many": file_of(*(frame(bytes(index), index, is_tombstone=index % 3 == 0) for index in range(40))),
    "double fences": FENCE * 3 + ONE + FENCE * 2 + TWO + FENCE * 4 + DEAD + FENCE * 2,
    "nested": NESTED,
    "nested twice": file_of(frame(file_of(frame(INNER, 6), ONE), 7), TWO),
    "nested, outer damaged": flipped(NESTED, OUTER_AT + 9),
    "nested, outer torn": NESTED[: OUTER_AT + len(OUTER) - 10],
    "nested, outer unfenced": NESTED[: OUTER_AT + len(OUTER)],
    "nested, cut behind an inner fence": NESTED[: OUTER_AT + 16 + len(INNER)],
    "nested, HeadLen damaged": flipped(NESTED, OUTER_AT),
    "nested, genesis lost": flipped(file_of(OUTER, TWO), 0),
    "straddling": straddling(),
    "straddling a second frame": straddling(TWO + FENCE),
    "straddling from further inside": straddling(b"?", lead=INNER),
    "straddling, then damage": straddling() + ONE + b"????" + TWO + FENCE,
    "misaligned garbage": file_of(ONE) + b"?????" + FENCE + TWO + FENCE,
    "misaligned, then aligned": file_of(ONE) + b"?????" + TWO + FENCE + b"???" + FENCE + DEAD + FENCE,
    "appended to a torn file": file_of(ONE, TWO)[:-12] + DEAD + FENCE + ONE + FENCE,
    "wrong fence in between": flipped(file_of(ONE, TWO, DEAD), 4 + len(ONE)),
    "nested pairs": attack.nested_pairs(500),
    "nested pairs, wrong status": attack.nested_pairs(500, attack.WRONG_STATUS),
    "nested pairs, no status": attack.nested_pairs(500, b""),
    "nested pairs around frames": attack.nested_around_frames(500),
    "long claims": attack.long_claims(500),
    "speckled": attack.speckled(500),
    "fences": FENCE * 200,
    "zeros": FENCE + bytes(800),
}


@cache
def originals() -> list[bytes]:
    """What is mutated: crafted and golden files."""
    golden = [golden.data for golden in golden_files("rbf") if golden.file.suffix == ".rbf"]
    return [data for data in (*CRAFTED.values(), *golden) if len(data) <= LONGEST_MUTATED]


def mutated(seed: int, count: int) -> Iterator[bytes]:
    for index, data in enumerate(originals()):
        yield from mutants(data, 1000 * seed + index, -(-count // len(originals())))


def check(data: bytes) -> None:
    """Rows are those of the reverse scan, spans tile the file, and the report counts the same rows."""
    expected = expected_rows(data)
    with thawline.open(data, "rbf") as cold:
        assert rows_of(cold.batches()) == expected, data.hex()
        assert cold.verify().rows == len(expected)


# A minimal file for each finding.

Expected = tuple[str, int, int, dict[str, object]]


def whole(*expected: Expected) -> list[Expected]:
    return list(expected)


LOST_ONE = {"lost": r"1 frame with tag 0x00000001, 20 bytes"}


def torn(left: int) -> dict[str, object]:
    return {"left": left, "lost": f"the last frame, of which {left} bytes are there"}


FIRST, SECOND = 4, 4 + len(ONE) + 4
END = SECOND + len(TWO) + 4
PAIR = file_of(ONE, TWO)
V40 = FENCE + u4(24) + b"pay!" + u4(0) + u4(0x11223344) + u4(1) + u4(24) + FENCE

MINIMAL: dict[str, tuple[bytes, list[Expected]]] = {
    "genesis lost": (
        flipped(PAIR, 0),
        whole(("RBF101", 0, 4, {}), ("RBF110", 4, SECOND, LOST_ONE)),
    ),
    "torn tail": (
        PAIR[:-8],
        whole(("RBF102", SECOND, END - 8, {"claimed": len(TWO), **torn(20)})),
    ),
    "torn inside HeadLen": (
        file_of(ONE) + b"\x18\x00",
        whole(("RBF102", SECOND, SECOND + 2, {"claimed": 0, **torn(2)})),
    ),
    "unfenced": (PAIR[:-4], whole(("RBF103", SECOND, END - 4, {"lost": "1 frame with tag 0x00000002, 24 bytes"}))),
    "unfenced by one byte": (PAIR[:-1], whole(("RBF103", SECOND, END - 1, {}))),
    "fence damaged": (
        flipped(file_of(ONE, TWO, DEAD), SECOND - 2),
        whole(("RBF103", FIRST, SECOND, LOST_ONE), ("RBF110", SECOND, END, {})),
    ),
    "checksum": (
        flipped(PAIR, FIRST + 8),
        whole(("RBF104", FIRST, SECOND, {"crc_stored": u32(ONE, 16), **LOST_ONE})),
    ),
    "two checksums": (
        flipped(flipped(PAIR, FIRST + 8), SECOND + 8),
        whole(("RBF104", FIRST, SECOND, LOST_ONE), ("RBF104", SECOND, END, {})),
    ),
    "reserved status bits": (
        patched(PAIR, FIRST + 11, b"\x04"),
        whole(("RBF105", FIRST, SECOND, {"at": FIRST + 11, **LOST_ONE})),
    ),
    "TailLen": (
        flipped(PAIR, FIRST + 12),
        whole(("RBF105", FIRST, SECOND, {"at": FIRST + 12, **LOST_ONE})),
    ),
    "garbage behind a fence": (
        file_of(ONE) + b"garbage",
        whole(("RBF105", SECOND, SECOND + 7, {"at": SECOND})),
    ),
    "HeadLen": (flipped(PAIR, FIRST), whole(("RBF106", FIRST, SECOND, LOST_ONE))),
    "HeadLen of a frame that would then end at the next fence": (
        patched(file_of(ONE, ONE, ONE), FIRST, u4(2 * len(ONE) + 4)),
        whole(("RBF106", FIRST, SECOND, LOST_ONE)),
    ),
    "HeadLen beyond the end": (
        patched(PAIR, FIRST, u4(1 << 20)),
        whole(("RBF106", FIRST, SECOND, LOST_ONE)),
    ),
    "extra fences": (
        FENCE + PAIR + FENCE * 2,
        whole(("RBF107", 4, 8, {"fences": 1}), ("RBF107", END + 4, END + 12, {"fences": 2})),
    ),
    "fence and checksum": (
        flipped(FENCE + PAIR, 4 + FIRST + 8),
        whole(("RBF107", 4, 8, {"fences": 1}), ("RBF104", 8, 4 + SECOND, LOST_ONE)),
    ),
    "newer layout": (V40, whole(("RBF108", 4, len(V40), {}))),
    "too short": (b"RBF", whole(("RBF109", 0, 3, {}))),
    "appended to a torn file": (
        file_of(ONE, TWO)[:-12] + DEAD + FENCE,
        whole(("RBF105", SECOND, END - 12, {}), ("RBF110", END - 12, END - 8 + len(DEAD), {})),
    ),
    "hidden": (
        straddling(),
        whole(("RBF111", 4 + 24 + 4, 4 + 24 + 4 + 12, {"lost": "1 frame with tag 0x0000000a, 36 bytes"})),
    ),
}  # fmt: skip
