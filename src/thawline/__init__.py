"""Read, verify, query, salvage and convert cold data without restoring it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thawline.api import convert, diff, identify, salvage, verify
    from thawline.cold import ColdFile, ColdFolder, open_folder
    from thawline.cold import open_cold as open  # noqa: A004 - the public name is `thawline.open`
    from thawline.pictures import plot

__version__ = "0.2.0.dev0"
"""The version; the build reads it from here."""

__all__ = ["ColdFile", "ColdFolder", "convert", "diff", "identify", "open", "open_folder", "plot", "salvage", "verify"]

_HOMES = {
    "ColdFile": "cold:ColdFile",
    "ColdFolder": "cold:ColdFolder",
    "convert": "api:convert",
    "diff": "api:diff",
    "identify": "api:identify",
    "open": "cold:open_cold",
    "open_folder": "cold:open_folder",
    "plot": "pictures:plot",
    "salvage": "api:salvage",
    "verify": "api:verify",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    # Arrow is slow to import, and `thawline --help` does not need it.
    if name not in _HOMES:
        raise AttributeError(f"module 'thawline' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"thawline.{module}"), attribute)
