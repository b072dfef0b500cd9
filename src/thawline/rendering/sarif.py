"""A report as SARIF 2.1.0, the format in which checkers of code and data tell platforms what they have found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from thawline import __version__
from thawline.model import Finding
from thawline.rendering.words import printable, raw
from thawline.verbs.report import Account, Group, Survey

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(survey: Survey) -> Iterator[str]:
    """The log in pieces: one run, a rule for each code, a result for each finding."""
    rules = [_rule(group) for group in survey.groups.values()]
    driver = {"name": "thawline", "version": __version__, "semanticVersion": _semantic(__version__), "rules": rules}
    places = {code: place for place, code in enumerate(survey.groups)}
    tool = json.dumps({"driver": driver})
    yield f'{{"$schema": {json.dumps(SCHEMA)}, "version": "2.1.0", "runs": [{{"tool": {tool},\n'
    yield f'"invocations": [{json.dumps(_invocation(survey))}],\n"results": ['
    comma = ""
    for account, _, finding in survey.findings():
        yield f"{comma}\n{json.dumps(_result(account, finding, places))}"
        comma = ","
    yield "\n]}]}\n"


def _semantic(version: str) -> str:
    """The version as SemVer has it: `0.2.0.dev0` is `0.2.0-dev0`."""
    return "-".join([".".join(version.split(".")[:3]), *version.split(".")[3:]])


def _rule(group: Group) -> dict[str, Any]:
    code = group.code
    return {
        "id": code.id,
        "shortDescription": {"text": code.message},
        "fullDescription": {"text": code.explanation},
        "help": {"text": f"thawline explain {code.id}"},
        "defaultConfiguration": {"level": code.severity},
    }


def _invocation(survey: Survey) -> dict[str, Any]:
    """How the run went: what could not be read is told, not passed over."""
    notices = [
        {
            "level": "error" if left.is_failure else "note",
            "message": {"text": printable(f"not looked at: {left.reason}")},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(left.path)}}}],
        }
        for left in survey.unread
    ]
    is_whole = not any(left.is_failure for left in survey.unread)
    return {"executionSuccessful": is_whole, "toolExecutionNotifications": notices}


def _result(account: Account, finding: Finding, places: dict[str, int]) -> dict[str, Any]:
    span, code = finding.span, finding.code
    place: dict[str, Any] = {"artifactLocation": {"uri": uri(account.file)}}
    if account.size:
        place["region"] = {"byteOffset": span.start, "byteLength": span.size}
    lost = finding.detail.get("lost")
    text = f"{code.message}; lost: {lost}" if lost else code.message
    detail = {printable(key): printable(str(value)) for key, value in finding.detail.items()}
    return {
        "ruleId": code.id,
        "ruleIndex": places[code.id],
        "level": code.severity,
        "message": {"text": printable(text)},
        "locations": [{"physicalLocation": place}],
        "properties": {"detail": detail, "next": printable(finding.hint)},
    }


def uri(path: str) -> str:
    """A path as a reference that consists of plain ASCII; a URL stays one.

    >>> uri("orders-0/a b.log"), uri("s3://bucket/a b.log"), uri("a:b.log")
    ('orders-0/a%20b.log', 's3://bucket/a%20b.log', './a%3Ab.log')
    """
    if "://" in path:
        scheme, _, rest = path.partition("://")
        return f"{quote(scheme)}://{quote(raw(rest))}"
    name = quote(raw(path))
    if path.startswith("/"):
        return f"file://{name}"
    return f"./{name}" if ":" in path.partition("/")[0] else name
