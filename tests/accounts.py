"""Golden files with their accounts, and what a generated parser read, in the same terms."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kaitaistruct

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden file and the account that `make golden` wrote beside it."""

    file: Path
    account: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.file.relative_to(GOLDEN))

    @property
    def data(self) -> bytes:
        return self.file.read_bytes()

    def units(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Each unit's account with its bytes."""
        data = self.data
        for unit in self.account["units"]:
            yield unit, data[unit["start"] : unit["end"]]


def golden_files(folder: str = "") -> list[Golden]:
    """All golden files, or those of one format."""
    accounts = sorted((GOLDEN / folder).rglob("*.json"))
    return [Golden(path.with_suffix(""), json.loads(path.read_text(encoding="utf-8"))) for path in accounts]


def plain(value: Any, like: Any) -> Any:
    """What a parser read, as the account would say it; of a structure only the fields that `like` names."""
    if isinstance(value, kaitaistruct.KaitaiStruct):
        return _plain_structure(value, like)
    if isinstance(value, list):
        return [
            plain(item, like[i] if isinstance(like, list) and i < len(like) else None) for i, item in enumerate(value)
        ]
    if isinstance(value, bytes):
        return value.hex()
    return value.name if isinstance(value, enum.Enum) else value


def _plain_structure(value: Any, like: Any) -> Any:
    if hasattr(value, "chars"):
        return bytes(char.literal if char.is_escape else char.byte for char in value.chars[:-1]).hex()
    if not isinstance(like, dict):
        return value.value
    return {name: plain(getattr(value, name, None), like[name]) for name in like}


def field(value: Any, path: str) -> Any:
    """The field at a dotted path."""
    for name in path.split("."):
        value = getattr(value, name)
    return value
