"""Findings as commands that GitHub Actions shows as annotations of a run."""

from __future__ import annotations

from collections.abc import Iterator

from thawline.rendering.words import printable
from thawline.verbs.report import Survey

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
IN_TEXT = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTY = {**IN_TEXT, ":": "%3A", ",": "%2C"}


def commands(survey: Survey) -> Iterator[str]:
    """A line for each finding, and for each file that could not be read."""
    for account, number, finding in survey.findings():
        lost = finding.detail.get("lost")
        about = f"{finding.message} @ {finding.span}" + (f"; lost: {lost}" if lost else "") + f" (finding {number})"
        yield _line(LEVELS[finding.severity], account.file, finding.code.id, about)
    for left in survey.unread:
        level = "error" if left.is_failure else "notice"
        yield _line(level, left.path, "not looked at", left.reason)


def _line(level: str, file: str, title: str, text: str) -> str:
    r"""One command; nothing of a name or a text can end it or begin another.

    >>> _line("error", "a,b::c.log", "RBF104", "torn")
    '::error file=a%2Cb%3A%3Ac.log,title=RBF104::torn\n'
    """
    properties = f"file={_escaped(file, IN_PROPERTY)},title={_escaped(title, IN_PROPERTY)}"
    return f"::{level} {properties}::{_escaped(text, IN_TEXT)}\n"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(letter, letter) for letter in printable(text))
