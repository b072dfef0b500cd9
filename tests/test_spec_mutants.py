"""Specs that were edited at random: whatever they say, they are reviewed or refused with a place."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from thawline.ksy.diagram import draw
from thawline.ksy.documents import SCHEMAS, SpecError, parse_spec
from thawline.ksy.lint import lint
from thawline.ksy.shapes import check_shape
from thawline.ksy.versions import Version, load_version
from thawline.rendering.console import console
from thawline.rendering.review import markdown, record
from thawline.rendering.specs import show_specs
from thawline.review import compared

OWN = load_version(str(SCHEMAS))
VALUES = (
    "5", "[]", "{}", "null", "true", "-1", "''", "'x y'", "[1, 2]", "{a: 1}", "99999999999999999999", "0x", "u4", "str",
    "b99", "b0", "_io.size", "1.5", "2001-01-01", "'a('", "a::b", "kafka_records(", "{switch-on: a}",
    "{switch-on: a, cases: {}}", "{in-enum: true}", "{min: x}", "{any-of: 5}", "{any-of: [[]]}", "{expr: }",
)  # fmt: skip
KEYS = ("type", "size", "id", "valid", "enum", "seq", "types", "repeat", "instances", "contents", "params", "meta")


def mutant(text: str, chance: random.Random) -> str:
    """A spec with one to four of its lines changed."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        edits = (
            "",
            f"{lines[at]}\n{lines[at]}",
            f"{lines[at].partition(':')[0]}: {chance.choice(VALUES)}",
            " " * chance.randint(0, 6) + lines[at].strip(),
            lines[other],
            lines[at].replace(chance.choice(KEYS), chance.choice(KEYS)),
        )
        lines[at] = chance.choice(edits)
    return "\n".join(lines)


def review(name: str, text: str) -> None:
    old = OWN.specs[name]
    new = parse_spec(text.encode(), Path("mutant.ksy"))
    check_shape(new)
    versions = Version("old", {name: old}, (name,)), Version("new", {new.id: new}, (new.id,))
    for pair in (versions, versions[::-1]):
        found = compared(*pair)
        assert markdown(found)
        assert record(found)["exit_code"] in {0, 1, 2}
    known = {**OWN.specs, new.id: new}
    lint(new, known)
    assert draw([new], known).endswith("</svg>\n")
    show_specs(console(io.StringIO(), "never"), Version("new", known, (new.id,)))


def run(seeds: range) -> tuple[int, int]:
    """How many mutants were reviewed, and how many refused."""
    reviewed = refused = 0
    for seed in seeds:
        chance = random.Random(seed)
        name = chance.choice(list(OWN.specs))
        try:
            review(name, mutant(OWN.specs[name].text, chance))
            reviewed += 1
        except SpecError as error:
            refused += str(error).startswith("mutant.ksy:")
    assert reviewed + refused == len(seeds)
    return reviewed, refused


def test_an_edited_spec_is_reviewed_or_refused_with_its_place() -> None:
    assert min(run(range(300))) > 30


@pytest.mark.fuzz
def test_many_edited_specs_are_reviewed_or_refused_with_their_places() -> None:
    assert min(run(range(300, 6_000))) > 1_000
