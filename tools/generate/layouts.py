"""Byte-layout tables: a spec as Markdown, so that a reviewer sees a wire change as a changed table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.ksy import Spec, TypeDef, contents_bytes, find_type, types_of

INTEGER = re.compile(r"[usf]([1248])(le|be)?")
BITS = re.compile(r"b(\d+)(le|be)?")
AFTER = "end of "
HEADING = "| offset | size | type | name | spec name | meaning |\n| --- | --- | --- | --- | --- | --- |\n"


@dataclass(frozen=True, slots=True)
class Extent:
    """A number of bytes: a constant part in bits, and the terms that only the data tells."""

    bits: int = 0
    terms: tuple[str, ...] = ()

    def __add__(self, other: Extent) -> Extent:
        return Extent(self.bits + other.bits, self.terms + other.terms)

    def __str__(self) -> str:
        whole, bits = divmod(self.bits, 8)
        constant = [str(whole)] if whole or not self.terms else []
        counts_from_a_field = self.terms and self.terms[0].startswith(AFTER)
        text = " + ".join([*self.terms, *constant] if counts_from_a_field else [*constant, *self.terms])
        return f"{text}, bit {7 - bits}" if bits else text


def render(spec: Spec, specs: Mapping[str, Spec]) -> str:
    """The Markdown page of a spec: a table for each type, then its enums."""
    meta = spec.data["meta"]
    page = [f"# {spec.id}\n\n{meta['title']}\n\n{_paragraph(spec.data)}".rstrip("\n") + "\n"]
    described = (type_ for type_ in types_of(spec) if type_.data.get("seq") or type_.data.get("instances"))
    page += [_type_section(type_, specs) for type_ in described]
    page += [_enum_section(name, members) for name, members in (spec.data.get("enums") or {}).items()]
    return "\n".join(page)


def _type_section(type_: TypeDef, specs: Mapping[str, Spec]) -> str:
    title = "" if not type_.names else f"## {type_.names[-1]}\n\n{_paragraph(type_.data)}"
    params = "".join(
        f"Parameter `{item['id']}`: {item.get('type', 'bytes')}.\n\n" for item in type_.data.get("params") or []
    )
    rows = "".join(_seq_rows(type_, specs)) + "".join(_instance_rows(type_))
    return f"{title}{params}{HEADING}{rows}"


def _paragraph(data: Mapping[str, Any]) -> str:
    return f"{data['doc'].strip()}\n\n" if data.get("doc") else ""


def _seq_rows(type_: TypeDef, specs: Mapping[str, Spec]) -> Iterator[str]:
    offset = Extent()
    for attribute in type_.data.get("seq") or []:
        size = _extent(attribute, type_, specs)
        yield _row(str(offset), _size_text(attribute, size), attribute["id"], attribute)
        offset = (
            offset + size
            if size is not None and not _is_optional(attribute)
            else Extent(terms=(AFTER + attribute["id"],))
        )


def _instance_rows(type_: TypeDef) -> Iterator[str]:
    for name, instance in (type_.data.get("instances") or {}).items():
        if "value" in instance:
            yield _row("", "", name, {**instance, "type": f"= {instance['value']}"})
        else:
            size = instance.get("size", "to the end" if instance.get("size-eos") else "")
            yield _row(f"at {instance['pos']}", str(size), name, instance)


def _row(offset: str, size: str, name: str, attribute: Mapping[str, Any]) -> str:
    cells = (offset, size, _type_text(attribute), name, str(attribute.get("-orig-id", "")), _meaning(attribute))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ").strip() for cell in cells) + " |\n"


def _type_text(attribute: Mapping[str, Any]) -> str:
    if "contents" in attribute:
        return f"contents {contents_bytes(attribute['contents'])!r}"
    type_ = attribute.get("type", "bytes")
    if isinstance(type_, dict):
        cases = ", ".join(f"{case}: {name}" for case, name in type_["cases"].items())
        type_ = f"by {type_['switch-on']}: {cases}"
    return f"{type_} ({attribute['enum']})" if "enum" in attribute else str(type_)


def _meaning(attribute: Mapping[str, Any]) -> str:
    parts = [f"only if {attribute['if']}" if "if" in attribute else ""]
    if "repeat" in attribute:
        parts.append({"eos": "repeated to the end"}.get(attribute["repeat"], ""))
        parts.append(f"repeated {attribute['repeat-expr']} times" if "repeat-expr" in attribute else "")
        parts.append(f"repeated until {attribute['repeat-until']}" if "repeat-until" in attribute else "")
    parts.append(f"valid {_valid_text(attribute['valid'])}" if "valid" in attribute else "")
    facts = "; ".join(part for part in parts if part)
    return " ".join(part for part in (f"*{facts}.*" if facts else "", attribute.get("doc", "")) if part)


def _valid_text(rule: Any) -> str:
    if rule == {"in-enum": True}:
        return "if it is in the enum"
    if isinstance(rule, dict):
        return ", ".join(f"{key} {value}" for key, value in rule.items())
    return f"= {rule}"


def _is_optional(attribute: Mapping[str, Any]) -> bool:
    return "if" in attribute or "repeat" in attribute


def _size_text(attribute: Mapping[str, Any], size: Extent | None) -> str:
    if "terminator" in attribute:
        return f"to {attribute['terminator']:#04x}"
    if attribute.get("size-eos"):
        return "to the end"
    if size is None:
        return "varies"
    return f"{size.bits} bit" if size.bits % 8 else str(size)


def _extent(attribute: Mapping[str, Any], type_: TypeDef, specs: Mapping[str, Spec]) -> Extent | None:
    """Size of one occurrence; None where no constant and no expression tells it."""
    if "contents" in attribute:
        return Extent(8 * len(contents_bytes(attribute["contents"])))
    if "size" in attribute:
        size = attribute["size"]
        return Extent(8 * size) if isinstance(size, int) else Extent(terms=(_operand(str(size)),))
    name = attribute.get("type")
    if isinstance(name, str):
        if found := INTEGER.fullmatch(name):
            return Extent(8 * int(found[1]))
        if found := BITS.fullmatch(name):
            return Extent(int(found[1]))
        if nested := find_type(name.partition("(")[0], type_, specs):
            return _constant(nested, specs)
    return None


def _operand(expression: str) -> str:
    return expression if re.fullmatch(r"[\w.]+", expression) else f"({expression})"


def _constant(type_: TypeDef, specs: Mapping[str, Spec]) -> Extent | None:
    """Size of a type, where it is the same for all data."""
    total = Extent()
    for attribute in type_.data.get("seq") or []:
        size = _extent(attribute, type_, specs)
        if size is None or size.terms or _is_optional(attribute):
            return None
        total += size
    return total


def _enum_section(name: str, members: Mapping[int, Any]) -> str:
    rows = "".join(_enum_row(value, member) for value, member in members.items())
    return f"## enum {name}\n\n| value | name | spec name | meaning |\n| --- | --- | --- | --- |\n{rows}"


def _enum_row(value: int, member: Any) -> str:
    entry = member if isinstance(member, dict) else {"id": member}
    return f"| {value} ({value:#x}) | {entry['id']} | {entry.get('-orig-id', '')} | {entry.get('doc', '').strip()} |\n"
