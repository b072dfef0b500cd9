"""What findings say reads well: one thing is told in the singular, and digits are in groups everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from accounts import Golden, golden_files

from thawline.formats import FORMATS, get
from thawline.formats.contract import Depth
from thawline.model import Finding
from thawline.source import LocalSource
from thawline.wording import counted, numbered
from tools.damage import damages

NOUNS = "batches|records|bytes|entries|frames|blobs|messages|rows|files|chunks|producers|characters|segments|offsets"
ILL_SAID = re.compile(rf"(?<![\d.,])(?<!\d )\b1 (?:{NOUNS})\b|\boffsets (\d+) to \1\b|\b\d{{4,}} (?:{NOUNS})\b")


def texts(finding: Finding) -> Iterator[str]:
    return (value for value in (finding.hint, *finding.detail.values()) if isinstance(value, str))


@pytest.mark.parametrize("name", FORMATS)
def test_no_finding_counts_one_as_many(name: str) -> None:
    ill = {text for golden in golden_files(name) for text in said_about(golden) if ILL_SAID.search(text)}
    assert ill == set()


def said_about(golden: Golden) -> Iterator[str]:
    """All texts of findings about a file that was damaged in many ways."""
    if golden.file.suffix in {".bin", ".address"}:
        return
    format_ = get(golden.name.partition("/")[0])
    for seed in range(3):
        for damage in damages(golden.data, seed):
            source = LocalSource(golden.name, damage.data)
            for item in format_.kind_of(source).walk(source, Depth.EVERYTHING):
                yield from texts(item) if isinstance(item, Finding) else ()


def test_the_rule_knows_ill_from_well_said() -> None:
    for text in ("1 batch of 1 records", "offsets 3692 to 3692", "lost 4096 bytes", "1 entries"):
        assert ILL_SAID.search(text)
    for text in (
        "1 batch of 1 record",
        "offset 3692",
        "offsets 36 to 3692",
        "4 096 bytes",
        "11 entries",
        "1 001 bytes",
    ):
        assert not ILL_SAID.search(text)


def test_numbers_have_the_noun_that_they_need() -> None:
    assert (counted(1, "record"), counted(1000, "batch")) == ("1 record", "1 000 batches")
    assert (numbered("offset", 5, 5), numbered("offset", 5, 1000)) == ("offset 5", "offsets 5 to 1000")
