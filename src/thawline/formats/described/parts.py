"""What of a spec describes a unit: `-sync` marks its type, at the root or as what the root repeats to its end.

    seq:
      - id: head
        type: head
      - id: records
        type: record            # with `-sync` in it
        repeat: eos

is a head and units. Both become specs of their own, which keep their places in the file that a person wrote. That of
the units repeats a unit with its place:

    seq:
      - id: unit
        type: thawline_unit     # before, unit, after; start, end
        repeat: eos

An instance keeps the value that it has when it is first used. So a field without bytes asks for the position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thawline.compiler.sync import Sync, checked, is_choice
from thawline.ksy.attributes import Attribute, attributes_of
from thawline.ksy.documents import Keys, Spec, TypeDef, contents_bytes
from thawline.ksy.layouts import NUMBER
from thawline.ksy.names import find_type

REPEATED = {"repeat", "repeat-expr", "repeat-until"}
SYNC_KEYS = ("magic", "align", "checksum")
UNIT, START, END, PLACED = "unit", "start", "end", "thawline_unit"


@dataclass(frozen=True, slots=True)
class Parts:
    """A spec, taken apart."""

    read: Spec
    """What reads units with their places; the spec itself if a file is one structure."""
    type: TypeDef
    """The type of a unit."""
    table: str = ""
    """The field that repeats units; empty if the root is one."""
    place: Keys = ()
    """Where that field is."""
    head: Spec | None = None
    """What describes the bytes before the units."""
    sync: Sync | None = None
    """How a unit is found; None if the file is one structure."""

    def path(self, path: str) -> str:
        """The path of a field in the spec that a person wrote."""
        path = path.removeprefix(f"/types/{self.type.spec.id}") if not self.table else path
        placed = f"/types/{PLACED}/seq/1"
        return "".join(f"/{key}" for key in self.place) if path.startswith(placed) else path


def parts_of(spec: Spec, specs: Mapping[str, Spec]) -> Parts:
    """The parts of a spec; of one without `-sync` where it counts, the whole is the only one."""
    root = TypeDef(spec, (), spec.data)
    if "-sync" in spec.data:
        return Parts(_placed(spec, {"type": spec.id}, {spec.id: _as_type(spec)}), root, sync=_sync(root))
    fields = attributes_of(root, "seq")
    last = fields[-1] if fields else None
    type_ = _type_of(last, specs) if last and last.data.get("repeat") == "eos" else None
    if last is None or type_ is None or "-sync" not in type_.data or is_choice(type_):
        return Parts(spec, root)
    if "id" not in last.data:
        raise spec.error(last.keys, "what repeats needs an id, which is the name of its table")
    once = {key: value for key, value in last.data.items() if key not in REPEATED}
    head = _head(spec, fields[:-1]) if len(fields) > 1 else None
    return Parts(_placed(spec, once, {}, last.keys), type_, last.name, last.keys, head, _sync(type_))


def _sync(type_: TypeDef) -> Sync:
    """How a unit is found; a key that says nothing here is refused, not passed over."""
    sync = checked(type_)
    if unused := sorted(sync.data.keys() - set(SYNC_KEYS)):
        raise sync.error(
            f"{unused[0]} is for specs that state their rows; here, {', '.join(SYNC_KEYS)} count", unused[0]
        )
    return sync


def magic_of(parts: Parts, specs: Mapping[str, Spec]) -> tuple[bytes, int]:
    """The bytes that mark a unit, and how far after its start; none if nothing does."""
    sync = parts.sync
    if sync is None or "magic" not in sync.data:
        return leading(parts.type, specs), 0
    at, found = 0, None
    type_: TypeDef | None = parts.type
    for name in sync.data["magic"].split("."):
        fields = attributes_of(type_, "seq") if type_ else []
        found = next((it for it in fields if it.name == name), None)
        if found is None:
            raise sync.error(f"{sync.data['magic']} is no field of {parts.type.title}", "magic")
        at += sum(_fixed_size(before, sync) for before in fields[: fields.index(found)])
        type_ = _type_of(found, specs)
    if found is None or "contents" not in found.data or "if" in found.data:
        raise sync.error("a magic is a field with `contents`", "magic")
    return contents_bytes(found.data["contents"]), at


def leading(type_: TypeDef | None, specs: Mapping[str, Spec]) -> bytes:
    """The fixed contents that a structure starts with; nothing if it starts with something else."""
    seen: set[str] = set()
    while type_ is not None and type_.title not in seen:
        seen.add(type_.title)
        first = next(iter(attributes_of(type_, "seq")), None)
        if first is None or first.data.keys() & {"if", "process"} or first.data.get("repeat") == "expr":
            return b""
        if "contents" in first.data:
            return contents_bytes(first.data["contents"])
        type_ = _type_of(first, specs)
    return b""


def _type_of(attribute: Attribute, specs: Mapping[str, Spec]) -> TypeDef | None:
    name = attribute.data.get("type")
    return find_type(name.partition("(")[0], attribute.owner, specs) if isinstance(name, str) else None


def _fixed_size(attribute: Attribute, sync: Sync) -> int:
    """The bytes of a field before the magic."""
    data = attribute.data
    number = NUMBER.fullmatch(str(data.get("type")))
    if not data.keys() & {"if", "repeat"}:
        if "contents" in data:
            return len(contents_bytes(data["contents"]))
        if isinstance(data.get("size"), int):
            return int(data["size"])
        if number:
            return int(number[1])
    raise sync.error(f"the magic is at no fixed distance from the start: {attribute.name} has no fixed size", "magic")


def _as_type(spec: Spec) -> dict[str, Any]:
    """The root of a spec as one of its types."""
    return {key: value for key, value in spec.data.items() if key not in {"meta", "types", "enums"}}


def _placed(spec: Spec, unit: Mapping[str, Any], types: Mapping[str, Any], place: Keys = ()) -> Spec:
    """What reads units one after the other, each with its place."""
    before, after = (
        {"id": name, "size": 0, "valid": {"expr": f"{at} >= 0"}} for name, at in (("before", START), ("after", END))
    )
    instances = {name: {"value": "_io.pos"} for name in (START, END)}
    placed = {"seq": [before, {**unit, "id": UNIT}, after], "instances": instances}
    data: dict[str, Any] = {key: spec.data[key] for key in ("meta", "enums") if key in spec.data}
    data["types"] = {**(spec.data.get("types") or {}), **types, PLACED: placed}
    data["seq"] = [{"id": UNIT, "type": PLACED, "repeat": "eos"}]
    moved = {
        (*_new_place(spec, place), *keys[len(place) :]): mark
        for keys, mark in spec.marks.items()
        if _is_below(keys, place)
    }
    return replace(spec, data=data, marks={**spec.marks, **moved})


def _is_below(keys: Keys, place: Keys) -> bool:
    return keys[: len(place)] == place and keys[:1] != ("types",)


def _new_place(spec: Spec, place: Keys) -> Keys:
    """Where the fields of the root are, or the one that repeats, in what reads units."""
    return ("types", PLACED, "seq", 1) if place else ("types", spec.id)


def _head(spec: Spec, fields: list[Attribute]) -> Spec:
    """What describes the bytes before the units."""
    return replace(spec, data={**spec.data, "seq": [dict(attribute.data) for attribute in fields]})
