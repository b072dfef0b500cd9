"""Names and texts that try to be more than text: on a terminal, in a page, in Markdown, XML, a log or a spreadsheet."""

from __future__ import annotations

import re
from pathlib import Path

PAYLOAD = "document.documentElement.dataset.pwned=1"
TEXTS = (
    f"<script>{PAYLOAD}<script>",
    f'"><img src=x onerror={PAYLOAD}>',
    f"'><svg onload={PAYLOAD}>",
    f"<a href=javascript:{PAYLOAD}>x",
    "]]><x><!-- --!>",
    "&lt;b&gt;&#x1b;&amp;",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "a\rb\n::error::forged\n",
    "invoice\u202egpj\u2066\u200b\ufeff",
    "lone\udcff\udc80surrogate",
    "=cmd|' calc'!A0",
    "`x` [a](javascript:x) @everyone | # *b* ~~~",
    "%0A::error file=x::forged",
    "\ufffe\uffff",
    "x" * 240,
    "e" + "\u0301" * 100,
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What must not reach anything that a person looks at. A newline ends a line, and a tab is harmless."""


def names() -> list[str]:
    """The texts as names of files, as far as a file system takes them."""
    return [text.replace("/", "|")[:120] for text in TEXTS]


def fill(folder: Path, good: bytes, torn: bytes, suffix: str) -> None:
    """Files with nasty names, every other one damaged."""
    for number, name in enumerate(names()):
        (folder / f"{name}{suffix}").write_bytes(torn if number % 2 else good)
