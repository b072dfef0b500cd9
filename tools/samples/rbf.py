"""RBF files and addresses, built from the layout tables of the format document (Layer 0, 0.27)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Checksum,
    Const,
    Flag,
    GreedyBytes,
    GreedyRange,
    Int32ul,
    Int64ul,
    RawCopy,
    Rebuild,
    Struct,
    len_,
    this,
)
from crc32c import crc32c

from tools.samples.golden import Plain, Sample, Unit

# [F-FENCE-DEFINITION]: bytes, not an integer.
FENCE = b"RBF1"

# [F-STATUSLEN-FORMULA] and [F-HEADLEN-FORMULA], word for word.
STATUS_LEN = 1 + ((4 - ((len_(this.Payload) + 1) % 4)) % 4)
HEAD_LEN = 16 + len_(this.Payload) + STATUS_LEN

# [F-FRAMESTATUS-VALUES]: the length of the status minus one, in its lowest bits.
FRAME_STATUS = BitStruct(
    "Tombstone" / Flag,
    "Reserved" / Const(0, BitsInteger(5)),
    "StatusLen" / BitsInteger(2),
)

# [F-FRAME-LAYOUT] without its outer fields: exactly [F-CRC32C-COVERAGE].
CRC_INPUT = Struct(
    "FrameTag" / Int32ul,
    "Payload" / GreedyBytes,
    "FrameStatus" / Array(STATUS_LEN, FRAME_STATUS),
    "TailLen" / Rebuild(Int32ul, HEAD_LEN),
)
FRAME_BYTES = Struct(
    "HeadLen" / Int32ul,
    "covered" / RawCopy(CRC_INPUT),
    "CRC32C" / Checksum(Int32ul, crc32c, this.covered.data),
)

# [F-GENESIS], [F-FENCE-SEMANTICS]: a fence first, and one after every frame.
RBF_FILE = Struct(
    "GenesisFence" / Const(FENCE),
    "frames" / GreedyRange(Struct("FrameBytes" / FRAME_BYTES, "Fence" / Const(FENCE))),
)

# [F-ADDRESS64-WIRE-FORMAT]: the position of a HeadLen; 0 is null.
ADDRESS64 = Int64ul


@dataclass(frozen=True, slots=True)
class Frame:
    """The input of a writer for one frame."""

    payload: bytes = b""
    tag: int = 1
    is_tombstone: bool = False

    @property
    def status_len(self) -> int:
        """The length of the status by PayloadLen % 4, from the table below [F-STATUSLEN-FORMULA]."""
        return (4, 3, 2, 1)[len(self.payload) % 4]

    @property
    def head_len(self) -> int:
        """The size of FrameBytes [F-HEADLEN-FORMULA]."""
        return 16 + len(self.payload) + self.status_len

    def wire(self) -> dict[str, object]:
        """The values of FRAME_BYTES."""
        status = {"Tombstone": self.is_tombstone, "StatusLen": self.status_len - 1}
        covered = {"FrameTag": self.tag, "Payload": self.payload, "FrameStatus": [status] * self.status_len}
        return {"HeadLen": self.head_len, "covered": {"value": covered}}

    def account(self) -> dict[str, Plain]:
        """Fields by the names of `rbf_frame`."""
        status: Plain = {
            "is_tombstone": self.is_tombstone,
            "reserved": 0,
            "num_status_minus_1": self.status_len - 1,
        }
        crc32c_wire = FRAME_BYTES.build(self.wire())[-4:]
        body: dict[str, Plain] = {
            "frame_tag": self.tag,
            "payload": self.payload.hex(),
            "status": [status] * self.status_len,
            "len_tail": self.head_len,
            "crc32c": Int32ul.parse(crc32c_wire),
        }
        return {"len_frame": self.head_len, "body": body}


def samples() -> Iterator[Sample]:
    """Every golden RBF file and address."""
    yield from _small_files()
    yield from _lengths()
    yield from _tags()
    yield from _deceptive_payloads()
    yield from _long_files()
    yield from _addresses()


def _small_files() -> Iterator[Sample]:
    yield _file("genesis", "A new file: the genesis fence and no frame [F-GENESIS].")
    yield _file(
        "tombstone-minimal",
        "The example of section 4.1: a tombstone without payload, HeadLen 20, status 83 83 83 83.",
        Frame(tag=0, is_tombstone=True),
    )
    yield _file("tombstone-payload", "A tombstone that keeps its payload.", Frame(b"deleted", 7, is_tombstone=True))


def _lengths() -> Iterator[Sample]:
    """Each residue of PayloadLen % 4, and so each StatusLen, for frames and tombstones."""
    for length in range(6):
        frame = Frame(bytes(range(1, length + 1)))
        what = f"Payload of {length} bytes, padded to {frame.head_len} by a status of {frame.status_len}."
        yield _file(f"payload-{length}", what, frame)
    frames = [Frame(bytes(length), is_tombstone=True) for length in range(4)]
    yield _file("tombstone-lengths", "Tombstones of all four status lengths: 83, 82, 81, 80.", *frames)


def _tags() -> Iterator[Sample]:
    """No value of FrameTag is reserved [F-FRAMETAG-WIRE-ENCODING]."""
    yield _file("tag-zero", "FrameTag 0.", Frame(b"tag", 0))
    yield _file("tag-max", "FrameTag 0xFFFFFFFF.", Frame(b"tag", 0xFFFFFFFF))
    yield _file("tag-fourcc", 'FrameTag "META", a four-character code.', Frame(b"tag", Int32ul.parse(b"META")))
    yield _file("tag-fence", "FrameTag whose bytes are a fence.", Frame(b"tag", Int32ul.parse(FENCE)))


def _deceptive_payloads() -> Iterator[Sample]:
    """Payloads that look like framing; the frame around them is intact, so they must not be taken for frames."""
    frame = Frame(FENCE * 3 + b"..." + FENCE + b"." + FENCE, 2)
    yield _file("fences-in-payload", "Fences in the payload, aligned to four bytes and not.", frame, Frame(b"after"))
    status = Frame(b"\x00\x03\x80\x83", 3)
    yield _file("status-in-payload", "A payload that ends with status bytes of other lengths.", status)
    inner = _build(Frame(b"inner one", 10), Frame(b"inner two!!", 11, is_tombstone=True))
    outer = (Frame(b"before", 4), Frame(inner, 5), Frame(b"after", 6))
    yield _file("nested-file", "The middle one of three frames holds a whole RBF file of two frames.", *outer)
    file = _build(Frame(_build(Frame(b"innermost", 20)), 21))
    yield _file("nested-twice", "A file in a file in a file.", Frame(file, 22))


def _long_files() -> Iterator[Sample]:
    frames = [
        Frame(f"record {number}".encode() * (number % 5), 0x100 + number % 3, is_tombstone=not (number + 1) % 7)
        for number in range(40)
    ]
    yield _file("many-frames", "Forty frames of three tags, every seventh a tombstone.", *frames)
    pattern = bytes(number % 251 for number in range(70_001))
    yield _file("large-payload", "A payload of 70,001 bytes, above what 16 bits count.", Frame(pattern, 9))


def _addresses() -> Iterator[Sample]:
    yield _address("null", "The null address.", 0)
    yield _address("first-frame", "Address of a file's first frame, behind the genesis fence.", len(FENCE))
    yield _address("max", "The greatest multiple of four that 64 bits hold.", 2**64 - 4)


def _file(name: str, what: str, *frames: Frame) -> Sample:
    units = []
    start = len(FENCE)
    for frame in frames:
        units.append(Unit("rbf_frame", start, start + frame.head_len, frame.account()))
        start += frame.head_len + len(FENCE)
    return Sample(f"rbf/{name}.rbf", what, _build(*frames), tuple(units), "rbf_file")


def _address(name: str, what: str, offset: int) -> Sample:
    unit = Unit("rbf_address", 0, ADDRESS64.sizeof(), {"offset": offset})
    return Sample(f"rbf/{name}.address", what, ADDRESS64.build(offset), (unit,), "rbf_address")


def _build(*frames: Frame) -> bytes:
    return bytes(RBF_FILE.build({"frames": [{"FrameBytes": frame.wire()} for frame in frames]}))
