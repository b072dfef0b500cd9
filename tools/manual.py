"""`generated/man/thawline.1`: the manual page, from the commands as click has them.

`python -m tools.manual` writes it; with `--check` it fails where the file is another one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from thawline.cli import COMMANDS, GROUPS
from tools.commands import Command, all_commands, paragraphs

PAGE = Path(__file__).parents[1] / "generated" / "man" / "thawline.1"
HEAD = '.TH THAWLINE 1 "" "thawline" "User Commands"\n.nh\n'
FILES = """.SH ENVIRONMENT
.TP
.B NO_COLOR, FORCE_COLOR
Whether output has colours; \\fB\\-\\-color\\fR overrides them.
.TP
.B TMPDIR
Where rows are kept that do not fit into memory.
"""


def page() -> str:
    """The manual page, as roff."""
    thawline, *others = all_commands()
    known = [command for command in others if command.name.split()[1] in COMMANDS | GROUPS]
    return "".join(
        [
            HEAD,
            f".SH NAME\nthawline \\- {roff(_summary(thawline))}\n",
            f".SH SYNOPSIS\n.B thawline\n{roff(thawline.usage.removeprefix('thawline '))}\n",
            ".SH DESCRIPTION\n",
            *_text(thawline.help),
            *_options(thawline),
            ".SH COMMANDS\n",
            *(part for command in known for part in _command(command)),
            FILES,
        ]
    )


def _summary(command: Command) -> str:
    return command.help.partition("\n")[0].rstrip(".").lower()


def _command(command: Command) -> Iterator[str]:
    yield f".SS {roff(command.usage)}\n"
    yield from _text(command.help)
    yield from _options(command)


def _text(text: str) -> Iterator[str]:
    for is_kept, paragraph in paragraphs(text):
        yield f".PP\n.nf\n{roff(paragraph)}\n.fi\n" if is_kept else f".PP\n{roff(paragraph)}\n"


def _options(command: Command) -> Iterator[str]:
    for option in command.options:
        yield f".TP\n.B {roff(option.flags)}\n{roff(option.meaning)}\n"


def roff(text: str) -> str:
    r"""Text as roff takes it: hyphens stay hyphens, and no line is a request.

    >>> print(roff("--a `b`\n.c"))
    \-\-a \fBb\fR
    \&.c
    """
    escaped = re.sub(r"`([^`\n]+)`", "\0\\1\1", text).replace("\\", "\\e").replace("-", "\\-")
    escaped = escaped.replace("\0", "\\fB").replace("\1", "\\fR")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Write the page, or say that it is not what the commands give."""
    text = page()
    if "--check" in arguments:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} is not what the commands give; run: python -m tools.manual", file=sys.stderr)
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
