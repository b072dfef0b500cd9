"""A spec made ready to read files: taken apart, compiled or taken from the cache, its tables and checksums found."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa

from thawline import native
from thawline.compiler import kernel_cache
from thawline.compiler.kernel_cache import NoCache, NoCompiler
from thawline.compiler.language import Program, load
from thawline.compiler.language.declarations import Library
from thawline.compiler.native_module import NotCompiled, compile_module
from thawline.formats.described.bundle import Bundle
from thawline.formats.described.layout import ROOT, Layout, unit_tables, whole_tables
from thawline.formats.described.parts import UNIT, Parts, leading, magic_of, parts_of
from thawline.formats.described.paths import Path as Steps
from thawline.formats.described.paths import at
from thawline.formats.described.proofs import DIGESTS, Proof, check_positions, hidden_of, proofs_of, unproven_places
from thawline.ksy.attributes import attributes_of
from thawline.ksy.documents import SCHEMAS, Spec, TypeDef, types_of
from thawline.ksy.shapes import check_shape

_SAID: set[str] = set()


def opened(file: Path) -> tuple[Layout, Bundle]:
    """A spec that is ready to read files, and what another process needs for that."""
    found, parts = _taken_apart(file)
    specs = {spec.id: spec for spec in found.values()}
    spec = next(iter(found.values()))
    kernels: list[Path] = []
    program = load(file, spec=parts.read, native=partial(_native, spec.id, kernels))
    if program.not_in_c and native.is_compiled:
        _say(f"{spec.id} is read without a compiled kernel, which is slower: C has no {program.not_in_c}")
    head = load(file, spec=parts.head) if parts.head else None  # read once for a file: that needs no kernel
    own = tuple(path for path in found if not path.is_relative_to(SCHEMAS))
    return _layout(spec, parts, specs, program, head), Bundle(file, own, tuple(kernels))


def check_marks(file: Path) -> None:
    """Refuse what `opened` refuses of `-sync` and of checksums; a spec without them is the compiler's to judge."""
    found, parts = _taken_apart(file)
    specs = {spec.id: spec for spec in found.values()}
    if parts.sync or proofs_of(parts.type, specs):
        head = load(file, spec=parts.head) if parts.head else None
        _layout(next(iter(found.values())), parts, specs, load(file, spec=parts.read), head)


def _taken_apart(file: Path) -> tuple[Mapping[Path, Spec], Parts]:
    """A spec and its imports by their files, and its parts."""
    found = Library(file).specs
    spec = next(iter(found.values()))
    check_shape(spec)
    specs = {spec.id: spec for spec in found.values()}
    parts = parts_of(spec, specs)
    if parts.sync:
        check_positions(parts.type, specs, is_root=not parts.table)
    return found, parts


def _native(name: str, kernels: list[Path], source: str) -> Path | None:
    """The compiled form of a source; None where there is none. `kernels` gets it, too."""
    if not native.is_compiled:
        return None  # the user wants nothing native
    try:
        told = partial(_say, f"compiling {name}, once: `thawline spec cache` lists what is kept")
        kernels.append(kernel_cache.kernel(source, compile_module, told))
    except (NoCache, NoCompiler, NotCompiled) as error:
        _say(f"{name} is read without a compiled kernel, which is slower: {error}")
        return None
    return kernels[-1]


def _say(text: str) -> None:
    """Say something on stderr, once."""
    if text not in _SAID:
        _SAID.add(text)
        sys.stderr.write(f"thawline: {text}\n")


def _layout(spec: Spec, parts: Parts, specs: Mapping[str, Spec], program: Program, head: Program | None) -> Layout:
    rows = pa.struct(list(program.tables[ROOT if parts.sync is None else UNIT]))
    unit = rows if parts.sync is None else rows.field(UNIT).type
    hidden, proofs = hidden_of(parts.type, specs), proofs_of(parts.type, specs)
    _check(unit, proofs, parts, spec)
    for place in unproven_places(proofs, spec):
        _say(f"{place}: this checksum is not checked: no unit has it, or only by way of a switch")
    tables = whole_tables(program, hidden) if parts.sync is None else unit_tables(unit, parts.table or ROOT, hidden)
    first = leading(TypeDef(spec, (), spec.data), specs)
    magic, magic_at = magic_of(parts, specs)
    return Layout(
        spec, parts, program, head, tables, proofs, magic, magic_at, first, _suffixes(spec), _is_closed(spec, specs)
    )


def _is_closed(spec: Spec, specs: Mapping[str, Spec]) -> bool:
    """Whether the fields of the root follow one another, and do not take what is left whatever that is."""
    last = next(reversed(attributes_of(TypeDef(spec, (), spec.data), "seq")), None)
    if last is None or last.data.get("repeat") == "eos" or (last.data.get("size-eos") and "repeat" not in last.data):
        return False
    types = (type_ for one in specs.values() for type_ in types_of(one))
    return not any("pos" in it.data or "io" in it.data for type_ in types for it in attributes_of(type_, "instances"))


def _check(unit: pa.DataType, proofs: tuple[Proof, ...], parts: Parts, spec: Spec) -> None:
    """Refuse a checksum whose bytes or whose field the unit does not have, and one that `-sync` names in vain."""
    for proof in proofs:
        for path in (proof.stored, proof.covered):
            if at(unit, path) is None:
                raise spec.error((), f"{proof.place}: {_shown(path)} is no column of {parts.type.title}")
        is_number = pa.types.is_integer(at(unit, proof.stored))
        if is_number is (proof.algorithm in DIGESTS):
            kind = "bytes" if is_number else "a number"
            raise spec.error((), f"{proof.place}: {proof.algorithm} is {kind}, which {_shown(proof.stored)} is not")
    if parts.sync and "checksum" in parts.sync.data:
        named = tuple(parts.sync.data["checksum"].split("."))
        if named not in {proof.stored for proof in proofs}:
            what = f"no instance says with `-columnar: checksum` what {named[-1]} covers"
            raise parts.sync.error(what, "checksum")


def _shown(path: Steps) -> str:
    return ".".join(path).replace(".[]", "[]")


def _suffixes(spec: Spec) -> tuple[str, ...]:
    given = (spec.data.get("meta") or {}).get("file-extension") or ()
    return tuple(f".{suffix}" for suffix in ([given] if isinstance(given, str) else given))
