"""What a name in a spec refers to: types, enums, and settings that nested types inherit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from thawline.ksy.documents import Spec, TypeDef


def find_type(path: str, at: TypeDef, specs: Mapping[str, Spec]) -> TypeDef | None:
    """The type that `header` or `kafka_records::header` refers to: the nearest around `at`, else one of a spec."""
    first, *rest = path.split("::")
    found = next((inner for outer in around(at) if (inner := _inside(outer, first))), None)
    if found is None and first in specs:
        found = TypeDef(specs[first], (), specs[first].data)
    for name in rest:
        found = found and _inside(found, name)
    return found


def find_enum(path: str, at: TypeDef, specs: Mapping[str, Spec]) -> dict[int, str] | None:
    """Values and names of the enum that `kind` or `kafka_control_key::kind` refers to."""
    *types, name = path.split("::")
    owner = find_type("::".join(types), at, specs) if types else None
    for outer in [owner] if types else around(at):
        members = (outer.data.get("enums") or {}).get(name) if outer else None
        if members is not None:
            return {value: member["id"] if isinstance(member, dict) else member for value, member in members.items()}
    return None


def inherited(at: TypeDef, setting: str) -> Any:
    """A setting of `meta`, of the nearest type around `at` that has it; None if none has."""
    settings = (outer.data["meta"][setting] for outer in around(at) if setting in (outer.data.get("meta") or {}))
    return next(settings, None)


def around(type_: TypeDef) -> Iterator[TypeDef]:
    """The type itself, then each type it is nested in, out to the root."""
    levels = [TypeDef(type_.spec, (), type_.spec.data)]
    for name in type_.names:
        levels.append(TypeDef(type_.spec, (*levels[-1].names, name), levels[-1].data["types"][name] or {}))
    return reversed(levels)


def _inside(outer: TypeDef, name: str) -> TypeDef | None:
    types = outer.data.get("types") or {}
    return TypeDef(outer.spec, (*outer.names, name), types[name] or {}) if name in types else None
