"""Rows that meet conditions: a column equals a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

TRUE, FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


def matching(batches: Iterable[pa.RecordBatch], where: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The rows whose columns have the given values; batches without such a row are left out.

    >>> batch = pa.record_batch({"tag": [1, 2, 2], "name": ["a", "b", None]})
    >>> [found.to_pylist() for found in matching([batch], {"tag": "0x2", "name": "b"})]
    [[{'tag': 2, 'name': 'b'}]]
    """
    for batch in batches:
        for column, text in where.items():
            batch = batch.filter(pc.equal(batch[column], value_of(text, batch.schema.field(column))))  # noqa: PLW2901
        if batch.num_rows:
            yield batch


def value_of(text: str, field: pa.Field) -> pa.Scalar:
    """A value of a column, from the text of an option; ValueError names what is accepted."""
    kind = field.type
    try:
        if pa.types.is_boolean(kind):
            return pa.scalar(_flag(text))
        if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
            return pa.scalar(int(text, 0), kind)
        if pa.types.is_binary(kind):
            return pa.scalar(bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode())
        if pa.types.is_string(kind):
            return pa.scalar(text)
        if pa.types.is_timestamp(kind):
            return pa.scalar(text).cast(kind)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{field.name} is {kind}, and {text!r} is no such value: {error}") from error
    raise ValueError(f"{field.name} is {kind}; rows cannot be chosen by it")


def _flag(text: str) -> bool:
    if text.lower() not in TRUE | FALSE:
        raise ValueError("write true or false")
    return text.lower() in TRUE
