"""HTML and SVG from elements: text is escaped where it enters, so that none of it can become markup.

Only this module makes `Markup`. Its functions take names of elements and attributes from the code and text from
anywhere: characters that a page, a terminal or XML would not show as they are become visible escapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from thawline.wording import printable

__all__ = ["LINE_END", "Child", "Markup", "element", "joined", "raw_text"]

VOID = frozenset({"meta", "input", "br", "hr", "link", "img", "wbr"})
"""Elements of HTML that have neither content nor an end tag."""


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of a page that `element` or `joined` made."""

    text: str

    def __str__(self) -> str:
        return self.text


LINE_END = Markup("\n")
"""The end of a line in a `pre`; as text it would become a visible escape."""
Child: TypeAlias = "Markup | str | int"
Value: TypeAlias = str | int | float | bool | None


def element(name: str, /, *children: Child, **attributes: Value) -> Markup:
    r"""An element with its attributes and what is in it.

    `class_` and `for_` stand for the words that Python reserves, other underscores for hyphens. An attribute that is
    True has no value, one that is None or False is left out.

    >>> print(element("a", "<script>\x1b[2J", href="#f1", title='"><img onerror=x>'))
    <a href="#f1" title="&quot;&gt;&lt;img onerror=x&gt;">&lt;script&gt;\x1b[2J</a>
    """
    start = f"<{name}{_attributes(attributes)}>"
    return Markup(start if name in VOID else f"{start}{joined(*children)}</{name}>")


def joined(*children: Child, by: str = "") -> Markup:
    """Pieces one after another.

    >>> print(joined("a & b", element("br"), 7))
    a &amp; b<br>7
    """
    return Markup(by.join(map(_escaped, children)))


def raw_text(name: str, text: str) -> Markup:
    """A script or style of this package, whose text is not escaped; it must not end its element."""
    if "</" in text or "<!--" in text:
        raise ValueError(f"the text of {name} would end the element")
    return Markup(f"<{name}>{text}</{name}>")


def _attributes(values: Mapping[str, Value]) -> str:
    given = ((name, value) for name, value in values.items() if value is not None and value is not False)
    return "".join(_attribute(name, value) for name, value in given)


def _attribute(name: str, value: Value) -> str:
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(_number(value))}"'


def _number(value: Value) -> str:
    """A value as text; coordinates have at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _escaped(child: Child) -> str:
    if isinstance(child, Markup):
        return child.text
    return escape(printable(str(child))) if isinstance(child, str) else str(child)
