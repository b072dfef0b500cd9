"""Rules with provenance: what a spec says about tools decides who refuses a line, and what the finding says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from thawline.compiler.tolerant import emit_tolerant
from thawline.formats.aerospike.entries import Broken, Note, Tokens
from thawline.ksy.documents import Spec, SpecError, load_specs, parse_spec

SPECS = load_specs()
DIGEST = b"7JEZLUt/jONdXXjTS8ply6qqyWA="
RECORD = b"+ n %s\n+ d %s\n+ g %s\n+ t %s\n+ b 1\n- I a 5\n"


def edited(name: str, old: str, new: str) -> dict[str, Spec]:
    """The specs of the project, one of them with another text."""
    text = SPECS[name].text
    assert text.count(old) == 1, text.count(old)
    return {**SPECS, name: parse_spec(text.replace(old, new).encode(), Path(f"{name}.ksy"))}


def compiled(specs: dict[str, Spec]) -> Any:
    names: dict[str, Any] = {}
    exec(emit_tolerant(specs), names)  # noqa: S102 - it is what is tested
    return SimpleNamespace(**names)


def record(namespace: bytes = b"test", generation: bytes = b"1", expiration: bytes = b"0") -> bytes:
    return RECORD % (namespace, DIGEST, generation, expiration)


def notes(module: Any, data: bytes, version: str = "3.1") -> list[Note]:
    reader = Tokens(memoryview(data), 0, version)
    module.aerospike_record(reader)
    assert reader.pos == len(data)
    return reader.notes


def test_a_field_is_refused_by_the_tool_that_its_rule_names() -> None:
    late = record(expiration=b"4294967296")
    reason = "an expiration of more than 32 bits (4294967296)"
    at = late.index(b"4294967296")
    assert notes(compiled(SPECS), late) == [Note(at, reason, "asrestore")]
    rule = "tool: {}\n        outside: [0, 0xffffffff]"
    other = edited("aerospike_record", rule.format("asrestore"), rule.format("backup-go"))
    assert notes(compiled(other), late) == [Note(at, reason, "backup-go")]


def test_what_all_tools_refuse_is_damage() -> None:
    rule = "tool: {}\n        outside: [0, 0xffffffff]"
    both = edited("aerospike_record", rule.format("asrestore"), rule.format("[asrestore, backup-go]"))
    with pytest.raises(Broken, match="more than 32 bits"):
        notes(compiled(both), record(expiration=b"4294967296"))


def test_what_one_tool_refuses_and_the_other_misreads_is_damage() -> None:
    rule = "tool: asrestore\n        outside: [0, 0xffffffff]\n"
    misread = edited("aerospike_record", rule, f"{rule}        misread-by: backup-go\n")
    with pytest.raises(Broken, match="more than 32 bits"):
        notes(compiled(misread), record(expiration=b"4294967296"))


def test_a_rule_of_a_field_narrows_that_of_its_type_and_keeps_its_words() -> None:
    shorter = compiled(edited("aerospike_record", "longer-than: 31", "longer-than: 5"))
    assert notes(shorter, record(b"users")) == []
    (note,) = notes(shorter, record(b"orders"))
    assert (note.reason, note.tool) == ("namespace of 6 bytes; the limit is 5", "asrestore")


def test_the_quick_form_of_a_head_follows_the_rules() -> None:
    data = record(b"orders")
    for limit, is_plain in ((31, True), (6, True), (5, False)):
        module = compiled(edited("aerospike_record", "longer-than: 31", f"longer-than: {limit}"))
        assert bool(module.AEROSPIKE_RECORD_PLAIN.match(data)) is is_plain


def test_a_type_without_a_rule_is_read_by_all() -> None:
    rule = SPECS["decimal_line"].text.partition("-refused-by:\n")[2].partition("seq:")[0]
    free = compiled(edited("decimal_line", f"-refused-by:\n{rule}", ""))
    assert notes(free, record(generation=b"\\1")) == []
    (note,) = notes(compiled(SPECS), record(generation=b"\\1"))
    assert (note.reason, note.tool) == ("a backslash in a number (generation)", "backup-go")


def test_fields_are_read_in_the_order_and_with_the_leads_of_the_spec() -> None:
    other = compiled(edited("aerospike_record", "contents: '+ t '", "contents: '+ e '"))
    assert notes(other, record().replace(b"+ t ", b"+ e ")) == []
    with pytest.raises(Broken, match="the line of the expiration is due; found '\\+ t '"):
        notes(other, record())


def test_the_letters_of_bins_are_those_of_the_spec() -> None:
    vector = record().replace(b"- I a 5", b"- V a 4 YQ==")
    with pytest.raises(Broken, match="no type of bin has the letter 'V'"):
        notes(compiled(SPECS), vector)
    enum = "    0x5a:\n      id: boolean\n"
    known = compiled(edited("aerospike_record", enum, f"    0x56:\n      id: vector\n{enum}"))
    assert notes(known, vector) == []


def test_findings_and_their_codes_are_those_of_the_tools_in_the_spec() -> None:
    tools = compiled(edited("aerospike_backup", "code: ASB103", "code: ASB999")).TOOLS
    assert {name: tool.code for name, tool in tools.items()} == {"asrestore": "ASB999", "backup-go": "ASB104"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "tool: asrestore\n        longer-than: 31",
            "tool: asrestorf\n        longer-than: 31",
            "no spec has asrestorf",
        ),
        ("longer-than: 31", "holding: 0x01", "says not why"),
        ("if: after_type == 0x21 and type", "if: after_type == 0x21 and size * type", "no tolerant reader computes"),
    ],
)
def test_a_rule_that_cannot_be_compiled_is_refused_at_its_place(old: str, new: str, words: str) -> None:
    with pytest.raises(SpecError, match=rf"^aerospike_record\.ksy:\d+:\d+: .*{words}"):
        compiled(edited("aerospike_record", old, new))
