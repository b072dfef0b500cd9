# The native module: `gather.py`, the kernels of `generated/kernels/scans.py` and checksums over ranges.
from array import array
from typing import TypeAlias

Bytes: TypeAlias = memoryview | bytes
Array: TypeAlias = memoryview | array[int]

def measure(lengths: Array, rows: int) -> tuple[int, bool, int]: ...
def fill_steps(offsets: Array, size: int) -> None: ...
def gather_equal(buf: Bytes, starts: Array, size: int, rows: int, data: Array) -> None: ...
def gather_plain(buf: Bytes, starts: Array, lengths: Array, rows: int, offsets: Array, data: Array) -> None: ...
def gather_optional(
    buf: Bytes, starts: Array, lengths: Array, rows: int, offsets: Array, data: Array, valid: Array
) -> int: ...
def gather_base64(
    buf: Bytes, starts: Array, lengths: Array, rows: int, offsets: Array, data: Array, valid: Array
) -> int: ...
def is_ascii(data: Bytes, size: int) -> bool: ...
def pack_bits(flags: Array, rows: int, bitmap: Array) -> int: ...
def measure_labels(label_starts: Array, codes: Array, rows: int) -> int: ...
def gather_labels(labels: Bytes, label_starts: Array, codes: Array, rows: int, offsets: Array, data: Array) -> None: ...
def add_bases(bases: Array, ranges: Array, numbers: Array, rows: int, sums: Array) -> None: ...
def add_bases_short(bases: Array, ranges: Array, numbers: Array, rows: int, sums: Array) -> None: ...
def crc32c_ranges(buf: Bytes, starts: Array, ends: Array, rows: int, out: Array) -> None: ...
def crc32_ranges(buf: Bytes, starts: Array, ends: Array, rows: int, out: Array) -> None: ...
def uses_crc32c_instruction() -> bool: ...
def use_crc32c_instruction(wanted: bool) -> None: ...
def crc32c_checkpoints(buf: Bytes, step: int, states: Array) -> None: ...
def covered_bytes(fences: Array, starts: Array, count: int) -> int: ...
def check_checksums(buf: Bytes, fences: Array, starts: Array, count: int, states: Array, step: int) -> None: ...
def find_fences(buf: Bytes, start: int, end: int, fences: Array) -> int: ...
def check_frames(buf: Bytes, fences: Array, count: int, starts: Array) -> None: ...
def walk_back(fences: Array, starts: Array, count: int, position: int, frames: Array) -> tuple[int, int]: ...
def join_back(fences: Array, starts: Array, frames: Array, count: int, stretches: Array) -> int: ...
def find_units(buf: Bytes, start: int, end: int, offsets: Array, positions: Array, sizes: Array) -> tuple[int, int]: ...
def place_records(
    ranges: Array,
    offset_deltas: Array,
    timestamp_deltas: Array,
    rows: int,
    heads: Array,
    last_deltas: Array,
    offsets: Array,
    timestamps: Array,
    is_wrong: Array,
) -> None: ...
def to_microseconds(milliseconds: Array, rows: int, microseconds: Array, valid: Array) -> None: ...
def crc32c_spans(buf: Bytes, starts: Array, ends: Array, rows: int, states: Array, step: int, out: Array) -> None: ...
def encode_records(
    row: int,
    rows: int,
    key_starts: Array,
    key_data: Bytes,
    key_valid: Bytes,
    key_first: int,
    value_starts: Array,
    value_data: Bytes,
    value_valid: Bytes,
    value_first: int,
    header_starts: Array,
    name_starts: Array,
    name_data: Bytes,
    content_starts: Array,
    content_data: Bytes,
    content_valid: Bytes,
    content_first: int,
    offsets: Array,
    timestamps: Array,
    append_times: Bytes,
    first_offset: int,
    is_append_time: int,
    most_records: int,
    most_bytes: int,
    state: Array,
    out: memoryview | bytearray,
) -> int: ...
def first_not_rising(offsets: Array, rows: int, before: int) -> int: ...
def index_batches(
    positions: Array,
    last_offsets: Array,
    max_timestamps: Array,
    rows: int,
    base_offset: int,
    interval: int,
    state: Array,
    offset_index: memoryview | bytearray,
    time_index: memoryview | bytearray,
) -> int: ...
def index_end(base_offset: int, state: Array, time_index: memoryview | bytearray) -> None: ...
def gather_json(
    buf: Bytes, starts: Array, lengths: Array, rows: int, offsets: Array, data: Array, valid: Array
) -> int: ...
def decode_records(
    buf: Bytes,
    starts: Array,
    ends: Array,
    rows: int,
    head: int,
    names: Bytes,
    name_ends: Array,
    kinds: Bytes,
    values: Array,
    lengths: Array,
    seen: Array,
    entries: Array,
    body_offsets: Array,
    body: Array,
    indices: Array,
    faults: Array,
    escaped: Bytes | bytearray,
    work: Array,
    scratch: Array,
) -> tuple[int, int]: ...
def find_headers(
    buf: Bytes,
    starts: Array,
    lengths: Array,
    entries: Array,
    rows: int,
    found: Array,
    key_starts: Array,
    key_lengths: Array,
    value_starts: Array,
    value_lengths: Array,
    work: Array,
    scratch: Array,
) -> bool: ...
def list_offsets(entries: Array, rows: int, offsets: Array, valid: Array) -> int: ...
def pack_seen(seen: Array, field: int, rows: int, bitmap: Array) -> int: ...
def widen(values: Array, rows: int, wide: Array) -> None: ...
def read_numbers_with(most: int) -> None: ...
