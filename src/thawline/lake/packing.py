"""Small files of a table written again as large ones."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from thawline.lake.files import FileWriter, digest_of, gathered
from thawline.lake.place import parquet_reader
from thawline.lake.table import Conflict, Stored, Table, TableFile

__all__ = ["pack"]


def pack(table: Table, target: int) -> int:
    """Write small files again as files of about `target` bytes, in one commit; how many are gone by it."""
    removes: list[Stored] = []
    adds: list[TableFile] = []
    for group in _groups(table.files(), target):
        if len(group) > 1:
            adds.append(_joined(table, group))
            removes += group
    if not adds:
        return 0
    try:
        table.commit(adds, removes, app="", number=0, facts={"packed": len(removes)})
    except (Conflict, FileNotFoundError):  # another process has packed them, or taken rows out
        for one in adds:
            with suppress(OSError):
                table.place.remove(table.place.staged(one.name))
        return 0
    return len(removes) - len(adds)


def _groups(files: Iterable[Stored], target: int) -> Iterator[list[Stored]]:
    """Files that become one: small ones of the same folder, with the same values of partitioning columns."""
    groups: dict[tuple[object, ...], list[Stored]] = {}
    for one in sorted(files, key=lambda one: one.path):
        if one.size >= target // 2:
            continue
        key = one.path.rpartition("/")[0], *one.partition.values()
        group = groups.setdefault(key, [])
        if group and sum(other.size for other in group) + one.size > target:
            yield group
            group = groups[key] = []
        group.append(one)
    yield from groups.values()


def _joined(table: Table, group: Sequence[Stored]) -> TableFile:
    folder = group[0].path.rpartition("/")[0]
    name = f"part-packed-{digest_of(one.path for one in group)}-{secrets.token_hex(4)}.parquet"
    schema = _schema_of(table, group)
    path = f"{folder}/{name}" if folder else name
    with FileWriter(table.place, table.name, path, schema, group[0].partition) as writer:
        for rows in gathered(_rows(table, group, schema)):
            writer.write(rows)
        return writer.close()


def _rows(table: Table, group: Sequence[Stored], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for one in group:
        with parquet_reader(table.place, f"{table.name}/{one.path}") as reader:
            for rows in reader.iter_batches():
                yield _fitting(rows, schema)


def _schema_of(table: Table, group: Sequence[Stored]) -> pa.Schema:
    """What the files have, with columns that came with a later release."""
    schemas = []
    for one in group:
        with parquet_reader(table.place, f"{table.name}/{one.path}") as reader:
            schemas.append(reader.schema_arrow.remove_metadata())
    return pa.unify_schemas(schemas)


def _fitting(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        rows[one.name].cast(one.type) if one.name in rows.schema.names else pa.nulls(rows.num_rows, one.type)
        for one in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
