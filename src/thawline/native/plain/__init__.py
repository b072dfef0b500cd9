"""The functions of `thawline.native.fast` as plain Python.

Most are the sources themselves, run as they are. Where a source calls C or relies on C's arithmetic, a module of this
package has the twin of its functions, which is used instead.
"""

from __future__ import annotations

import pkgutil
from array import array
from collections.abc import Callable, Iterator
from functools import wraps
from types import ModuleType
from typing import Any

from thawline.native import sources
from thawline.native.plain import checksums, faults, fingerprints, hashes, kafka_units, text_rows
from thawline.native.plain.cython_names import loaded

GENERATED = tuple(
    f"thawline.generated.{name}"
    for name in ("kernels.scans", "kernels.probes", "kernels.readers", "encoders.encodings")
)
TWINS = (checksums, faults, fingerprints, hashes, kafka_units, text_rows)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(sources.__path__, f"{sources.__name__}."):
        if not found.name.endswith(".fast"):  # a build in place may leave one
            yield loaded(found.name)
    yield from map(loaded, GENERATED)
    yield from TWINS


def _public(module: ModuleType) -> dict[str, Any]:
    """The functions and tuples that a module defines, as compiled code offers them."""
    made = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    constants = {name: value for name, value in vars(module).items() if isinstance(value, tuple)}
    offered = {name: _viewing(value) for name, value in made.items() if callable(value)} | constants
    return {name: value for name, value in offered.items() if not name.startswith("_")}


def _viewing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with arrays and bytes passed as views, which have a shape: compiled code takes any buffer."""

    @wraps(function)
    def called(*arguments: Any) -> Any:
        return function(*(memoryview(it) if isinstance(it, array | bytes | bytearray) else it for it in arguments))

    return called


for _module in _modules():
    globals().update(_public(_module))
