"""The names that sources take from `cython`, so that they run as Python where cython is not installed.

A source says `import cython` and names C types, which mean nothing in Python. Without cython a stand-in has these
names: thawline needs cython to be built, not to run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import nullcontext
from threading import Lock
from types import ModuleType
from typing import Any, TypeVar

Given = TypeVar("Given")
LOADING = Lock()
TYPES = "bint char schar uchar short int uint longlong ulonglong size_t float double void const pointer"


def loaded(name: str) -> ModuleType:
    """A module in Cython's pure Python mode, uncompiled."""
    with LOADING:
        try:
            importlib.import_module("cython")
        except ImportError:
            return _with_stand_in(name)
        return importlib.import_module(name)


def executed(text: str) -> dict[str, Any]:
    """What a source in Cython's pure Python mode defines, uncompiled."""
    made: dict[str, Any] = {"__name__": "thawline.compiled"}
    with LOADING:
        had = "cython" in sys.modules
        sys.modules.setdefault("cython", stand_in())
        try:
            exec(text, made)  # noqa: S102 - the compiler's own text, made of names and numbers that it has checked
        finally:
            if not had:
                del sys.modules["cython"]
    return made


def _with_stand_in(name: str) -> ModuleType:
    # Only during the import: other packages may look for cython, and must not find it.
    sys.modules["cython"] = stand_in()
    try:
        return importlib.import_module(name)
    finally:
        del sys.modules["cython"]


def stand_in() -> ModuleType:
    """A module with the names of `cython` that our sources use, except those that only compiled code reaches."""
    module = ModuleType("cython", "Declarations without a meaning.")
    types: dict[str, Any] = dict.fromkeys(TYPES.split(), _Type())
    decorators = {"cfunc": _as_it_is, "inline": _as_it_is, "nogil": _Nogil(), "exceptval": _exceptval}
    vars(module).update(types, compiled=False, cast=_value, declare=_value, **decorators)
    return module


class _Type:
    """A C type, a pointer to one or an array of them, for annotations."""

    def __call__(self, _: Any) -> _Type:
        return self

    def __getitem__(self, _: Any) -> _Type:
        return self


class _Nogil(nullcontext[None]):
    """A decorator that is also a context manager."""

    def __call__(self, function: Given) -> Given:
        return function


def _as_it_is(function: Given) -> Given:
    return function


def _exceptval(*, check: bool) -> Callable[[Given], Given]:  # noqa: ARG001 - C's calling convention
    return _as_it_is


def _value(_: Any, value: Given) -> Given:
    """The given value: Python's numbers need no type."""
    return value
