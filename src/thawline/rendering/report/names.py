"""Names and places as a page shows them: names of any length, anchors, and parts that keep to a bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thawline.markup import Markup
from thawline.rendering.folding import shortened
from thawline.rendering.words import printable

LONGEST_NAME = 120
MOST_LETTERS = 480


def shown_name(name: str, room: int = LONGEST_NAME) -> str:
    """A name that is at most `room` columns wide; a longer one is cut in the middle.

    Some characters take no column, so their number is bounded, too.
    """
    text = printable(name)
    return shortened(text if len(text) <= MOST_LETTERS else f"{text[:room]}…{text[-room:]}", room)


def folder_of(path: str) -> str:
    """The folder of a file.

    >>> folder_of("s3://bucket/orders-0/1.log"), folder_of("a.rbf")
    ('s3://bucket/orders-0', '.')
    """
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")


@dataclass(frozen=True, slots=True)
class Kept:
    """The parts of a page that fit, and how many do not."""

    parts: list[Markup]
    left: int


def within(most: int, parts: Iterable[Markup], total: int) -> Kept:
    """The first parts, up to a number of bytes together; further parts are not made."""
    kept: list[Markup] = []
    size = 0
    for part in parts:
        size += len(part.text.encode())
        if size > most:
            break
        kept.append(part)
    return Kept(kept, total - len(kept))
