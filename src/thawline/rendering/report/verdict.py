"""The verdict of a report in words."""

from __future__ import annotations

from thawline.rendering.words import counted, grouped
from thawline.verbs.report import Survey


def sentences(survey: Survey) -> list[str]:
    """What a person wants to know first: what is damaged, or that nothing is; then what that does not cover."""
    counts = survey.counts()
    total = counts["ok"] + counts["damaged"]
    return [_of_files(counts["damaged"], total), *_of_others(survey, counts)]


def _of_files(damaged: int, total: int) -> str:
    if not total:
        return "no file was read"
    if damaged:
        are = "is" if damaged == 1 else "are"
        return f"{grouped(damaged)} of {counted(total, 'file')} {are} damaged"
    return "the file is intact" if total == 1 else f"all {counted(total, 'file')} are intact"


def _of_others(survey: Survey, counts: dict[str, int]) -> list[str]:
    folders = counts["folders damaged"]
    failures = sum(left.is_failure for left in survey.unread)
    others = counts["not looked at"] - failures
    told = [(folders, f"{counted(folders, 'folder')} damaged as a whole")]
    told += [(failures, f"{counted(failures, 'file')} could not be read")]
    told += [(others, f"{counted(others, 'other file')} not looked at")]
    return [text for number, text in told if number]
