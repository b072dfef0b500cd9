"""A report as one JSON object, whose keys are a promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thawline.bytemap import tiles
from thawline.rendering.findings import unread_object
from thawline.values import json_text
from thawline.verbs.report import Account, Survey


def json_pieces(survey: Survey) -> Iterator[str]:
    """The object in pieces: counts, then files with their stretches and findings, then what was not looked at."""
    yield json_text(survey.to_dict())[:-1] + ',"files":['
    for place, account in enumerate(survey.accounts):
        yield ("," if place else "") + "\n" + json_text(_account(survey, account))
    yield '\n],"unread":['
    for place, left in enumerate(survey.unread):
        yield ("," if place else "") + "\n" + json_text(unread_object(left))
    yield "\n]}\n"


def _account(survey: Survey, account: Account) -> dict[str, Any]:
    found = list(survey.findings_of(account))
    stretches = [
        {"start": tile.span.start, "end": tile.span.end, "state": tile.state} for tile in tiles(found, account.size)
    ]
    return {
        **account.head,
        "folder": account.is_folder,
        "extent": account.extent.to_dict(),
        "map": stretches,
        "findings": [finding.to_dict() for finding in found],
    }
