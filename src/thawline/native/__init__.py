"""Compiled functions, or the same functions as plain Python where they are not compiled.

Callers say `native.functions.…`. Only this module chooses: `fast`, the extension module that is built from `sources/`,
or `plain`, which has the same names and signatures.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["functions", "is_compiled"]


def _compiled() -> ModuleType | None:
    """The extension module; None if it is not built, or THAWLINE_NATIVE=0 switches it off."""
    if os.environ.get("THAWLINE_NATIVE") == "0":
        return None
    try:
        from thawline.native import fast  # noqa: PLC0415 - it is optional
    except ImportError:
        sys.stderr.write("thawline: the native module is not built; reading with the plain parsers, which is slower\n")
        return None
    return fast


def _plain() -> ModuleType:
    from thawline.native import plain  # noqa: PLC0415 - not needed with the extension module

    return plain


if TYPE_CHECKING:
    from thawline.native import fast as functions

    is_compiled: bool
else:
    functions = _compiled()
    is_compiled = functions is not None
    functions = functions or _plain()
