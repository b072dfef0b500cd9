"""Tables of a spec that is compiled at run time. Their kernels are what `make generate` writes, run as Python."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from thawline.compiler.emission import HEADER, emit
from thawline.compiler.lowering import lower
from thawline.compiler.probes import HEADER as PROBE_HEADER
from thawline.compiler.probes import emit_probe
from thawline.compiler.subset import tables
from thawline.compiler.sync import checked, derived, lower_sync
from thawline.engine.tables import Sync, Table
from thawline.errors import SourceError
from thawline.ksy.documents import SCHEMAS, Spec, load_spec
from thawline.ksy.shapes import check_shape
from thawline.native.plain.cython_names import executed

__all__ = ["compiled", "imported", "probed"]


def compiled(specs: dict[str, Spec]) -> dict[str, Table]:
    """The tables of some specs by name; `SpecError` at the place of what cannot be compiled."""
    found = {}
    for name, type_ in tables(specs):
        table, text = emit(lower(name, type_, specs))
        kernel = executed(HEADER + text)[f"scan_{name}"]
        found[name] = replace(table, kernel=_viewing(kernel))
    return found


def probed(table: str, specs: dict[str, Spec]) -> Sync:
    """How units of a table are found after damage: as `-sync` of their type says, or else by what their spec fixes."""
    type_ = dict(tables(specs))[table]
    is_declared = "-sync" in type_.data
    sync, text = emit_probe(lower_sync(table, checked(type_), specs) if is_declared else derived(table, type_, specs))
    return replace(sync, probe=_viewing(executed(PROBE_HEADER + text)[f"probe_{table}"]))


def imported(file: Path) -> dict[str, Spec]:
    """A spec and its imports, by id. Imports are beside it, or among the specs of thawline."""
    found: dict[str, Spec] = {}
    waiting = [file]
    while waiting:
        spec = _read(waiting.pop())
        if spec.id not in found:
            found[spec.id] = spec
            waiting += [_import(spec, name) for name in (spec.data.get("meta") or {}).get("imports") or ()]
    return found


def _read(file: Path) -> Spec:
    try:
        spec = load_spec(file)
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror or error}") from error
    check_shape(spec)
    return spec


def _import(spec: Spec, name: object) -> Path:
    places = [Path(spec.file).parent / f"{name}.ksy", SCHEMAS / f"{name}.ksy"]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise spec.error(("meta", "imports"), f"there is no spec {name}")
    return found


def _viewing(kernel: Callable[..., int]) -> Callable[..., int]:
    """The kernel with arrays passed as views, which have a shape: compiled code takes any buffer."""

    @wraps(kernel)
    def called(*arguments: Any) -> int:
        return kernel(*(memoryview(it) if isinstance(it, array | bytes | bytearray) else it for it in arguments))

    return called
