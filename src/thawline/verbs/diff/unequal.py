"""Where the values of two columns differ, row by row, without a Python object for a row."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from thawline.verbs.diff.pairing import numbers, paired


def unequal(a: pa.Array, b: pa.Array) -> pa.Array:
    """Whether the values of two columns differ, for each row; null equals null, and floats are compared bit by bit.

    >>> unequal(pa.array([1, None, None]), pa.array([1, 2, None])).to_pylist()
    [False, True, False]
    >>> unequal(pa.array([[1, 2], [], None]), pa.array([[1, 3], [], []])).to_pylist()
    [True, False, True]
    """
    is_null = pc.xor(pc.is_null(a), pc.is_null(b))
    if pa.types.is_list(a.type):
        return pc.or_(is_null, _unequal_lists(a, b))
    if pa.types.is_struct(a.type):
        pairs = zip(a.flatten(), b.flatten(), strict=True)
        return reduce(pc.or_, (unequal(*pair) for pair in pairs), is_null)
    if pa.types.is_float64(a.type):
        a, b = a.view(pa.int64()), b.view(pa.int64())
    return pc.or_(is_null, pc.fill_null(pc.not_equal(a, b), fill_value=False))


def _unequal_lists(a: pa.Array, b: pa.Array) -> pa.Array:
    """Whether two lists have different items, for each row."""
    is_longer = pc.fill_null(pc.not_equal(pc.list_value_length(a), pc.list_value_length(b)), fill_value=False)
    fits = pc.and_not(pc.and_(pc.is_valid(a), pc.is_valid(b)), is_longer)
    a, b = a.filter(fits), b.filter(fits)
    items = unequal(pc.list_flatten(a), pc.list_flatten(b))
    rows = pc.indices_nonzero(fits).cast(pa.int64()).take(pc.unique(pc.list_parent_indices(a).filter(items)))
    return pc.or_(is_longer, pc.is_in(numbers(len(is_longer)), rows))


def named_items(kind: pa.DataType) -> bool:
    """Whether the values are lists of items whose first field is their name, such as bins and headers."""
    return bool(
        pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and kind.value_type.field(0).type == pa.string()
    )


def unequal_items(name: str, a: pa.Array, b: pa.Array) -> pa.Array:
    """Which items of two lists differ, for each row: `bins.age, bins.name`; the bare name where only the order does.

    >>> item = pa.list_(pa.struct({"name": pa.string(), "value": pa.int64()}))
    >>> a, b = [{"name": "x", "value": 1}, {"name": "y", "value": 2}], [{"name": "x", "value": 1}]
    >>> unequal_items("bins", pa.array([a, a], item), pa.array([b, a], item)).to_pylist()
    ['bins.y', 'bins']
    """
    rows = [pc.list_parent_indices(side).cast(pa.int64()) for side in (a, b)]
    items = [pc.list_flatten(side) for side in (a, b)]
    names = [side.field(0) if len(side) else pa.array([], pa.string()) for side in items]
    pairs = paired([rows[0], names[0]], [rows[1], names[1]])
    changed = pairs.a.filter(unequal(items[0].take(pairs.a), items[1].take(pairs.b)))
    places_a = pa.concat_arrays([changed, pairs.only_a])
    found = (
        pa.table(
            {
                "row": pa.concat_arrays([rows[0].take(places_a), rows[1].take(pairs.only_b)]),
                "name": pa.concat_arrays([names[0].take(places_a), names[1].take(pairs.only_b)]),
            }
        )
        .group_by(["row"], use_threads=False)
        .aggregate([("name", "distinct")])
    )
    texts = pc.binary_join(_prefixed(name, found["name_distinct"].combine_chunks()), ", ")
    place = pc.index_in(numbers(len(a)), found["row"].combine_chunks())
    return pc.fill_null(texts.take(place), name)


def _prefixed(name: str, lists: pa.Array) -> pa.Array:
    """Lists of names, each with the name of their column before it."""
    names = pc.fill_null(pc.list_flatten(lists), "")
    full = pc.binary_join_element_wise(pa.scalar(name), names, pa.scalar("."))
    return pa.ListArray.from_arrays(pc.subtract(lists.offsets, lists.offsets[0]).cast(pa.int32()), full)
