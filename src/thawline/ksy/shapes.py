"""Refusal of YAML that does not have the shape of a spec, so that readers of a spec find the type that each key has.

The Kaitai Struct compiler judges what a spec means; this only refuses, for example, a list in place of a mapping.
"""

from __future__ import annotations

from typing import Any

from thawline.ksy.documents import Keys, Spec
from thawline.ksy.refusals import check_refusals

MAX_DEPTH = 16
MAX_FIELDS = 2_000
"""The deepest nesting of types, and the most fields, instances, types or members of one."""
SCALARS = (
    "id", "size", "pos", "io", "value", "if", "repeat", "repeat-expr", "repeat-until", "enum", "terminator",
    "encoding", "process", "doc", "pad-right",
)  # fmt: skip
SYNC_KEYS = {
    "magic": str, "after": list, "align": int, "plausible": list, "until": str, "rising": str, "checksum": str,
    "any": str,
}  # fmt: skip
"""What `-sync` may say, and the type of each."""


def check_shape(spec: Spec) -> None:
    """Raise `SpecError` at the first key whose value has the wrong type."""
    _check_type(spec, (), spec.data, MAX_DEPTH)
    check_refusals(spec)


def _check_type(spec: Spec, keys: Keys, data: Any, depth: int) -> None:
    _expect(spec, keys, data, dict)
    if not depth:
        raise spec.error(keys, "types are nested too deeply")
    _expect(spec, (*keys, "meta"), data.get("meta"), dict)
    _expect(spec, (*keys, "-sync"), data.get("-sync"), dict)
    sync = data.get("-sync") or {}
    _expect(spec, (*keys, "-sync", "plausible"), sync.get("plausible"), list)
    _check_contents(spec, (*keys, "-sync", "after"), sync.get("after", ""))
    for section in ("params", "seq"):
        _expect(spec, (*keys, section), data.get(section), list)
        for index, attribute in enumerate(data.get(section) or []):
            _check_attribute(spec, (*keys, section, index), attribute)
    for section in ("instances", "types", "enums"):
        _expect(spec, (*keys, section), data.get(section), dict)
        for name, item in (data.get(section) or {}).items():
            _check_named(spec, (*keys, section, name), item, depth - 1)


def _check_named(spec: Spec, keys: Keys, item: Any, depth: int) -> None:
    if not isinstance(keys[-1], str):
        raise spec.error(keys, "a name must be a word")
    match keys[-2]:
        case "instances":
            _check_attribute(spec, keys, item)
        case "types":
            _check_type(spec, keys, {} if item is None else item, depth)
        case _:
            _check_enum(spec, keys, item)


def _check_attribute(spec: Spec, keys: Keys, data: Any) -> None:
    if not isinstance(data, dict):
        raise spec.error(keys, "must be a mapping, such as `id: magic`")
    for key in SCALARS:
        if isinstance(data.get(key), list | dict):
            raise spec.error((*keys, key), f"{key} must be a single value")
    for key in ("-columnar",):
        _expect(spec, (*keys, key), data.get(key), dict)
    if isinstance(name := data.get("id", ""), str) is False:
        raise spec.error((*keys, "id"), f"{name!r} is no name")
    _check_field_type(spec, (*keys, "type"), data.get("type"))
    _check_contents(spec, (*keys, "contents"), data.get("contents", ""))


def _check_field_type(spec: Spec, keys: Keys, data: Any) -> None:
    if isinstance(data, dict):
        if "switch-on" not in data:
            raise spec.error(keys, "type must be a name, or a mapping with switch-on and cases")
        _expect(spec, (*keys, "cases"), data.get("cases"), dict)
    elif data is not None and not isinstance(data, str):
        raise spec.error(keys, f"{data!r} is no type")


def _check_contents(spec: Spec, keys: Keys, data: Any) -> None:
    items = data if isinstance(data, list) else [data]
    for item in items:
        is_byte = isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= 0xFF  # noqa: PLR2004
        if not isinstance(item, str) and not (is_byte and isinstance(data, list)):
            raise spec.error(keys, f"{keys[-1]} must be text or a list of bytes")


def _check_enum(spec: Spec, keys: Keys, data: Any) -> None:
    _expect(spec, keys, data, dict)
    for value, member in (data or {}).items():
        if not isinstance(value, int):
            raise spec.error((*keys, value), f"{value!r} must be a number: the values of an enum are integers")
        name = member.get("id") if isinstance(member, dict) else member
        if isinstance(name, list | dict | None):
            raise spec.error((*keys, value), "a member of an enum needs a name")


def _expect(spec: Spec, keys: Keys, data: Any, kind: type) -> None:
    if isinstance(data, list | dict) and len(data) > MAX_FIELDS:
        raise spec.error(keys, f"has {len(data)} parts; at most {MAX_FIELDS} are compared")
    if data is not None and not isinstance(data, kind):
        raise spec.error(keys, f"must be a {'mapping' if kind is dict else 'list'}")
