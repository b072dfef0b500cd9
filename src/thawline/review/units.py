"""Which spec reads which bytes: of golden files by their accounts, of other files by their format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thawline import codecs, specs
from thawline.errors import ThawlineError
from thawline.formats import get, identify
from thawline.ksy.documents import SCHEMAS, Spec
from thawline.ksy.versions import Version
from thawline.source import open_source

GOLDEN = SCHEMAS.parent / "tests" / "golden"
MAX_FILE = 8 << 20
MAX_FILES = 5_000
ACCOUNT = ".json"


@dataclass(frozen=True, slots=True)
class Unit:
    """Bytes that a spec reads."""

    file: str
    spec: str
    start: int
    data: bytes
    params: tuple[Any, ...] = ()
    is_inside: bool = False
    """Whether the bytes are the decompressed content of a field."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not read, and why."""

    file: str
    reason: str


def golden_units(wanted: frozenset[str]) -> Iterator[Unit | LeftOut]:
    """Units of the golden files that one of the specs reads, by their accounts."""
    for account in sorted(GOLDEN.rglob(f"*{ACCOUNT}")):
        file = account.with_suffix("")
        yield from _accounted(file, str(file.relative_to(GOLDEN)), json.loads(account.read_bytes()), wanted)


def corpus_units(folder: Path, version: Version, wanted: frozenset[str]) -> Iterator[Unit | LeftOut]:
    """Files below a folder, each read as a whole with the spec of its format."""
    files = sorted(path for path in ([folder] if folder.is_file() else folder.rglob("*")) if path.is_file())
    for path in files[:MAX_FILES]:
        name = str(path.relative_to(folder.parent))
        try:
            yield from _of_file(path, name, version, wanted)
        except OSError as error:
            yield LeftOut(name, str(error.strerror or error))
    if len(files) > MAX_FILES:
        yield LeftOut(str(folder), f"has {len(files)} files, of which {MAX_FILES} were read")


def _of_file(path: Path, name: str, version: Version, wanted: frozenset[str]) -> Iterator[Unit | LeftOut]:
    account = _account(path.with_name(path.name + ACCOUNT))
    if path.suffix == ACCOUNT and _account(path):
        return
    if path.stat().st_size > MAX_FILE:
        yield LeftOut(name, f"is larger than {MAX_FILE >> 20} MiB")
    elif account:
        yield from _accounted(path, name, account, wanted)
    else:
        yield from _whole(path, name, version, wanted)


def _account(path: Path) -> dict[str, Any] | None:
    """The account of a golden file; None if the file has none."""
    try:
        found = json.loads(path.read_bytes())
        is_account = all({"spec", "start", "end"} <= unit.keys() for unit in found["units"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return found if is_account else None


def _whole(path: Path, name: str, version: Version, wanted: frozenset[str]) -> Iterator[Unit | LeftOut]:
    spec = _spec_of(path, version)
    if spec is None:
        yield LeftOut(name, "no spec is known to read it")
    elif spec in wanted:
        yield Unit(name, spec, 0, path.read_bytes())


def _spec_of(path: Path, version: Version) -> str | None:
    """The spec that reads a whole file: the only one requested, that of its format, or by its extension."""
    roots = [spec for name, spec in version.specs.items() if not spec.data.get("params") and name in version.asked]
    if len(roots) == 1:
        return roots[0].id
    try:
        with open_source(path) as source:
            unit = get(identify(source).format).kind_of(source).spec_at(source, 0)
        if unit in version.specs:
            return _outermost(unit, version.specs)
    except ThawlineError:
        pass
    named = [spec.id for spec in roots if path.suffix[1:] in _extensions(spec)]
    return _outermost(named[0], version.specs) if named and path.suffix else None


def _extensions(spec: Spec) -> list[str]:
    given = (spec.data.get("meta") or {}).get("file-extension", [])
    return [str(item) for item in given] if isinstance(given, list) else [str(given)]


def _outermost(name: str, given: Mapping[str, Spec]) -> str:
    """The spec of a whole file: one that imports the spec of its unit and has no parameters."""
    for spec in given.values():
        if name in spec.imports and not spec.data.get("params"):
            return _outermost(spec.id, {key: value for key, value in given.items() if key != name})
    return name


def _accounted(file: Path, name: str, account: Mapping[str, Any], wanted: frozenset[str]) -> Iterator[Unit | LeftOut]:
    data = file.read_bytes()
    if account.get("file_spec") in wanted:
        yield Unit(name, str(account["file_spec"]), 0, data)
    for unit in account["units"]:
        read = Unit(name, unit["spec"], unit["start"], data[unit["start"] : unit["end"]], tuple(unit.get("params", ())))
        if unit["spec"] in wanted and (unit["spec"], unit["start"]) != (account.get("file_spec"), 0):
            yield read
        if unit.get("content") and unit["content"]["spec"] in wanted:
            yield from _content(read, unit["content"])


def _content(unit: Unit, content: Mapping[str, Any]) -> Iterator[Unit | LeftOut]:
    """The content of a compressed field, found with the installed parsers."""
    try:
        stored: Any = specs.parse(unit.spec, unit.data, *unit.params)
        for name in content["field"].split("."):
            stored = getattr(stored, name)
        data = codecs.decompress(content["codec"], stored)
    except (ThawlineError, AttributeError) as error:
        yield LeftOut(unit.file, f"its content cannot be decompressed: {error}")
    else:
        yield Unit(unit.file, content["spec"], unit.start, data, tuple(content["params"]), is_inside=True)
