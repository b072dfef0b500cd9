"""Sample, Unit and Content: a golden file and the account of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

WIDTH = 160

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]
"""A JSON value. Bytes are lower-case hex, enum values their names, absent values null."""


@dataclass(frozen=True, slots=True)
class Content:
    """The decompressed content of a unit's field."""

    field: str
    """Dotted path of the field in the unit, e.g. `body.records`."""
    codec: str
    """`none`, `gzip`, `snappy`, `snappy_xerial`, `lz4`, `lz4_legacy_checksum`,
    `lz4_sized_block` or `zstd`."""
    spec: str
    fields: Mapping[str, Plain]
    params: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """One structure of the file: its spec, its position, and the values of its fields."""

    spec: str
    start: int
    end: int
    fields: Mapping[str, Plain]
    params: tuple[int, ...] = ()
    content: Content | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A golden file. `path` is `<format>/<name>.<suffix>` below `tests/golden`."""

    path: str
    what: str
    data: bytes
    units: tuple[Unit, ...]
    file_spec: str | None = None
    """The spec of the whole file, if one exists."""
    notes: Mapping[str, Plain] = field(default_factory=dict)
    """Facts outside of the fields, such as the folder that a sidecar belongs to."""

    def account(self) -> dict[str, object]:
        """The JSON that is stored beside the file."""
        account: dict[str, object] = {
            "what": self.what,
            "size": len(self.data),
            "sha256": hashlib.sha256(self.data).hexdigest(),
            "file_spec": self.file_spec,
            "units": [_unit_account(unit) for unit in self.units],
        }
        return account | ({"notes": dict(self.notes)} if self.notes else {})


def _unit_account(unit: Unit) -> dict[str, object]:
    account: dict[str, object] = {"spec": unit.spec, "start": unit.start, "end": unit.end}
    if unit.params:
        account["params"] = list(unit.params)
    account["fields"] = dict(unit.fields)
    if unit.content:
        account["content"] = {
            "field": unit.content.field,
            "codec": unit.content.codec,
            "spec": unit.content.spec,
            "params": list(unit.content.params),
            "fields": dict(unit.content.fields),
        }
    return account


def write_sample(sample: Sample, folder: Path) -> tuple[Path, Path]:
    """Write the file and its account; return both paths."""
    target = folder / sample.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(sample.data)
    account = target.with_name(target.name + ".json")
    account.write_text(_pretty(sample.account()) + "\n", encoding="utf-8")
    return target, account


def _pretty(value: object, depth: int = 0) -> str:
    """JSON with a line for every item, unless all of them fit one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + depth <= WIDTH or not isinstance(value, dict | list):
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_pretty(item, depth + 1)}" for key, item in value.items()]
    else:
        parts = [_pretty(item, depth + 1) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    indent = "\n" + " " * (depth + 1)
    return opening + indent + f",{indent}".join(parts) + "\n" + " " * depth + closing
