"""Plans: the columns of a batch, as the writers of text take them, from Arrow's C data interface (`arrow.h`)."""

import cython

if cython.compiled:
    from cython.cimports.libc.string import strlen
else:
    ArrowArray = ArrowSchema = text_node = text_out = text_work = int
    from thawline.native.constants.text import (
        AS_BASE64,
        AS_BOOL,
        AS_DOUBLE,
        AS_HEX,
        AS_INTEGER,
        AS_LIST,
        AS_NULL,
        AS_REPLACED,
        AS_STRUCT,
        AS_TEXT,
        AS_TEXT_OR_BASE64,
        AS_TIME,
        AS_UNKNOWN,
        AS_UNSIGNED,
        AS_WIDE,
        BYTES_AUTO,
        BYTES_BASE64,
        BYTES_HEX,
        COARSE_PLACES,
        DEEPEST,
        FINEST_PLACES,
        HIGHEST_POWER,
        LOWEST_POWER,
        MIDDLE_PLACES,
        MOST_NAMES,
        NARROW_OFFSETS,
        WIDE_DIGITS,
        WIDE_OFFSETS,
        WIDE_SIZE,
    )


def _prepare_doubles() -> None:
    """Compute the powers of ten of `floats.h`, once: the highest 128 bits of each, rounded up."""
    if has_powers:
        return
    for exponent in range(LOWEST_POWER, HIGHEST_POWER + 1):
        above, below = 10 ** max(exponent, 0), 10 ** max(-exponent, 0)
        shift = above.bit_length() - below.bit_length() - 127
        power = -(-(above << max(-shift, 0)) // (below << max(shift, 0)))
        while power < 1 << 127:
            shift -= 1
            power = -(-(above << max(-shift, 0)) // (below << max(shift, 0)))
        set_power(exponent, power >> 64, power & ((1 << 64) - 1))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _nodes_of(schema: cython.pointer(ArrowSchema), depth: cython.int) -> cython.longlong:
    """How many nodes a schema takes, as far as a plan is made of it."""
    count: cython.longlong = 1
    i: cython.longlong = 0
    if depth == DEEPEST:
        return count
    while i < schema.n_children:
        count += _nodes_of(schema.children[i], depth + 1)
        i += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_kind(schema: cython.pointer(ArrowSchema), node: cython.pointer(text_node), mode: cython.int) -> cython.void:
    """Set the kind of a node, and the sizes of its values."""
    form: cython.pointer(cython.const[cython.char]) = schema.format
    node.kind = AS_UNKNOWN
    # The format of a dictionary is that of its indices. An extension, which metadata name, is what its type says.
    if schema.dictionary or schema.metadata:
        return
    if form[0] == b"+":
        _find_nested_kind(form, node)
    elif form[0] == b"t" and form[1] == b"s":
        node.kind, node.width = AS_TIME, WIDE_OFFSETS
        node.digits = (
            0
            if form[2] == b"s"
            else COARSE_PLACES
            if form[2] == b"m"
            else MIDDLE_PLACES
            if form[2] == b"u"
            else FINEST_PLACES
        )
    elif form[0] == b"d":
        _find_decimal_kind(form, node)
    elif form[0] == b"w":
        node.kind, node.size = _kind_of_bytes(mode), number_after(form)
    elif form[1] == 0:
        _find_simple_kind(form[0], node, mode)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_simple_kind(letter: cython.char, node: cython.pointer(text_node), mode: cython.int) -> cython.void:
    """The kind of a type that one letter names."""
    if letter == b"n":
        node.kind = AS_NULL
    elif letter == b"b":
        node.kind = AS_BOOL
    elif letter == b"u" or letter == b"U":
        node.kind, node.width = AS_TEXT, WIDE_OFFSETS if letter == b"U" else NARROW_OFFSETS
    elif letter == b"z" or letter == b"Z":
        node.kind, node.width = _kind_of_bytes(mode), WIDE_OFFSETS if letter == b"Z" else NARROW_OFFSETS
    elif letter == b"f" or letter == b"g":
        node.kind, node.width = AS_DOUBLE, 8 if letter == b"g" else 4
    elif letter == b"c" or letter == b"s" or letter == b"i" or letter == b"l":
        node.kind = AS_INTEGER
        node.width = 1 if letter == b"c" else 2 if letter == b"s" else 4 if letter == b"i" else 8
    elif letter == b"C" or letter == b"S" or letter == b"I" or letter == b"L":
        node.kind = AS_UNSIGNED
        node.width = 1 if letter == b"C" else 2 if letter == b"S" else 4 if letter == b"I" else 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _kind_of_bytes(mode: cython.int) -> cython.int:
    """How bytes are written."""
    return (
        AS_TEXT_OR_BASE64
        if mode == BYTES_AUTO
        else AS_HEX
        if mode == BYTES_HEX
        else AS_BASE64
        if mode == BYTES_BASE64
        else AS_REPLACED
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_nested_kind(form: cython.pointer(cython.const[cython.char]), node: cython.pointer(text_node)) -> cython.void:
    """The kind of lists and structs. Maps are not among them: JSON keeps the last of equal keys."""
    if form[1] == b"s":
        node.kind = AS_STRUCT
    elif form[1] == b"w":
        node.kind, node.size = AS_LIST, number_after(form + 1)
    elif (form[1] == b"l" or form[1] == b"L") and form[2] == 0:
        node.kind, node.width = AS_LIST, WIDE_OFFSETS if form[1] == b"L" else NARROW_OFFSETS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_decimal_kind(form: cython.pointer(cython.const[cython.char]), node: cython.pointer(text_node)) -> cython.void:
    """The kind of decimals: `d:precision,scale`, and the number of bits where it is not 128."""
    if is_whole_decimal(form, WIDE_DIGITS):
        node.kind, node.width = AS_WIDE, WIDE_SIZE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_buffers(node: cython.pointer(text_node), array: cython.pointer(ArrowArray)) -> cython.void:
    """Set where the values of a node are."""
    has_offsets: cython.bint = node.kind >= AS_TEXT and node.kind <= AS_LIST and node.width > 0
    node.offset = array.offset
    if array.n_buffers > 0 and array.null_count != 0:
        node.valid = cython.cast(cython.pointer(cython.const[cython.uchar]), array.buffers[0])
    if array.n_buffers > 1:  # the last one has the values; that of a list, its offsets
        node.values = cython.cast(cython.pointer(cython.const[cython.uchar]), array.buffers[array.n_buffers - 1])
    if has_offsets:
        node.offsets = cython.cast(cython.pointer(cython.const[cython.uchar]), array.buffers[1])
    if node.kind >= AS_TEXT and node.kind < AS_LIST and array.length > 0:
        node.readable = offset_at(node, array.offset + array.length)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_key(
    work: cython.pointer(text_work),
    at: cython.longlong,
    name: cython.pointer(cython.const[cython.char]),
    place: cython.longlong,
) -> cython.bint:
    """Write the name of a field, and that of its companion, with a comma before; whether it is UTF-8."""
    size: cython.longlong = strlen(name)
    text: cython.pointer(cython.const[cython.uchar]) = cython.cast(cython.pointer(cython.const[cython.uchar]), name)
    node: cython.pointer(text_node) = work.nodes + at
    keys: cython.pointer(text_out) = cython.address(work.keys)
    node.key = keys.size
    if place:
        put_byte(keys, b",")
    if not put_json_text(keys, text, size, size, 0):
        return False
    put_byte(keys, b":")
    node.key_size = keys.size - node.key
    node.extra = keys.size
    put_byte(keys, b",")
    put_json_text(keys, text, size, size, 0)
    keys.size -= 1
    put_literal(keys, b'_b64":')
    node.extra_size = keys.size - node.extra
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _plan_column(
    schema: cython.pointer(ArrowSchema),
    array: cython.pointer(ArrowArray),
    work: cython.pointer(text_work),
    at: cython.longlong,
    free: cython.longlong,
    mode: cython.int,
    depth: cython.int,
) -> cython.longlong:
    """Plan a column at a place; returns the next free one, -1 where a type is unknown. `array` may be NULL."""
    node: cython.pointer(text_node) = work.nodes + at
    child: cython.longlong = 0
    first: cython.longlong = free
    inner: cython.int = mode
    items: cython.pointer(ArrowArray) = cython.NULL
    _find_kind(schema, node, mode)
    # Times inside of a column have another text, which is not needed.
    if node.kind == AS_UNKNOWN or depth == DEEPEST or (node.kind == AS_TIME and depth > 1):
        return -1
    if array:
        _set_buffers(node, array)
    if node.kind != AS_LIST and node.kind != AS_STRUCT:
        return free
    if node.kind == AS_STRUCT and depth and (schema.n_children > MOST_NAMES or has_equal_names(schema)):
        return -1
    node.first, node.count = first, cython.cast(cython.int, schema.n_children)
    free += schema.n_children
    while child < schema.n_children:
        if node.kind == AS_LIST and mode == BYTES_AUTO and has_bytes(schema.children[child]):
            inner = BYTES_BASE64  # an item has no name for a companion
        if node.kind == AS_STRUCT and not _set_key(work, first + child, schema.children[child].name, child):
            return -1
        if array:
            items = array.children[child]
        free = _plan_column(schema.children[child], items, work, first + child, free, inner, depth + 1)
        if free < 0:
            return -1
        child += 1
    return free
