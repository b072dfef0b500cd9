"""A report as JUnit XML, which every system for continuous integration shows: a file is a test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from thawline.folder import Unread
from thawline.markup import Markup, element
from thawline.rendering.words import counted
from thawline.verbs.report import Account, Survey

MOST_FINDINGS = 100
"""At most this many findings of a file are written out."""


def junit(survey: Survey) -> Iterator[str]:
    """The document in pieces."""
    total = len(survey.accounts) + len(survey.unread)
    failures = sum(not account.ok for account in survey.accounts)
    errors = sum(left.is_failure for left in survey.unread)
    counts = f'tests="{total}" failures="{failures}" errors="{errors}" skipped="{len(survey.unread) - errors}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="thawline" {counts}>\n<testsuite name="thawline verify" {counts}>\n'
    for account in survey.accounts:
        yield f"{_case(survey, account)}\n"
    for left in survey.unread:
        yield f"{_unread(left)}\n"
    yield "</testsuite>\n</testsuites>\n"


def _case(survey: Survey, account: Account) -> Markup:
    inner = []
    if not account.ok:
        lines = [_line(finding.code.id, finding.message, str(finding.span), str(finding.detail.get("lost", "")))
                 for finding in islice(survey.findings_of(account), MOST_FINDINGS)]  # fmt: skip
        if account.findings > len(lines):
            lines.append(f"and {counted(account.findings - len(lines), 'more finding')}")
        inner.append(element("failure", "; ".join(lines), message=counted(account.errors, "error"), type="damaged"))
    return element("testcase", *inner, name=account.file, classname=f"thawline.{account.format}")


def _line(code: str, message: str, span: str, lost: str) -> str:
    return f"{code} {message} @ {span}" + (f", lost: {lost}" if lost else "")


def _unread(left: Unread) -> Markup:
    name = "error" if left.is_failure else "skipped"
    return element(
        "testcase", element(name, message=f"not looked at: {left.reason}"), name=left.path, classname="thawline"
    )
