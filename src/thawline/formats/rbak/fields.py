"""Fields of a BackupRecord, in the order in which serde writes them, and what the native reader has to know of them."""

from __future__ import annotations

from array import array
from typing import Literal

Kind = Literal["body", "table", "headers", "text", "bool", "uint64", "int64", "uint8"]

RECORD: dict[str, Kind] = {
    "body": "body",
    "properties": "table",
    "headers": "headers",
    "exchange": "text",
    "routing_key": "text",
    "delivery_tag": "uint64",
    "redelivered": "bool",
    "backed_up_at": "int64",
    "source_queue": "text",
    "source_vhost": "text",
}
PROPERTIES: dict[str, Kind] = {
    "content_type": "text",
    "content_encoding": "text",
    "delivery_mode": "uint8",
    "priority": "uint8",
    "correlation_id": "text",
    "reply_to": "text",
    "expiration": "text",
    "message_id": "text",
    "timestamp": "uint64",
    "type_field": "text",
    "user_id": "text",
    "app_id": "text",
    "cluster_id": "text",
}
FIELDS = (*RECORD, *PROPERTIES)
NUMBERS = {name: number for number, name in enumerate(FIELDS)}
"""A field's number: its place in `FIELDS`, and its bit where there is one a field."""
OPTIONAL = {"body", *PROPERTIES}
"""Fields that a record may leave null."""
REQUIRED = sum(1 << number for name, number in NUMBERS.items() if name not in OPTIONAL)

ORDER: tuple[Kind, ...] = ("body", "table", "headers", "text", "bool", "uint64", "int64", "uint8")
KEYS = tuple(f'{name}":' for name in FIELDS)
"""Names as they stand behind the first quote, up to the value: what a compact document is compared with."""
NAMES = "".join(KEYS).encode()
NAME_ENDS = array("h", [sum(map(len, KEYS[: number + 1])) for number in range(len(FIELDS))])
KINDS = bytes(ORDER.index(kind) for kind in (*RECORD.values(), *PROPERTIES.values()))
