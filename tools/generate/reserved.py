"""Refusal of ids that are Python keywords: ksc emits them as they are, and the module does not import."""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from tools.ksy import Keys, Spec, SpecError, TypeDef, types_of


def check_ids(spec: Spec) -> None:
    """Raise `SpecError` at the first id that Python reserves, or a `meta/id` that is not the file's name."""
    if spec.data.get("meta", {}).get("id") != spec.id:
        raise spec.error(("meta", "id"), f"meta/id must be the file's name, {spec.id}")
    for keys, name in _ids(spec):
        if keyword.iskeyword(name):
            raise spec.error(keys, f"{name!r} is a reserved word of Python; give it another id and keep -orig-id")


def _ids(spec: Spec) -> Iterator[tuple[Keys, str]]:
    for type_ in types_of(spec):
        yield from ((type_.keys, name) for name in type_.names[-1:])
        yield from _ids_of_type(type_)


def _ids_of_type(type_: TypeDef) -> Iterator[tuple[Keys, str]]:
    for section in ("params", "seq"):
        for index, attribute in enumerate(type_.data.get(section) or []):
            if "id" in attribute:
                yield (*type_.keys, section, index, "id"), attribute["id"]
    for name in type_.data.get("instances") or {}:
        yield (*type_.keys, "instances", name), name
    for enum, members in (type_.data.get("enums") or {}).items():
        yield (*type_.keys, "enums", enum), enum
        for value, member in members.items():
            yield (*type_.keys, "enums", enum, value), member["id"] if isinstance(member, dict) else str(member)


__all__ = ["SpecError", "check_ids"]
