"""Fingerprints of rows, which tell rows that are the same on two sides. The hash and its table are C, in siphash.h."""

import cython

if cython.compiled:
    from cython.cimports.cpython.pycapsule import PyCapsule_GetPointer
else:
    ArrowArray = ArrowSchema = hash_slot = hash_table = text_node = text_out = text_work = int
    from thawline.native.constants.fingerprints import AHEAD, FINGERPRINT
    from thawline.native.constants.text import (
        AS_BOOL,
        AS_LIST,
        AS_NULL,
        AS_STRUCT,
        AS_TEXT,
        BYTES_HEX,
    )
    from thawline.native.sources.text_plan import _nodes_of, _plan_column


def row_fingerprints(batch: object, key: cython.const[cython.uchar][::1], out: cython.uchar[::1]):
    """The keyed hash of each row of a batch, whose columns are all in a plan (`unplanned`)."""
    capsules: object = batch.__arrow_c_array__()
    schema: cython.pointer(ArrowSchema) = cython.cast(
        cython.pointer(ArrowSchema), PyCapsule_GetPointer(capsules[0], b"arrow_schema")
    )
    array: cython.pointer(ArrowArray) = cython.cast(
        cython.pointer(ArrowArray), PyCapsule_GetPointer(capsules[1], b"arrow_array")
    )
    work: text_work
    row: cython.longlong = 0
    if array.length == 0:
        return
    if not open_work(cython.address(work), _nodes_of(schema, 0)):
        raise MemoryError
    try:
        if _plan_column(schema, array, cython.address(work), 0, 1, BYTES_HEX, 0) < 0:
            raise TypeError("a column of this type is in no plan")
        with cython.nogil:
            while row < array.length and not is_short(cython.address(work)):
                work.out.size = 0
                _put_known(cython.address(work), 0, row)
                siphash(work.out.data, work.out.size, cython.address(key[0]), cython.address(out[FINGERPRINT * row]))
                row += 1
        if is_short(cython.address(work)):
            raise MemoryError
    finally:
        close_work(cython.address(work))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_known(work: cython.pointer(text_work), at: cython.longlong, index: cython.longlong) -> cython.void:
    """Write a value so that no other is written alike: whether it is there, its size if that varies, its bytes."""
    out: cython.pointer(text_out) = cython.address(work.out)
    node: cython.pointer(text_node) = work.nodes + at
    place: cython.longlong = node.offset + index
    start: cython.longlong
    end: cython.longlong
    if node.kind == AS_NULL or not is_valid(node, place):
        put_byte(out, 0)
        return
    put_byte(out, 1)
    if node.kind == AS_BOOL:
        put_byte(out, bit_at(node, place))
    elif node.kind < AS_TEXT:
        put_bytes(out, node.values + node.width * place, node.width)
    elif node.kind == AS_STRUCT:
        start = 0
        while start < node.count:
            _put_known(work, node.first + start, place)
            start += 1
    else:
        start, end = offset_at(node, place), offset_at(node, place + 1)
        end -= start
        put_bytes(out, cython.cast(cython.pointer(cython.const[cython.uchar]), cython.address(end)), 8)
        if node.kind != AS_LIST:
            put_bytes(out, node.values + start, end)
            return
        end += start
        while start < end:
            _put_known(work, node.first, start)
            start += 1


def settle_fingerprints(
    a: cython.const[cython.uchar][::1],
    b: cython.const[cython.uchar][::1],
    part: cython.int,
    parts: cython.int,
    left_a: cython.uchar[::1],
    left_b: cython.uchar[::1],
) -> int:
    """Pair rows with equal fingerprints, each with one, and clear their bits; how many pairs there are.

    Only fingerprints of one part are looked at; the number of parts is a power of two.
    """
    table: hash_table
    pairs: cython.longlong = 0
    if not a.shape[0] or not b.shape[0]:
        return 0
    if not open_table(cython.address(table), _in_part(cython.address(a[0]), a.shape[0], part, parts)):
        raise MemoryError
    with cython.nogil:
        _count_fingerprints(cython.address(table), cython.address(a[0]), a.shape[0], part, parts)
        pairs = _pair_fingerprints(
            cython.address(table), cython.address(b[0]), b.shape[0], part, parts, cython.address(left_b[0])
        )
        _clear_fingerprints(
            cython.address(table), cython.address(a[0]), a.shape[0], part, parts, cython.address(left_a[0])
        )
    close_table(cython.address(table))
    return pairs


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_of(each: cython.pointer(cython.const[cython.uchar]), part: cython.int, parts: cython.int) -> cython.bint:
    """Whether a fingerprint is of a part, which its last bytes say."""
    return ((each[FINGERPRINT - 1] << 8 | each[FINGERPRINT - 2]) & (parts - 1)) == part


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _in_part(
    hashes: cython.pointer(cython.const[cython.uchar]), size: cython.longlong, part: cython.int, parts: cython.int
) -> cython.longlong:
    """How many fingerprints are of a part."""
    count: cython.longlong = 0
    at: cython.longlong = 0
    while at < size:
        count += _is_of(hashes + at, part, parts)
        at += FINGERPRINT
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_fingerprints(
    table: cython.pointer(hash_table),
    hashes: cython.pointer(cython.const[cython.uchar]),
    size: cython.longlong,
    part: cython.int,
    parts: cython.int,
) -> cython.void:
    """Count the fingerprints of side A."""
    at: cython.longlong = 0
    while at < size:
        if at + AHEAD * FINGERPRINT < size:
            await_slot(table, hashes + at + AHEAD * FINGERPRINT)
        if _is_of(hashes + at, part, parts):
            slot_of(table, hashes + at).count += 1
        at += FINGERPRINT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pair_fingerprints(
    table: cython.pointer(hash_table),
    hashes: cython.pointer(cython.const[cython.uchar]),
    size: cython.longlong,
    part: cython.int,
    parts: cython.int,
    left: cython.pointer(cython.uchar),
) -> cython.longlong:
    """Give each row of side B a partner of side A, as long as there are any; how many got one."""
    slot: cython.pointer(hash_slot)
    at: cython.longlong = 0
    pairs: cython.longlong = 0
    while at < size:
        if at + AHEAD * FINGERPRINT < size:
            await_slot(table, hashes + at + AHEAD * FINGERPRINT)
        if _is_of(hashes + at, part, parts):
            slot = slot_of(table, hashes + at)
            if slot.paired < slot.count:
                slot.paired += 1
                pairs += 1
                clear_bit(left, at // FINGERPRINT)
        at += FINGERPRINT
    return pairs


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clear_fingerprints(
    table: cython.pointer(hash_table),
    hashes: cython.pointer(cython.const[cython.uchar]),
    size: cython.longlong,
    part: cython.int,
    parts: cython.int,
    left: cython.pointer(cython.uchar),
) -> cython.void:
    """Clear the bits of the rows of side A that are partners: the first ones of those that are alike."""
    slot: cython.pointer(hash_slot)
    at: cython.longlong = 0
    while at < size:
        if at + AHEAD * FINGERPRINT < size:
            await_slot(table, hashes + at + AHEAD * FINGERPRINT)
        if _is_of(hashes + at, part, parts):
            slot = slot_of(table, hashes + at)
            if slot.paired:
                slot.paired -= 1
                clear_bit(left, at // FINGERPRINT)
        at += FINGERPRINT
