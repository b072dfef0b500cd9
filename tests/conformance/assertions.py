"""The assertions of Kaitai's own tests (`.kst`), held against a row: their path is the path in the row."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

import yaml

from thawline.compiler.language import Failure, grammar

KINDS = {
    "EndOfStreamError": "end",
    "UndecidedEndiannessError": "endian",
    "ValidationNotEqualError": "not-equal",
    "ValidationLessThanError": "less-than",
    "ValidationGreaterThanError": "greater-than",
    "ValidationNotAnyOfError": "not-any-of",
    "ValidationNotInEnumError": "not-in-enum",
    "ValidationExprError": "expr",
    "ConversionError": "value",
}
"""What Kaitai's exceptions are here; `contents` breaks with the same exception as `valid`."""
ALTERNATIVES = {"u": "int", "s": "int", "b": "int", "f": "float"}


@dataclass(frozen=True, slots=True)
class Case:
    """One test of Kaitai's: a spec, a file, and what must hold."""

    id: str
    spec: Path
    data: Path
    assertions: tuple[dict[str, Any], ...]
    exception: str


def moved(data: bytes, key: int, is_forward: bool, _: object) -> bytes:  # noqa: FBT001 - as a spec calls it
    """The custom process of Kaitai's tests: a key is added to each byte, or taken from it."""
    by = key if is_forward else -key
    return bytes((byte + by) & 255 for byte in data)


def cases(folder: Path) -> list[Case]:
    """All tests below a folder of Kaitai's tests."""
    found = []
    for file in sorted((folder / "spec").glob("*.kst")):
        kst = yaml.safe_load(file.read_text(encoding="utf-8"))
        exception = kst.get("exception") or ""
        if isinstance(exception, dict):
            exception = exception["type"]
        found.append(
            Case(
                kst["id"],
                folder / "formats" / f"{kst['id']}.ksy",
                folder / "src" / kst["data"],
                tuple(kst.get("asserts") or ()),
                exception.partition("<")[0],
            )
        )
    return found


def broken(case: Case, row: dict[str, Any] | None, failures: list[Failure]) -> list[str]:
    """The assertions that do not hold."""
    wrong = []
    if case.exception:
        kinds = {failure.kind.replace("contents", "not-equal") for failure in failures}
        if KINDS[case.exception] not in kinds:
            wrong.append(f"{case.exception} is missing among {failures}")
    elif row is None:
        return [f"no row: {failures}"]
    return wrong + [line for one in case.assertions if (line := _broken(one, row or {}, failures))]


def _broken(one: dict[str, Any], row: dict[str, Any], failures: list[Failure]) -> str:
    actual = one["actual"]
    try:
        found = _value(grammar.parse(actual), row)
        if "exception" in one:
            exception = one["exception"]
            kind = KINDS[(exception["type"] if isinstance(exception, dict) else exception).partition("<")[0]]
            is_told = found is None and any(failure.kind == kind for failure in failures)
            return "" if is_told else f"{actual}: {found!r}, without {kind} among {failures}"
        wanted = _value(grammar.parse(one["expected"]), row)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        return f"{actual}: {type(error).__name__} {error} {failures}"
    if isinstance(wanted, float) and isinstance(found, float) and isclose(found, wanted, rel_tol=1e-6):
        return ""  # a float of four bytes
    return "" if _plain(found) == _plain(wanted) else f"{actual}: {found!r} is not {wanted!r} {failures}"


def _plain(value: Any) -> Any:
    """A value as it is compared: bytes are a list of numbers, a union is what it holds."""
    value = _held(value)
    return [_plain(item) for item in value] if isinstance(value, bytes | list) else value


def _held(value: Any) -> Any:
    return value[value["_type"]] if isinstance(value, dict) and "_type" in value else value


def _value(node: Any, row: dict[str, Any]) -> Any:  # noqa: C901 - a case for each node
    match node:
        case grammar.Number(value, is_bool=is_bool):
            return bool(value) if is_bool else value
        case grammar.Real(value) | grammar.Text(value):
            return value
        case grammar.Array(items):
            return [_value(item, row) for item in items]
        case grammar.Member(path):
            return path[-1]
        case grammar.Name("null"):
            return None
        case grammar.Name(name):
            return _field(row, name)
        case grammar.Index(target, index):
            return _held(_value(target, row))[_value(index, row)]
        case grammar.Cast(target, type_):
            return _cast(_value(target, row), type_.rpartition("::")[2])
        case grammar.Attribute(target, "to_i"):
            return _number(target, row)
        case grammar.Attribute(target, name):
            return _member(_held(_value(target, row)), name)
        case grammar.Operation("-", (only,)):
            return -_value(only, row)
        case grammar.Operation("+", (left, right)):
            return _value(left, row) + _value(right, row)
    raise TypeError(f"{node} is no assertion")


def _field(row: dict[str, Any], name: str) -> Any:
    """A field of a row; the number of a label that is not in its enum."""
    return row[name] if row[name] is not None else row.get(f"{name}_number")


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return _field(value, name)
    return {"size": len, "length": len, "first": lambda it: it[0], "last": lambda it: it[-1], "min": min, "max": max}[
        name
    ](value)


def _number(target: Any, row: dict[str, Any]) -> Any:
    """The number beside a label."""
    match target:
        case grammar.Name(name):
            return row[f"{name}_number"]
        case grammar.Attribute(owner, name):
            return _held(_value(owner, row))[f"{name}_number"]
    raise TypeError(f"{target} has no number")


def _cast(value: Any, type_: str) -> Any:
    if isinstance(value, dict) and "_type" in value:
        return value[type_] if type_ in value else value[ALTERNATIVES.get(type_[0], type_)]
    return bytes(value) if type_ == "bytes" and isinstance(value, list) else value
