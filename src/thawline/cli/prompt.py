"""A prompt for queries, with history and completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.errors import MissingExtra, ThawlineError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

WORDS = (
    *("select", "from", "where", "group", "by", "having", "order", "limit", "join", "left", "using", "on", "and", "or"),
    *("not", "in", "like", "ilike", "between", "is", "null", "count", "sum", "min", "max", "avg", "distinct", "as"),
    *("case", "when", "then", "else", "end", "with", "union", "all", "asc", "desc"),
)
ENDS = {"exit", "quit", ".exit", ".quit", "\\q"}
INTERRUPTED = 130


def converse(answer: Callable[[str], int]) -> int:
    """Answer queries until the end of input; the highest of their exit codes.

    Each line is a query. What goes wrong with one does not end the session.
    """
    asking = _session()
    code = 0
    while (text := _asked(asking)) is not None:
        if text:
            code = max(code, _answered(answer, text))
    return code


def _answered(answer: Callable[[str], int], text: str) -> int:
    from thawline.cli.session import sentence
    from thawline.rendering.console import say

    try:
        return answer(text)
    except click.UsageError as error:
        say(sys.stderr, f"thawline: {error.message}")
    except ThawlineError as error:
        say(sys.stderr, f"thawline: {sentence(error)}")
    except KeyboardInterrupt:
        say(sys.stderr, "thawline: interrupted")
    except click.exceptions.Exit as error:
        return error.exit_code
    return 0


def _asked(asking: PromptSession[str]) -> str | None:
    """A query; empty after Ctrl-C, None at the end."""
    try:
        text = asking.prompt("sql> ").strip()
    except KeyboardInterrupt:
        return ""
    except EOFError:
        return None
    return None if text.rstrip(";").lower() in ENDS else text.rstrip(";")


def _session() -> PromptSession[str]:
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory
    except ImportError:
        raise MissingExtra("a prompt needs prompt_toolkit: pip install 'thawline[sql]'") from None
    place = _history()
    return PromptSession(
        history=InMemoryHistory() if place is None else FileHistory(str(place)), completer=_completer()
    )


def _history() -> Path | None:
    """The file of earlier queries, only for its owner to read; None where there can be none."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    place = Path(state) / "thawline" / "sql_history"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode=0o600)
    except OSError:
        return None
    return place


def _completer() -> Any:
    from prompt_toolkit.completion import Completer, Completion, PathCompleter
    from prompt_toolkit.document import Document

    from thawline.formats import FORMATS, get

    columns = {name for each in FORMATS for table in get(each).tables.values() for name in table.schema.names}
    words = sorted({*WORDS, *columns, *(table for each in FORMATS for table in get(each).tables)})
    paths = PathCompleter(expanduser=True)

    class Words(Completer):
        """Paths within quotes; words of SQL and columns elsewhere."""

        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            """What may stand at the cursor."""
            before = document.text_before_cursor
            if before.count("'") % 2:
                yield from paths.get_completions(Document(before.rpartition("'")[2]), complete_event)
                return
            start = document.get_word_before_cursor()
            yield from (Completion(word, -len(start)) for word in words if start and word.startswith(start))

    return Words()
