from __future__ import annotations

from thawline.ksy.documents import SCHEMAS, load_specs
from thawline.ksy.lint import lint
from thawline.ksy.versions import load_version

SPECS = load_specs()


def test_the_specs_have_no_flaw() -> None:
    version = load_version(str(SCHEMAS))
    flaws = [flaw for spec in version.specs.values() for flaw in lint(spec, version.specs)]
    assert flaws == []


def test_the_specs_are_free_for_everyone() -> None:
    assert {spec.data["meta"]["license"] for spec in SPECS.values()} == {"CC0-1.0"}


def test_every_format_has_its_structures() -> None:
    formats = {name.partition("_")[0] for name in SPECS if (SCHEMAS / f"{name}.ksy").exists()}
    assert formats == {"aerospike", "borg", "kafka", "rbak", "rbf"}
