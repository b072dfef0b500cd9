"""What a spec says about a field, an instance or a parameter, each fact by itself.

`type: u4` under `endian: le` and `type: u4le` are the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thawline.ksy.documents import Keys, Spec, TypeDef, contents_bytes, types_of
from thawline.ksy.layouts import BITS, NUMBER, name_of, valid_text
from thawline.ksy.names import inherited

Section = Literal["params", "seq", "instances"]
SECTIONS: tuple[Section, ...] = ("params", "seq", "instances")
CALL = re.compile(r"([\w:]+)\((.*)\)", re.DOTALL)
TOKEN = re.compile(r'"[^"]*"|\'[^\']*\'|0x[0-9a-fA-F_]+|\d[\d_]*|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|::|\S')
COVERED = "_input"
"""The ending of an instance that is the bytes that a checksum covers."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field, an instance or a parameter of a type."""

    name: str
    section: Section
    index: int
    data: Mapping[str, Any]
    owner: TypeDef

    @property
    def keys(self) -> Keys:
        """Its place in the spec."""
        return (*self.owner.keys, self.section, self.name if self.section == "instances" else self.index)

    @property
    def path(self) -> str:
        """Its name and that of its type, as a person would say it."""
        return f"{self.owner.title}.{self.name}"

    @property
    def place(self) -> str:
        """file:line:column."""
        return self.owner.spec.place(self.keys)

    @property
    def is_checksum_range(self) -> bool:
        """Whether it is the bytes that a checksum covers."""
        hints = self.data.get("-columnar") or {}
        is_named_so = self.section == "instances" and self.name.endswith(COVERED)
        return "checksum" in hints or (is_named_so and "value" not in self.data)


def attributes_of(type_: TypeDef, section: Section) -> list[Attribute]:
    """The parameters, fields or instances of a type, in the order of the file."""
    if section == "instances":
        named = (type_.data.get("instances") or {}).items()
        return [Attribute(name, section, index, data, type_) for index, (name, data) in enumerate(named)]
    listed = enumerate(type_.data.get(section) or [])
    return [Attribute(name_of(data, index), section, index, data, type_) for index, data in listed]


def all_attributes(spec: Spec) -> Iterator[Attribute]:
    """Every field, instance and parameter of a spec."""
    for type_ in types_of(spec):
        for section in SECTIONS:
            yield from attributes_of(type_, section)


Facts = dict[str, str]


def facts_of(attribute: Attribute) -> Facts:
    """The facts about it, by aspect."""
    found = {
        **_type_facts(attribute),
        **_size_facts(attribute.data),
        **_text_facts(attribute),
        **_repeat_facts(attribute.data),
        **_plain_facts(attribute.data),
    }
    return {aspect: text for aspect, text in found.items() if text}


def _type_facts(attribute: Attribute) -> Facts:
    data = attribute.data
    if "contents" in data:
        return {"type": "contents", "contents": contents_bytes(data["contents"]).hex(" ")}
    if "value" in data:
        return {"type": "value", "value": expression(data["value"])}
    type_ = data.get("type") or "bytes"
    if isinstance(type_, dict):
        cases = {expression(case): str(name) for case, name in (type_.get("cases") or {}).items()}
        listed = "\n".join(f"{case}: {name}" for case, name in sorted(cases.items()))
        return {"type": "switch", "switch-on": expression(type_["switch-on"]), "cases": listed}
    if call := CALL.fullmatch(type_):
        return {"type": call[1], "arguments": expression(call[2])}
    return _number_facts(type_, attribute)


def _number_facts(type_: str, attribute: Attribute) -> Facts:
    if found := NUMBER.fullmatch(type_):
        suffix = found[2] or ""
        endian = "" if found[1] == "1" else suffix or _inherited(attribute, "endian")
        return {"type": type_.removesuffix(suffix), "endian": endian}
    if found := BITS.fullmatch(type_):
        suffix = found[2] or ""
        return {"type": type_.removesuffix(suffix), "endian": suffix or _inherited(attribute, "bit-endian") or "be"}
    return {"type": type_}


def _inherited(attribute: Attribute, setting: str) -> str:
    value = inherited(attribute.owner, setting)
    return "" if value is None else expression(value) if not isinstance(value, dict) else f"by {value.get('switch-on')}"


def _size_facts(data: Mapping[str, Any]) -> Facts:
    found = {"size": expression(data["size"])} if "size" in data else {}
    if data.get("size-eos"):
        found["size"] = "to the end"
    if "terminator" in data:
        keys = ("consume", "include", "eos-error")
        options = "".join(f", {key} {str(data[key]).lower()}" for key in keys if key in data)
        found["terminator"] = f"{expression(data['terminator'])}{options}"
    return found


def _text_facts(attribute: Attribute) -> Facts:
    data = attribute.data
    is_text = data.get("type") in ("str", "strz")
    encoding = str(data.get("encoding") or _inherited(attribute, "encoding")) if is_text else ""
    return {"encoding": encoding.upper(), "pad-right": str(data.get("pad-right", ""))}


def _repeat_facts(data: Mapping[str, Any]) -> Facts:
    match data.get("repeat"):
        case None:
            return {}
        case "eos":
            return {"repeat": "to the end"}
        case "expr":
            return {"repeat": f"{expression(data.get('repeat-expr', ''))} times"}
        case "until":
            return {"repeat": f"until {expression(data.get('repeat-until', ''))}"}
    return {"repeat": str(data["repeat"])}


def _plain_facts(data: Mapping[str, Any]) -> Facts:
    found = {key: expression(data[key]) for key in ("pos", "io", "if", "process", "enum") if key in data}
    if "valid" in data:
        found["valid"] = valid_text(data["valid"])
    found["doc"] = " ".join(str(data.get("doc", "")).split())
    found["doc-ref"] = str(data.get("doc-ref", ""))
    found["-orig-id"] = str(data.get("-orig-id", ""))
    hints = data.get("-columnar") or {}
    found["-columnar"] = ", ".join(f"{key}: {value}" for key, value in hints.items())
    found["-overlay"] = "yes" if data.get("-overlay") else ""
    return found


def expression(source: object) -> str:
    """An expression as its spec writes it, on one line."""
    return str(source).lower() if isinstance(source, bool) else " ".join(str(source).split())


def words(source: str) -> list[str]:
    """The tokens of an expression in one spelling: numbers in decimal, no brackets around the whole.

    >>> words("( len_a+0x10 )"), words("len_a + 16")
    (['len_a', '+', '16'], ['len_a', '+', '16'])
    """
    found = [_word(token) for token in TOKEN.findall(source)]
    while len(found) > 1 and _is_enclosed(found):
        found = found[1:-1]
    return found


def _word(token: str) -> str:
    try:
        return str(int(token.replace("_", ""), 0)) if token[0].isdigit() else token
    except ValueError:
        return token


def _is_enclosed(found: list[str]) -> bool:
    depth = 0
    for index, word in enumerate(found):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return index == len(found) - 1 and word == ")"
    return False
