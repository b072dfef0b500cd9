from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tools.ksy import SCHEMAS, Spec, load_specs, types_of

SPECS = load_specs()
each_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)

SECTIONS = ["meta", "doc", "doc-ref", "-columnar", "params", "seq", "instances", "types", "enums"]
META = [
    "id",
    "title",
    "application",
    "file-extension",
    "xref",
    "tags",
    "license",
    "ks-version",
    "imports",
    "encoding",
    "endian",
    "bit-endian",
]
ATTRIBUTE = [
    "id", "-orig-id", "value", "pos", "size", "size-eos", "type", "enum", "terminator", "contents", "valid",
    "repeat", "repeat-expr", "repeat-until", "if", "-overlay", "-columnar", "doc",
]  # fmt: skip


def attributes(spec: Spec) -> Iterator[tuple[str, dict[str, Any]]]:
    for type_ in types_of(spec):
        for item in type_.data.get("seq") or []:
            yield f"{type_.title}.{item['id']}", item
        for name, item in (type_.data.get("instances") or {}).items():
            yield f"{type_.title}.{name}", item


def assert_in_order(keys: Any, order: list[str]) -> None:
    places = [order.index(key) for key in keys]
    assert all(left < right for left, right in pairwise(places)), f"{list(keys)} should stand as {order}"


@each_spec
def test_sections_and_keys_stand_in_the_order_of_the_style_guide(spec: Spec) -> None:
    assert_in_order(spec.data, SECTIONS)
    assert_in_order(spec.data["meta"], META)
    for _, attribute in attributes(spec):
        assert_in_order(attribute, ATTRIBUTE)


@each_spec
def test_a_spec_says_what_it_is_under_which_license_and_for_which_compiler(spec: Spec) -> None:
    meta = spec.data["meta"]
    assert {"id", "title", "license", "ks-version"} <= meta.keys()
    assert meta["license"] == "CC0-1.0"
    assert isinstance(meta["ks-version"], str)
    assert spec.data["doc"].strip()


@each_spec
def test_lengths_counts_and_offsets_are_named_for_what_they_are(spec: Spec) -> None:
    for name, attribute in attributes(spec):
        if re.fullmatch(r"\w+(\.value)?", size := str(attribute.get("size", "1"))) and not size.isdigit():
            assert size.startswith("len_"), f"size of {name} is {size}"
        if not (count := str(attribute.get("repeat-expr", "num_"))).isdigit():
            assert count.startswith("num_"), f"count of {name} is {count}"


@each_spec
def test_every_checksum_names_the_bytes_it_covers(spec: Spec) -> None:
    for type_ in types_of(spec):
        for item in type_.data.get("seq") or []:
            if item["id"].startswith("crc"):
                owners = [other.data.get("instances") or {} for other in types_of(spec)]
                assert any(f"{item['id']}_input" in instances for instances in owners), f"{type_.title}.{item['id']}"


def test_every_format_has_its_structures() -> None:
    formats = {name.partition("_")[0] for name in SPECS if (SCHEMAS / f"{name}.ksy").exists()}
    assert formats == {"aerospike", "borg", "kafka", "rbak", "rbf"}


def test_schemas_are_free_of_tabs_carriage_returns_and_document_marks() -> None:
    for spec in SPECS.values():
        text = spec.file.read_bytes()
        assert b"\t" not in text
        assert b"\r" not in text
        assert not text.startswith(b"---")
