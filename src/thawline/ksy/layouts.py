"""Byte tables of the types of a spec, as rows and as Markdown.

A reviewer sees a change of the wire as a changed table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from thawline.ksy.document_specs import members_of
from thawline.ksy.documents import Spec, TypeDef, contents_bytes, types_of
from thawline.ksy.names import find_type

NUMBER = re.compile(r"[usf]([1248])(le|be)?")
BITS = re.compile(r"b(\d+)(le|be)?")
AFTER = "end of "
HEADING = "| offset | size | type | name | spec name | meaning |\n| --- | --- | --- | --- | --- | --- |\n"
MAX_DEPTH = 16
"""The deepest nesting of structures whose size is computed."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A size: a constant part in bits, and terms that depend on the data."""

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


@dataclass(frozen=True, slots=True)
class Row:
    """A field of a type, or an instance: its offset, its size, its type."""

    name: str
    kind: Literal["field", "elsewhere", "value"]
    """In sequence, read at a position of its own, or calculated."""
    offset: str
    size: str
    type: str
    spec_name: str
    facts: str
    """Its conditions, repetition and rules."""
    doc: str
    extent: Extent | None = None
    """The size of one occurrence, if a constant or an expression gives it."""
    start: Extent | None = None
    """The offset of a field in sequence."""

    @property
    def meaning(self) -> str:
        """Facts and documentation as one paragraph of Markdown."""
        return " ".join(part for part in (f"*{self.facts}.*" if self.facts else "", self.doc) if part)


def rows_of(type_: TypeDef, specs: Mapping[str, Spec]) -> list[Row]:
    """The fields of a type in file order, then its instances."""
    return [*_fields(type_, specs), *_instances(type_, specs)]


def name_of(attribute: Mapping[str, Any], index: int) -> str:
    """The id of a field; the compiler numbers those that have none."""
    return str(attribute.get("id", f"_unnamed{index}"))


def _fields(type_: TypeDef, specs: Mapping[str, Spec]) -> Iterator[Row]:
    offset = Extent()
    for index, attribute in enumerate(type_.data.get("seq") or []):
        name, size = name_of(attribute, index), extent(attribute, type_, specs)
        row = _row(name, "field", str(offset), _size_text(attribute, size), attribute, size)
        yield replace(row, start=offset)
        is_known = size is not None and not is_optional(attribute)
        offset = offset + size if size is not None and is_known else Extent(terms=(AFTER + name,))


def _instances(type_: TypeDef, specs: Mapping[str, Spec]) -> Iterator[Row]:
    for name, instance in (type_.data.get("instances") or {}).items():
        if "value" in instance:
            yield _row(name, "value", "", "", {**instance, "type": f"= {instance['value']}"}, None)
        else:
            size = instance.get("size", "to the end" if instance.get("size-eos") else "")
            offset = f"at {instance.get('pos', 'the current position')}"
            yield _row(name, "elsewhere", offset, str(size), instance, extent(instance, type_, specs))


def _row(
    name: str,
    kind: Literal["field", "elsewhere", "value"],
    offset: str,
    size: str,
    attribute: Mapping[str, Any],
    length: Extent | None,
) -> Row:
    spec_name, doc = str(attribute.get("-orig-id", "")), str(attribute.get("doc", ""))
    return Row(name, kind, offset, size, type_text(attribute), spec_name, facts(attribute), doc, length)


def type_text(attribute: Mapping[str, Any]) -> str:
    """What a field is, in a few words."""
    if "contents" in attribute:
        return f"contents {contents_bytes(attribute['contents'])!r}"
    type_ = attribute.get("type") or "bytes"
    if isinstance(type_, dict):
        cases = ", ".join(f"{case}: {name}" for case, name in (type_.get("cases") or {}).items())
        type_ = f"by {type_['switch-on']}: {cases}"
    return f"{type_} ({attribute['enum']})" if "enum" in attribute else str(type_)


def facts(attribute: Mapping[str, Any]) -> str:
    """Condition, repetition and rule of a field, in a few words."""
    parts = [f"only if {attribute['if']}" if "if" in attribute else ""]
    if "repeat" in attribute:
        parts.append({"eos": "repeated to the end"}.get(attribute["repeat"], ""))
        parts.append(f"repeated {attribute['repeat-expr']} times" if "repeat-expr" in attribute else "")
        parts.append(f"repeated until {attribute['repeat-until']}" if "repeat-until" in attribute else "")
    parts.append(f"valid {valid_text(attribute['valid'])}" if "valid" in attribute else "")
    return "; ".join(part for part in parts if part)


def valid_text(rule: Any) -> str:
    """A `valid` in a few words."""
    if rule == {"in-enum": True}:
        return "if it is in the enum"
    if isinstance(rule, dict):
        return ", ".join(f"{key} {value}" for key, value in rule.items())
    return f"= {rule}"


def is_optional(attribute: Mapping[str, Any]) -> bool:
    """Whether a field may be absent, or repeated."""
    return "if" in attribute or "repeat" in attribute


def _size_text(attribute: Mapping[str, Any], size: Extent | None) -> str:
    if "terminator" in attribute:
        terminator = attribute["terminator"]
        return f"to {terminator:#04x}" if isinstance(terminator, int) else f"to {terminator}"
    if attribute.get("size-eos"):
        return "to the end"
    if size is None:
        return "varies"
    return f"{size.bits} bit" if size.bits % 8 else str(size)


def extent(
    attribute: Mapping[str, Any], type_: TypeDef, specs: Mapping[str, Spec], depth: int = MAX_DEPTH
) -> Extent | None:
    """Size of one occurrence; None if no constant and no expression gives it."""
    if "contents" in attribute:
        return Extent(8 * len(contents_bytes(attribute["contents"])))
    if "size" in attribute:
        size = attribute["size"]
        return Extent(8 * size) if isinstance(size, int) else Extent(terms=(_operand(str(size)),))
    name = attribute.get("type")
    if isinstance(name, str):
        if found := NUMBER.fullmatch(name):
            return Extent(8 * int(found[1]))
        if found := BITS.fullmatch(name):
            return Extent(int(found[1]))
        if nested := find_type(name.partition("(")[0], type_, specs):
            return constant_size(nested, specs, depth - 1) if depth else None
    return None


def _operand(expression: str) -> str:
    return expression if re.fullmatch(r"[\w.]+", expression) else f"({expression})"


def constant_size(type_: TypeDef, specs: Mapping[str, Spec], depth: int = MAX_DEPTH) -> Extent | None:
    """Size of a type; None if it depends on the data."""
    total = Extent()
    for attribute in type_.data.get("seq") or []:
        size = extent(attribute, type_, specs, depth)
        if size is None or size.terms or is_optional(attribute):
            return None
        total += size
    return total


def sync_text(type_: TypeDef) -> str:
    """How units of a type are found after damage, in a few words; empty if the spec does not say."""
    sync = type_.data.get("-sync")
    if not isinstance(sync, dict):
        return ""
    if "any" in sync:
        return f"by what any case of {sync['any']} is found by"
    parts = [f"by {sync['magic']}" if "magic" in sync else "at any position"]
    parts.append(f"after {contents_bytes(sync['after']).hex(' ')}" if "after" in sync else "")
    parts.append(f"at multiples of {sync['align']}" if "align" in sync else "")
    listed = sync.get("plausible")
    parts.append(
        "if all rules hold" if listed is None else f"if plausible: {'; '.join(map(str, listed))}" if listed else ""
    )
    parts.append(f"whole up to {sync['until']}" if "until" in sync else "")
    parts.append(f"with a {sync['rising']} that rises" if "rising" in sync else "")
    parts.append(f"proven by {sync['checksum']}" if "checksum" in sync else "")
    return ", ".join(part for part in parts if part)


def render(spec: Spec, specs: Mapping[str, Spec]) -> str:
    """The Markdown page of a spec: a table for each type, then its enums."""
    title = (spec.data.get("meta") or {}).get("title", "")
    page = [f"# {spec.id}\n\n{title}\n\n{_paragraph(spec.data)}".rstrip("\n") + "\n"]
    page += [_type_section(type_, specs) for type_ in described_types(spec)]
    page += [_enum_section(name, members or {}) for name, members in (spec.data.get("enums") or {}).items()]
    return "\n".join(page)


def render_document(spec: Spec) -> str:
    """The Markdown page of a document spec: a table of its members."""
    head = f"# {spec.id}\n\n{spec.data['meta'].get('title', '')}\n\n{_paragraph(spec.data)}"
    rows = "".join(f"| {it.type} | {it.presence} | {it.name} | {it.meaning} |\n" for it in members_of(spec))
    return f"{head}| type | presence | name | meaning |\n| --- | --- | --- | --- |\n{rows}"


def described_types(spec: Spec) -> Iterator[TypeDef]:
    """The types that have something to show."""
    return (type_ for type_ in types_of(spec) if type_.data.get("seq") or type_.data.get("instances"))


def _type_section(type_: TypeDef, specs: Mapping[str, Spec]) -> str:
    title = "" if not type_.names else f"## {type_.names[-1]}\n\n{_paragraph(type_.data)}"
    params = "".join(
        f"Parameter `{item['id']}`: {item.get('type', 'bytes')}.\n\n" for item in type_.data.get("params") or []
    )
    found = f"\nFound after damage {sync_text(type_)}.\n" if sync_text(type_) else ""
    return f"{title}{params}{HEADING}{''.join(map(_line, rows_of(type_, specs)))}{found}"


def _paragraph(data: Mapping[str, Any]) -> str:
    return f"{str(data['doc']).strip()}\n\n" if data.get("doc") else ""


def _line(row: Row) -> str:
    cells = (row.offset, row.size, row.type, row.name, row.spec_name, row.meaning)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ").strip() for cell in cells) + " |\n"


def _enum_section(name: str, members: Mapping[int, Any]) -> str:
    rows = "".join(_enum_row(value, member) for value, member in members.items())
    return f"## enum {name}\n\n| value | name | spec name | meaning |\n| --- | --- | --- | --- |\n{rows}"


def _enum_row(value: int, member: Any) -> str:
    entry = member if isinstance(member, dict) else {"id": member}
    return f"| {value} ({value:#x}) | {entry['id']} | {entry.get('-orig-id', '')} | {entry.get('doc', '').strip()} |\n"
