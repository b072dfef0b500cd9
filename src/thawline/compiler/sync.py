"""How a unit is found again after damage: `-sync` of its type, lowered to the statements of a probe.

    -sync:
      magic: magic
      align: 4
      plausible:
        - len_data
        - meta.key_type == data.key_type
      checksum: body.crc

`magic` is a field of one value or few, at a fixed distance from the start of the unit, and `after` the bytes before the
unit. `plausible` lists what must hold: fields, which must fit and whose `valid` or `contents` count, and conditions.
Without it, all rules count. Whatever they are, the unit must fit the file, or as much of it as ends with the field
`until`. `rising` is the field whose value rises from unit to unit. `checksum` is the field that proves it.

    -sync:
      any: unit

is for a type with a switch: one of its cases starts here, as their own `-sync` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thawline.compiler import ir, subset
from thawline.compiler.lowering import Lowering
from thawline.compiler.pruning import Rule, mentioned, pruned
from thawline.compiler.resolution import Entry, Scope
from thawline.compiler.subset import Attribute
from thawline.ksy.attributes import attributes_of
from thawline.ksy.documents import Spec, SpecError, TypeDef, contents_bytes, types_of
from thawline.ksy.names import find_type, inherited
from thawline.ksy.shapes import SYNC_KEYS

PATH = re.compile(r"[a-z]\w*(\.[a-z]\w*)*")
LEAST_CHOICE = 2
WIDEST = re.compile(r"u8(le|be)?")
LARGEST_ALIGNMENT = 1 << 16


@dataclass(frozen=True, slots=True)
class Sync:
    """What `-sync` of a type says."""

    type: TypeDef
    data: Mapping[str, Any]

    def error(self, message: str, *keys: str | int) -> SpecError:
        """The refusal of the hint, or of a part of it."""
        return self.type.spec.error((*self.type.keys, "-sync", *keys), message)


def synced(specs: Mapping[str, Spec]) -> Iterator[tuple[str, Sync]]:
    """Every type with `-sync`, with the name of its probe: that of its table, or its own."""
    for type_ in (type_ for spec in specs.values() for type_ in types_of(spec)):
        if "-sync" in type_.data:
            yield probe_name(type_), checked(type_)


def is_choice(type_: TypeDef) -> bool:
    """Whether `-sync` of a type names a switch."""
    return isinstance(type_.data["-sync"], dict) and "any" in type_.data["-sync"]


def probe_name(type_: TypeDef) -> str:
    """The name of a type's probe."""
    return str(type_.data.get("-columnar", {}).get("rows") or type_.title.replace("::", "__"))


def checked(type_: TypeDef) -> Sync:
    """The `-sync` of a type; refused if a key is unknown or has a value of another kind."""
    sync = Sync(type_, type_.data["-sync"])
    if not isinstance(sync.data, dict) or not sync.data:
        raise sync.error(f"-sync says how a unit is found: {', '.join(SYNC_KEYS)}")
    for key, value in sync.data.items():
        if key not in SYNC_KEYS:
            raise sync.error(f"unknown key {key!r}; -sync has {', '.join(SYNC_KEYS)}", key)
        if type(value) is not SYNC_KEYS[key]:
            raise sync.error(f"{key} cannot be {value!r}", key)
    if not 1 <= sync.data.get("align", 1) <= LARGEST_ALIGNMENT:
        raise sync.error(f"align is 1 to {LARGEST_ALIGNMENT}", "align")
    if "any" in sync.data and len(sync.data) > 1:
        raise sync.error("with any, the cases say the rest", "any")
    return sync


def lower_sync(name: str, sync: Sync, specs: Mapping[str, Spec]) -> ir.Probe:
    """The probe that `-sync` describes."""
    return _any(name, sync, specs) if "any" in sync.data else _SyncLowering(sync, specs).probe(name)


def _any(name: str, sync: Sync, specs: Mapping[str, Spec]) -> ir.Probe:
    """The probe that finds what any case of a switch is found by."""
    switch = next((it for it in attributes_of(sync.type, "seq") if it.name == sync.data["any"]), None)
    cases = switch.data.get("type") if switch else None
    if switch is None or not isinstance(cases, dict):
        raise sync.error(f"{sync.data['any']} is no field of {sync.type.title} with a switch", "any")
    types = {it.title: it for case in cases.get("cases", {}).values() if (it := find_type(case, switch.owner, specs))}
    found = [checked(type_) for type_ in types.values() if "-sync" in type_.data]
    units = tuple(lower_sync(probe_name(it.type), it, specs) for it in found)
    if len(units) < LEAST_CHOICE or len({unit.offset for unit in units}) > 1 or any(it.units for it in units):
        raise sync.error("at least two cases need a -sync, with a magic at the same distance from the start", "any")
    marks = tuple(dict.fromkeys(mark for unit in units for mark in unit.marks))
    return ir.Probe(name, sync.type.title, [], (), marks, units[0].offset, units=units)


def derived(name: str, type_: TypeDef, specs: Mapping[str, Spec]) -> ir.Probe:
    """The probe of a type without `-sync`: fixed contents at its start, all of its rules, and its checksum."""
    return _SyncLowering(Sync(type_, {}), specs).probe(name)


class _SyncLowering(Lowering):
    """The fields of a unit with the rules that count, and no columns."""

    def __init__(self, sync: Sync, specs: Mapping[str, Spec]) -> None:
        super().__init__(specs)
        self.sync = sync
        self.proof: ir.Proof | None = None
        self.is_derived = not sync.data
        named = [item for item in sync.data.get("plausible", ()) if PATH.fullmatch(str(item))]
        self.rules = {_rule_of(self._field(item, "plausible")) for item in named}
        self.magic = self._field(sync.data["magic"], "magic") if "magic" in sync.data else None
        self.stored = self._field(sync.data["checksum"], "checksum") if "checksum" in sync.data else None

    def _field(self, path: str, key: str) -> Attribute:
        """The field that a dotted path leads to."""
        type_: TypeDef | None = self.sync.type
        found: Attribute | None = None
        for name in str(path).split("."):
            own = {it.name: it for it in subset.fields(type_)} if type_ else {}
            if name not in own:
                raise self.sync.error(f"{path} is no field of {self.sync.type.title}", key)
            found = own[name]
            type_ = find_type(str(found.data.get("type")), found.owner, self.build.specs)
        assert found is not None  # noqa: S101 - a path has at least one name
        return found

    def probe(self, name: str) -> ir.Probe:
        type_, build = self.sync.type, self.build
        scope = Scope(type_, None, None, ir.END, None, [], "", (), build.depth)
        self.lower_type(scope)
        if not ir.least_size(build.block):
            raise self.sync.error("a unit that may be empty would be found everywhere")
        if self.stored and not self.proof:
            message = f"no instance says with `-columnar: checksum` what {self.stored.name} covers"
            raise self.sync.error(message, "checksum")
        for index, item in enumerate(self.sync.data.get("plausible", ())):
            if not PATH.fullmatch(str(item)):
                self._condition(scope, index, item)
        body = pruned(build.block, self.rules, self.proof) if "plausible" in self.sync.data else build.block
        marks, offset = self._marked(body)
        alignment = self.sync.data.get("align", 1)
        variables = tuple(name for name in build.variables if name in mentioned(body))
        return ir.Probe(name, type_.title, body, variables, marks, offset, alignment, self.proof, self._rising(scope))

    def _rising(self, scope: Scope) -> ir.Variable | None:
        if "rising" not in self.sync.data:
            return None
        found = scope.names.get(self.sync.data["rising"])
        if not isinstance(found, ir.Variable):
            raise self.sync.error(f"{self.sync.data['rising']} is no integer of {self.sync.type.title}", "rising")
        return found

    def _condition(self, scope: Scope, index: int, item: Any) -> None:
        keys = (*self.sync.type.keys, "-sync", "plausible", index)
        attribute = Attribute(self.sync.type, keys, f"plausible_{index}", {})
        condition = self.build.condition(attribute, scope, item)
        self.build.add(ir.Check(condition, attribute.failure(f"not plausible: {item}"), ir.START))

    def _marked(self, body: list[ir.Statement]) -> tuple[tuple[bytes, ...], int]:
        """The bytes that may mark a unit, and how many are before them."""
        if self.is_derived:
            first = next(ir.at_fixed_places(body), None)
            is_fixed = first and isinstance(first[1], ir.Expect) and not first[0]
            return ((first[1].contents,), 0) if is_fixed else ((), 0)  # type: ignore[index, union-attr]
        before = contents_bytes(self.sync.data.get("after", []))
        if self.magic is None:
            return ((before,), -len(before)) if before else ((), 0)
        contents = [*self._contents(self.magic)]
        for offset, statement in ir.at_fixed_places(body):
            if (statement.failure.spec, statement.failure.path) == _rule_of(self.magic):
                if before and offset:
                    raise self.sync.error("after is for a unit that starts with its magic", "after")
                return tuple(before + mark for mark in contents), offset - len(before)
        raise self.sync.error("the distance of the magic from the start of the unit is not fixed", "magic")

    def _contents(self, field: Attribute) -> Iterator[bytes]:
        if "contents" in field.data:
            yield contents_bytes(field.data["contents"])
            return
        rule, found = field.data.get("valid"), subset.INTEGER.fullmatch(str(field.data.get("type")))
        stated = rule.get("any-of", [rule.get("eq")]) if isinstance(rule, dict) else [rule]
        values = [value for value in stated if type(value) is int]
        if not found or len(values) < len(stated):
            raise self.sync.error(f"{field.name} needs contents, or a single value or any-of as `valid`", "magic")
        order = str(field.data["type"])[2:] or inherited(field.owner, "endian")
        size = int(str(field.data["type"])[1])
        yield from ((value % (1 << 8 * size)).to_bytes(size, "big" if order == "be" else "little") for value in values)

    def fields(self, type_: TypeDef) -> list[Attribute]:
        """The fields of a type, without the rules that do not count; of a unit, up to the last that is looked at."""
        found = [self._relaxed(attribute) for attribute in super().fields(type_)]
        if "until" in self.sync.data and type_.title == self.sync.type.title:
            self._field(self.sync.data["until"], "until")
            found = found[: 1 + [it.name for it in found].index(self.sync.data["until"].partition(".")[0])]
        return found

    def compute(self, attribute: Attribute, scope: Scope, *, may_be_skipped: bool = False) -> Entry | None:
        """The value of an instance, without a rule that does not count."""
        return super().compute(self._relaxed(attribute), scope, may_be_skipped=may_be_skipped)

    def _relaxed(self, attribute: Attribute) -> Attribute:
        is_magic = self.magic is not None and _rule_of(attribute) == _rule_of(self.magic)
        if "plausible" not in self.sync.data or is_magic or _rule_of(attribute) in self.rules:
            return attribute
        if "contents" in attribute.data:
            return attribute.resized(len(contents_bytes(attribute.data["contents"])))
        # Columns have no unsigned integers of 64 bits. As bytes they can be passed over.
        return attribute.resized(8) if WIDEST.fullmatch(str(attribute.data.get("type"))) else attribute.without("valid")

    def lower_checksum(self, attribute: Attribute, scope: Scope) -> None:
        """Where the bytes are that the checksum covers, if it proves the unit."""
        stored = scope.names.get(attribute.name.removesuffix("_input"))
        if not self.is_derived and not (self.stored and _names(self.stored, attribute)):
            return
        attribute.is_only("the range of a checksum")
        if not isinstance(stored, ir.Variable) or scope.base is None or self.build.optional:
            raise attribute.error("a checksum must be one of the unit's own", "-columnar")
        start = self.checked_place(attribute, scope, scope.base, "pos")
        end = self.checked_place(attribute, scope, start, "size") if "size" in attribute.data else scope.end
        # The stream ends before the next statements: its end must have a name that stays.
        self.proof = ir.Proof(attribute.hints["checksum"], start, self.build.assign("covered_end", end), stored)


def _rule_of(attribute: Attribute) -> Rule:
    return attribute.owner.spec.id, attribute.path


def _names(stored: Attribute, covered: Attribute) -> bool:
    """Whether an instance is what the stored checksum covers."""
    return stored.owner.title == covered.owner.title and covered.name == f"{stored.name}_input"


__all__ = ["Sync", "checked", "derived", "is_choice", "lower_sync", "probe_name", "synced"]
