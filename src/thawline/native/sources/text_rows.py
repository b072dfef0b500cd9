"""Rows of a batch as JSON or CSV. What a value looks like is C, in text.h; the columns are a plan (`text_plan`)."""

import cython

if cython.compiled:
    from cython.cimports.cpython.pycapsule import PyCapsule_GetPointer
else:
    ArrowArray = ArrowSchema = text_node = text_out = text_work = int
    from thawline.native.constants.characters import (
        CLOSING_BRACE,
        CLOSING_BRACKET,
        COMMA,
        OPENING_BRACE,
        OPENING_BRACKET,
        QUOTE,
    )
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
        AS_UNSIGNED,
        AS_WIDE,
        AS_WRITTEN,
        WIDE_SIZE,
    )
    from thawline.native.sources.text_plan import _nodes_of, _plan_column, _prepare_doubles
    from thawline.native.sources.utf8 import _is_utf8


def unplanned(schema: object, mode: cython.int, is_csv: cython.bint) -> list[int]:
    """The places of the columns that Python has to write as text before: their types are in no plan."""
    capsule: object = schema.__arrow_c_schema__()
    root: cython.pointer(ArrowSchema) = cython.cast(
        cython.pointer(ArrowSchema), PyCapsule_GetPointer(capsule, b"arrow_schema")
    )
    work: text_work
    is_known: cython.bint
    found: list = []
    place: cython.longlong = 0
    if not open_work(cython.address(work), _nodes_of(root, 0)):
        raise MemoryError
    while place < root.n_children:
        is_known = _plan_column(root.children[place], cython.NULL, cython.address(work), 0, 1, mode, 1) > 0
        if not is_known or (is_csv and work.nodes[0].kind == AS_DOUBLE):  # the text of a double in CSV is Arrow's
            found.append(place)
        place += 1
    close_work(cython.address(work))
    return found


def json_rows(batch: object, written: object, mode: cython.int, before: bytes, after: bytes) -> bytes:
    """The rows of a batch as JSON objects, each between two texts. The columns `written` are JSON already."""
    return _text_of_rows(batch, written, mode, before, after, False, False)


def csv_rows(batch: object, written: object, mode: cython.int, is_guarded: cython.bint) -> bytes:
    """The rows of a batch as lines of CSV. The columns `written` are text that needs no quotes."""
    return _text_of_rows(batch, written, mode, b"", b"\n", True, is_guarded)


@cython.cfunc
def _text_of_rows(
    batch: object,
    written: object,
    mode: cython.int,
    before: bytes,
    after: bytes,
    is_csv: cython.bint,
    is_guarded: cython.bint,
) -> bytes:
    """The rows of a batch as text."""
    capsules: object = batch.__arrow_c_array__()
    schema: cython.pointer(ArrowSchema) = cython.cast(
        cython.pointer(ArrowSchema), PyCapsule_GetPointer(capsules[0], b"arrow_schema")
    )
    array: cython.pointer(ArrowArray) = cython.cast(
        cython.pointer(ArrowArray), PyCapsule_GetPointer(capsules[1], b"arrow_array")
    )
    work: text_work
    first: cython.pointer(cython.const[cython.uchar]) = before
    last: cython.pointer(cython.const[cython.uchar]) = after
    sizes: cython.longlong[2] = [len(before), len(after)]
    row: cython.longlong = 0
    is_utf8: cython.bint = True
    if not open_work(cython.address(work), _nodes_of(schema, 0)):
        raise MemoryError
    try:
        if _plan_column(schema, array, cython.address(work), 0, 1, mode, 0) < 0:
            raise TypeError("a column of this type is in no plan")
        for place in written:
            work.nodes[1 + cython.cast(cython.longlong, place)].kind = AS_WRITTEN
        if _has_doubles(cython.address(work), _nodes_of(schema, 0)):
            _prepare_doubles()
        with cython.nogil:
            while row < array.length and is_utf8:
                put_bytes(cython.address(work.out), first, sizes[0])
                if is_csv:
                    is_utf8 = _put_line(cython.address(work), row, is_guarded)
                else:
                    is_utf8 = _put_json(cython.address(work), cython.address(work.out), 0, row)
                put_bytes(cython.address(work.out), last, sizes[1])
                row += 1
        if is_short(cython.address(work)):
            raise MemoryError
        if not is_utf8:
            raise ValueError(f"row {row - 1}: a text is not UTF-8")
        return work.out.data[: work.out.size]
    finally:
        close_work(cython.address(work))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_doubles(work: cython.pointer(text_work), count: cython.longlong) -> cython.bint:
    """Whether a column, or a field of one, is of floating-point numbers."""
    at: cython.longlong = 0
    while at < count and work.nodes[at].kind != AS_DOUBLE:
        at += 1
    return at < count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_json(
    work: cython.pointer(text_work), out: cython.pointer(text_out), at: cython.longlong, index: cython.longlong
) -> cython.bint:
    """Write a value as JSON; whether its texts are UTF-8."""
    node: cython.pointer(text_node) = work.nodes + at
    place: cython.longlong = node.offset + index
    if node.kind == AS_NULL or not is_valid(node, place):
        put_literal(out, b"null")
        return True
    if node.kind >= AS_TEXT and node.kind < AS_LIST:
        return _put_json_string(out, node, place)
    if node.kind == AS_STRUCT:
        return _put_json_object(work, out, node, place)
    if node.kind == AS_LIST:
        return _put_json_array(work, out, node, place)
    if node.kind == AS_WRITTEN:
        _put_as_it_is(out, node, place)
    elif node.kind == AS_TIME:
        put_byte(out, QUOTE)
        put_time(out, integer_at(node, place), node.digits)
        put_byte(out, QUOTE)
    else:
        _put_plain_number(out, node, place)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_plain_number(
    out: cython.pointer(text_out), node: cython.pointer(text_node), place: cython.longlong
) -> cython.void:
    """Write a number or a truth value."""
    if node.kind == AS_INTEGER:
        put_integer(out, integer_at(node, place))
    elif node.kind == AS_UNSIGNED:
        put_unsigned(out, unsigned_at(node, place))
    elif node.kind == AS_BOOL:
        put_literal(out, b"true" if bit_at(node, place) else b"false")
    elif node.kind == AS_WIDE:
        put_wide(out, node.values + WIDE_SIZE * place)
    else:
        put_double(out, double_at(node, place))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_as_it_is(
    out: cython.pointer(text_out), node: cython.pointer(text_node), place: cython.longlong
) -> cython.void:
    """Copy what Python has written."""
    start: cython.longlong = offset_at(node, place)
    put_bytes(out, node.values + start, offset_at(node, place + 1) - start)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_json_string(
    out: cython.pointer(text_out), node: cython.pointer(text_node), place: cython.longlong
) -> cython.bint:
    """Write a text, or bytes that need no companion; False for a text that is not UTF-8."""
    start: cython.longlong = offset_at(node, place)
    size: cython.longlong = offset_at(node, place + 1) - start
    if node.kind == AS_HEX or node.kind == AS_BASE64:
        put_byte(out, QUOTE)
        if node.kind == AS_HEX:
            put_hex(out, node.values + start, size)
        else:
            put_base64(out, node.values + start, size)
        put_byte(out, QUOTE)
        return True
    return put_json_text(out, node.values + start, size, node.readable - start, node.kind == AS_REPLACED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_json_object(
    work: cython.pointer(text_work),
    out: cython.pointer(text_out),
    node: cython.pointer(text_node),
    place: cython.longlong,
) -> cython.bint:
    """Write an object; whether its texts are UTF-8."""
    child: cython.longlong = node.first
    end: cython.longlong = node.first + node.count
    field: cython.pointer(text_node)
    put_byte(out, OPENING_BRACE)
    while child < end:
        field = work.nodes + child
        put_bytes(out, work.keys.data + field.key, field.key_size)
        if field.kind == AS_TEXT_OR_BASE64:
            _put_text_or_base64(work, out, field, field.offset + place)
        elif not _put_json(work, out, child, place):
            return False
        child += 1
    put_byte(out, CLOSING_BRACE)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_text_or_base64(
    work: cython.pointer(text_work),
    out: cython.pointer(text_out),
    node: cython.pointer(text_node),
    place: cython.longlong,
) -> cython.void:
    """Write bytes as text; if they are not UTF-8, a null and their companion."""
    before: cython.longlong = out.size
    start: cython.longlong
    if is_valid(node, place) and _put_json_string(out, node, place):
        return
    out.size = before
    put_literal(out, b"null")
    if is_valid(node, place):
        put_bytes(out, work.keys.data + node.extra, node.extra_size)
        start = offset_at(node, place)
        put_byte(out, QUOTE)
        put_base64(out, node.values + start, offset_at(node, place + 1) - start)
        put_byte(out, QUOTE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_json_array(
    work: cython.pointer(text_work),
    out: cython.pointer(text_out),
    node: cython.pointer(text_node),
    place: cython.longlong,
) -> cython.bint:
    """Write an array; whether its texts are UTF-8."""
    first: cython.longlong = offset_at(node, place)
    item: cython.longlong = first
    end: cython.longlong = offset_at(node, place + 1)
    put_byte(out, OPENING_BRACKET)
    while item < end:
        if item > first:
            put_byte(out, COMMA)
        if not _put_json(work, out, node.first, item):
            return False
        item += 1
    put_byte(out, CLOSING_BRACKET)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_line(work: cython.pointer(text_work), row: cython.longlong, is_guarded: cython.bint) -> cython.bint:
    """Write a row as CSV, without the end of the line; whether its texts are UTF-8."""
    out: cython.pointer(text_out) = cython.address(work.out)
    first: cython.longlong = work.nodes[0].first
    child: cython.longlong = first
    end: cython.longlong = first + work.nodes[0].count
    while child < end:
        if child > first:
            put_byte(out, COMMA)
        if not _put_cell(work, out, child, work.nodes[0].offset + row, is_guarded):
            return False
        child += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_cell(
    work: cython.pointer(text_work),
    out: cython.pointer(text_out),
    at: cython.longlong,
    index: cython.longlong,
    is_guarded: cython.bint,
) -> cython.bint:
    """Write a value as CSV, which is nothing for a null; whether its texts are UTF-8."""
    node: cython.pointer(text_node) = work.nodes + at
    place: cython.longlong = node.offset + index
    if node.kind == AS_NULL or not is_valid(node, place):
        if node.kind == AS_TEXT_OR_BASE64:
            put_byte(out, COMMA)
        return True
    if node.kind >= AS_TEXT and node.kind < AS_LIST:
        _put_string_cell(work, out, node, place, is_guarded)
    elif node.kind == AS_WRITTEN:
        _put_as_it_is(out, node, place)
    elif node.kind >= AS_LIST:
        work.value.size = 0
        if not _put_json(work, cython.address(work.value), at, index):
            return False
        put_csv_text(out, work.value.data, work.value.size, work.value.size, False)
    elif node.kind == AS_TIME:
        work.value.size = 0
        put_time(cython.address(work.value), integer_at(node, place), node.digits)
        put_csv_text(out, work.value.data, work.value.size, work.value.size, is_guarded)
    else:
        _put_plain_number(out, node, place)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_string_cell(
    work: cython.pointer(text_work),
    out: cython.pointer(text_out),
    node: cython.pointer(text_node),
    place: cython.longlong,
    is_guarded: cython.bint,
) -> cython.void:
    """Write a text or bytes as CSV, and the companion of bytes that have one."""
    start: cython.longlong = offset_at(node, place)
    size: cython.longlong = offset_at(node, place + 1) - start
    value: cython.pointer(cython.const[cython.uchar]) = node.values + start
    is_split: cython.bint = node.kind == AS_TEXT_OR_BASE64
    if node.kind == AS_TEXT or (is_split and _is_utf8(value, 0, size)):
        put_csv_text(out, value, size, node.readable - start, is_guarded)
        if is_split:
            put_byte(out, COMMA)
        return
    if is_split:
        put_byte(out, COMMA)
    work.value.size = 0
    if node.kind == AS_HEX:
        put_hex(cython.address(work.value), value, size)
    elif node.kind == AS_REPLACED:
        put_replaced(cython.address(work.value), value, size)
    else:
        put_base64(cython.address(work.value), value, size)
    put_csv_text(out, work.value.data, work.value.size, work.value.size, is_guarded)
