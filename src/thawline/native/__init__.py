"""Functions that are compiled, or the same ones as plain Python where that is not possible.

Who needs one says `from thawline.native import functions`. Which module that is, is decided here and nowhere else:
`fast`, the extension module that is built from `sources/`; or `plain`, which has the same names and signatures.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["functions", "is_compiled"]


def _compiled() -> ModuleType | None:
    """The extension module; None where it was not built, or is switched off by THAWLINE_NATIVE=0."""
    if os.environ.get("THAWLINE_NATIVE") == "0":
        return None
    try:
        from thawline.native import fast  # noqa: PLC0415 - it is optional
    except ImportError:
        sys.stderr.write("thawline: the native module is not built; reading with the plain parsers, which is slower\n")
        return None
    return fast


def _plain() -> ModuleType:
    from thawline.native import plain  # noqa: PLC0415 - not needed where there is the extension module

    return plain


if TYPE_CHECKING:
    from thawline.native import fast as functions

    is_compiled: bool
else:
    functions = _compiled()
    is_compiled = functions is not None
    functions = functions or _plain()
