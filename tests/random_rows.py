"""Random rows of every table that has an encoder: what a writer may be given, with every edge that the specs allow."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
from thawline.generated.encoders.inputs import ENCODERS

from thawline.engine.chunks import arrow_type

Row = dict[str, Any]
EDGES = {
    8: (-128, 127),
    16: (-(1 << 15), (1 << 15) - 1),
    32: (-(1 << 31), (1 << 31) - 1),
    64: (-(1 << 63), (1 << 63) - 1),
}
NUMBERS = (0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192)
LETTERS = "ab \\\n\0\tüλ€"


def batch_of(name: str, rows: list[Row]) -> pa.RecordBatch:
    """The rows as columns, with those that no table has."""
    columns = ENCODERS[name].columns
    fields = [pa.field(column.name, arrow_type(column)) for column in columns]
    return pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))


def random_rows(name: str, random: Random) -> list[Row]:
    """A few rows of a table."""
    return [MAKERS[name](random) for _ in range(random.choice((1, 1, 2, 3, 7)))]


def number(random: Random, bits: int, *, least: int | None = None, most: int | None = None) -> int:
    low, high = EDGES[bits]
    low, high = low if least is None else least, high if most is None else most
    found = random.choice((low, high, random.randint(low, high), random.choice(NUMBERS)))
    return min(max(found, low), high)


def data(random: Random, most: int = 200) -> bytes:
    return random.randbytes(random.choice((0, 1, 2, 3, 63, 64, random.randint(0, most))))


def maybe(random: Random, value: object) -> Any:
    return None if random.random() < 0.3 else value


def text(random: Random, letters: str = LETTERS) -> str:
    return "".join(random.choices(letters, k=random.choice((0, 1, 2, 5, 20))))


def unsigned(random: Random, bits: int) -> int:
    return number(random, 64, least=0, most=(1 << bits) - 1)


def kafka_batch(random: Random) -> Row:
    return {
        "base_offset": number(random, 64),
        "partition_leader_epoch": number(random, 32),
        "unused": random.choice((0, random.randrange(1 << 9))),
        **{name: random.random() < 0.5 for name in ("has_delete_horizon", "is_control", "is_transactional")},
        "timestamp_type": random.choice(("create_time", "log_append_time")),
        "compression": random.choice(("none", "gzip", "snappy", "lz4", "zstd")),
        "last_offset_delta": number(random, 32, least=0),
        **{name: number(random, 64) for name in ("base_timestamp", "max_timestamp", "producer_id")},
        "producer_epoch": number(random, 16),
        "base_sequence": number(random, 32),
        "num_records": number(random, 32, least=0),
        "records": data(random),
    }


def kafka_message(random: Random) -> Row:
    magic = random.randrange(2)
    return {
        "offset": number(random, 64),
        "magic": magic,
        "unused": random.randrange(16),
        "timestamp_type": random.choice(("create_time", "log_append_time")),
        "compression": random.choice(("none", "gzip", "snappy", "lz4")),
        "timestamp": number(random, 64) if magic else None,
        "key": maybe(random, data(random)),
        "value": maybe(random, data(random)),
        "trailing": random.choice((b"", data(random, 5))),
    }


def kafka_record(random: Random) -> Row:
    headers = [{"key": text(random), "value": maybe(random, data(random))} for _ in range(random.choice((0, 0, 1, 3)))]
    return {
        "attributes": number(random, 8),
        "timestamp_delta": number(random, 64),
        "offset_delta": number(random, 32),
        "key": maybe(random, data(random)),
        "value": maybe(random, data(random, 9000)),
        "headers": headers,
    }


def kafka_producer(random: Random) -> Row:
    longs = ("producer_id", "last_offset", "timestamp", "current_txn_first_offset")
    ints = ("last_sequence", "offset_delta", "coordinator_epoch")
    return {
        **{name: number(random, 64) for name in longs},
        **{name: number(random, 32) for name in ints},
        "producer_epoch": number(random, 16),
    }


def transaction(random: Random) -> Row:
    return {name: number(random, 64) for name in ("producer_id", "first_offset", "last_offset", "last_stable_offset")}


def rbf_frame(random: Random) -> Row:
    return {"is_tombstone": random.random() < 0.3, "frame_tag": unsigned(random, 32), "payload": data(random)}


def borg_index_entry(random: Random) -> Row:
    return {
        "chunk_id": random.randbytes(32),
        "pack_id": random.randbytes(32),
        **{name: unsigned(random, 32) for name in ("flags", "size", "ofs_blob", "len_blob")},
    }


def borg_blob(random: Random) -> Row:
    version = random.choice((1, 2))
    slots = _slot(random, "meta_", version) | _slot(random, "data_", version)
    return {"version": version, "chunk_id": random.randbytes(32), **slots}


def _slot(random: Random, prefix: str, version: int) -> Row:
    key_type = random.choice((0x02, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, random.randrange(256)))
    is_sealed, row = key_type in (0x10, 0x20, 0x30, 0x40), {"key_type": key_type, "payload": data(random)}
    row |= (
        {"iv_high": unsigned(random, 16), "iv_low": unsigned(random, 32), "mac": random.randbytes(16)}
        if is_sealed
        else {}
    )
    row["session_id"] = random.randbytes(24) if is_sealed else None
    row["tag"] = random.randbytes(32) if version == 2 and not is_sealed else None
    return {prefix + name: value for name, value in row.items()}


KEYS = ("bytes", "double", "integer", "string", "base64_string")
BINS = tuple(ENCODERS["aerospike_records"].columns[-1].items[0].labels.values())


def aerospike_record(random: Random) -> Row:
    has_key = random.random() < 0.6
    return {
        **_particle(random, random.choice(KEYS), "key_", is_there=has_key),
        "namespace": text(random),
        "digest": random.randbytes(20),
        "set": maybe(random, text(random)),
        "generation": number(random, 64, least=0, most=65535),
        "expiration": number(random, 64, least=0),
        "bins": [_bin(random) for _ in range(random.choice((0, 1, 2, 5)))],
    }


def _bin(random: Random) -> Row:
    type_ = random.choice(BINS)
    row = _particle(random, type_, "", is_there=True)
    return row | {"name": text(random), "boolean": random.random() < 0.5 if type_ == "boolean" else None}


def _particle(random: Random, type_: str, prefix: str, *, is_there: bool) -> Row:
    has_data = is_there and type_ not in ("integer", "double", "nil", "boolean")
    row = {
        "type": type_ if is_there else None,
        "is_compact": random.random() < 0.2 if is_there else None,
        "integer": number(random, 64) if is_there and type_ == "integer" else None,
        "double": text(random, "0123456789.e-naif") if is_there and type_ == "double" else None,
        "data": data(random) if has_data else None,
    }
    return {prefix + name: value for name, value in row.items()}


def aerospike_index(random: Random) -> Row:
    kind = random.choice(("bins", "expression"))
    more = maybe(random, text(random, "ABCabc+/="))
    return {
        "kind": kind,
        **{name: text(random) for name in ("namespace", "set", "name", "path")},
        "index_type": random.choice(("map_keys", "list_elements", "bin", "map_values")),
        "data_type": random.choice(("blob", "geo2dsphere", "numeric", "string")),
        "context": more if kind == "bins" else None,
        "expression": more if kind == "expression" else None,
    }


MAKERS: dict[str, Callable[[Random], Row]] = {
    "aerospike_indexes": aerospike_index,
    "aerospike_records": aerospike_record,
    "aerospike_udfs": lambda random: {"udf_type": "lua", "name": text(random), "content": data(random, 5000)},
    "borg_blobs": borg_blob,
    "borg_index_entries": borg_index_entry,
    "kafka_batches": kafka_batch,
    "kafka_messages": kafka_message,
    "kafka_offset_index": lambda random: {"relative_offset": number(random, 32), "position": number(random, 32)},
    "kafka_producers": kafka_producer,
    "kafka_records": kafka_record,
    "kafka_time_index": lambda random: {"timestamp": number(random, 64), "relative_offset": number(random, 32)},
    "kafka_transaction_index": transaction,
    "rbak_records": lambda random: {"json": data(random)},
    "rbf_frames": rbf_frame,
}
