"""Read, verify, query, salvage and convert cold data without restoring it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thawline.cold import ColdFile
    from thawline.cold import open_cold as open  # noqa: A004 - `thawline.open` is what it is called

__all__ = ["ColdFile", "open"]

_HOMES = {"ColdFile": "ColdFile", "open": "open_cold"}


def __getattr__(name: str) -> Any:
    # Arrow takes a while to import; `thawline --help` does not need it.
    if name not in _HOMES:
        raise AttributeError(f"module 'thawline' has no attribute {name!r}")
    from thawline import cold  # noqa: PLC0415

    return getattr(cold, _HOMES[name])
