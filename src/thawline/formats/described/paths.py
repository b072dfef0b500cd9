"""Values of nested columns by their path, such as `records`, each item, `checksum`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

Path = tuple[str, ...]
ITEM = "[]"
"""The step from a list to its items."""


def values(rows: pa.StructArray, path: Path) -> tuple[pa.Array, pa.Int64Array]:
    """The values that a path leads to, and the index of the row that each is in."""
    found: pa.Array = rows
    owners = pa.array(range(len(rows)), pa.int64())
    for step in path:
        if step == ITEM:
            owners = owners.take(pc.list_parent_indices(found))
            found = pc.list_flatten(found)
        else:
            found = pc.struct_field(found, step)
    return found, owners


def at(type_: pa.DataType, path: Path) -> pa.DataType | None:
    """The type of what a path leads to in values of a type; None if it leads nowhere."""
    for step in path:
        if step == ITEM and pa.types.is_list(type_):
            type_ = type_.value_type
        elif pa.types.is_struct(type_) and type_.get_field_index(step) >= 0:
            type_ = type_.field(step).type
        else:
            return None
    return type_


def without(type_: pa.DataType, hidden: frozenset[Path], above: Path = ()) -> pa.DataType:
    """A type without the fields at some paths; arrays are cast to it."""
    if pa.types.is_struct(type_):
        kept = [field for field in type_ if (*above, field.name) not in hidden]
        return pa.struct([field.with_type(without(field.type, hidden, (*above, field.name))) for field in kept])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(without(type_.value_type, hidden, (*above, ITEM))))
    return type_


SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
"""The types that hold the same numbers where there are no unsigned ones, as on Spark."""


def signed(type_: pa.DataType) -> pa.DataType:
    """A type without unsigned numbers; arrays are cast to it."""
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(signed(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(signed(type_.value_type)))
    return SIGNED.get(type_, type_)
