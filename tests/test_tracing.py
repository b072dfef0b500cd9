from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from accounts import Golden, golden_files, plain

from thawline import specs
from thawline.model import Span
from thawline.tracing import LONGEST_VALUE, MAX_FIELDS, Field, Trace, trace
from tools.mutants import mutants

ALL = 1 << 40
SMALL = 160
FILES = golden_files()
FRAME = bytes.fromhex("18000000 41424344 01020304 0303030318000000 00000000")

each_file = pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.name)


def small_units(count: int) -> Iterator[tuple[str, bytes, tuple[int, ...]]]:
    """The first few short units of every spec, with their parameters."""
    seen: dict[str, int] = {}
    for golden in FILES:
        for unit, data in golden.units():
            if len(data) <= SMALL and seen.setdefault(unit["spec"], 0) < count:
                seen[unit["spec"]] += 1
                yield unit["spec"], data, unit.get("params", ())


def follows(before: Field, after: Field) -> bool:
    """Whether a leaf starts where the one before it ends, or is made of bits of the same bytes."""
    shares_bits = before.keys[:-1] == after.keys[:-1] and before.start <= after.start < before.end == after.end
    return after.start == before.end or shares_bits


def in_account(account: Any, keys: tuple[str, ...]) -> Any:
    """What an account says of a field; KeyError where it does not mention it, as the groups of a number."""
    for key in keys:
        name, *index = re.findall(r"\w+", key)
        if not isinstance(account, dict):
            raise KeyError(key)
        account = account[name][int(index[0])] if index else account[name]
    return account


def told(account: Any) -> int:
    """How many values an account holds; null is for a field that is not there."""
    if isinstance(account, dict | list):
        return sum(told(value) for value in (account.values() if isinstance(account, dict) else account))
    return account is not None


def numbers(found: Trace, account: Any) -> list[tuple[str, ...]]:
    """Structures that an account has as one number: their leaves are groups of its bits."""
    made = []
    for field in found.fields:
        with suppress(KeyError):
            if not field.is_leaf and isinstance(in_account(account, field.keys), int):
                made.append(field.keys)
    return made


def place(found: Trace) -> specs.Place | None:
    return found.failing and specs.Place(found.failing.start, found.failing.spec, found.failing.path)


@each_file
def test_the_leaves_of_an_intact_unit_tile_it_in_order(golden: Golden) -> None:
    for unit, data in golden.units():
        found = trace(unit["spec"], data, *unit.get("params", ()), max_fields=ALL)
        assert (found.failing, found.unread, found.is_cut, found.is_truncated) == (None, (), False, False)
        assert found.end == len(data)
        assert all(follows(before, after) for before, after in pairwise(found.leaves))


@each_file
def test_the_values_of_an_intact_unit_are_those_of_its_account(golden: Golden) -> None:
    for unit, data in golden.units():
        found = trace(unit["spec"], data, *unit.get("params", ()), max_fields=ALL)
        compared = 0
        for leaf in found.leaves:
            try:
                expected = in_account(unit["fields"], leaf.keys)
            except KeyError:
                continue
            if expected is None:
                continue  # the account's word for a field that is not there
            kept = expected[: 2 * LONGEST_VALUE] if isinstance(leaf.value, bytes) else expected
            assert plain(leaf.value, None) == kept, leaf.label
            compared += 1
        assert compared + len(numbers(found, unit["fields"])) == told(unit["fields"])


@pytest.mark.parametrize("golden", [g for g in FILES if g.account["file_spec"]], ids=lambda golden: golden.name)
def test_a_whole_file_is_tiled_by_the_leaves_of_its_spec(golden: Golden) -> None:
    found = trace(golden.account["file_spec"], golden.data, max_fields=ALL)
    assert (found.failing, found.unread) == (None, ())
    assert all(follows(before, after) for before, after in pairwise(found.leaves))


@pytest.mark.parametrize(
    ("spec", "data", "params"), [pytest.param(*unit, id=f"{unit[0]}-{i}") for i, unit in enumerate(small_units(3))]
)
def test_a_unit_cut_at_any_byte_fails_at_the_field_that_locate_names(
    spec: str, data: bytes, params: tuple[int, ...]
) -> None:
    whole = trace(spec, data, *params).leaves
    for size in range(len(data)):
        found = trace(spec, data[:size], *params)
        assert place(found) == specs.locate(spec, data[:size], *params)
        if found.failing:
            before = [leaf.label for leaf in found.leaves if not leaf.reason]
            assert before == [leaf.label for leaf in whole][: len(before)]
            assert found.failing.start <= found.failing.end <= max(size, found.failing.start)


@pytest.mark.parametrize("spec", sorted({unit["spec"] for golden in FILES for unit in golden.account["units"]}))
def test_any_bytes_end_as_a_trace_that_fails_where_locate_says(spec: str) -> None:
    units = [unit for unit in small_units(6) if unit[0] == spec]
    for seed, (_, data, params) in enumerate(units):
        for mutant in mutants(data, seed, 150):
            found = trace(spec, mutant, *params)
            assert place(found) == specs.locate(spec, mutant, *params)
            assert all(0 <= field.start <= field.end for field in found.fields)
            ordered = [leaf for leaf in found.leaves if "/instances/" not in leaf.path]
            assert [leaf.start for leaf in ordered] == sorted(leaf.start for leaf in ordered)
            assert sum(bool(field.reason) for field in found.fields) <= 1


def test_a_field_that_breaks_a_rule_has_its_value_its_bytes_and_the_reason() -> None:
    failing = trace("rbf_frame", FRAME[:16] + bytes([20]) + FRAME[17:]).failing
    assert failing is not None
    assert (failing.label, failing.start, failing.end, failing.value) == ("len_tail", 16, 20, 20)
    assert failing.reason == "is 20, must be 24"


def test_a_field_that_is_cut_off_has_the_bytes_that_are_there_and_no_value() -> None:
    found = trace("rbf_frame", FRAME[:13])
    assert found.is_truncated
    assert found.failing is not None
    assert (found.failing.label, found.failing.start, found.failing.end) == ("body", 4, 13)
    assert (found.failing.value, found.failing.reason) == (None, "needs 20 bytes, 9 left")


def test_a_rule_checked_ahead_of_its_field_leaves_the_bytes_before_it_unread() -> None:
    found = trace("rbf_frame", FRAME[:15] + b"\x43" + FRAME[16:])
    assert [leaf.label for leaf in found.leaves] == [
        "len_frame", "frame_tag", "last_status.is_tombstone", "last_status.reserved",
    ]  # fmt: skip
    assert found.failing is found.leaves[-1]
    assert found.unread == (Span(8, 15), Span(16, 24))


def test_a_repeated_field_that_differs_from_its_siblings_is_named_by_its_index() -> None:
    found = trace("rbf_frame", FRAME[:13] + b"\x83" + FRAME[14:])
    assert found.failing is not None
    assert (found.failing.label, found.failing.start, found.failing.is_leaf) == ("status[1]", 13, False)
    assert [leaf.label for leaf in found.leaves][-3:] == [
        "status[1].is_tombstone", "status[1].reserved", "status[1].num_status_minus_1",
    ]  # fmt: skip


def test_bits_lie_in_the_byte_they_are_read_from() -> None:
    found = trace("rbf_frame", FRAME)
    bits = [(leaf.name, leaf.start, leaf.end) for leaf in found.leaves if "status[3]" in leaf.keys]
    assert bits == [("is_tombstone", 15, 16), ("reserved", 15, 16), ("num_status_minus_1", 15, 16)]


def test_a_varint_and_a_token_are_one_field_with_a_value() -> None:
    found = trace("aerospike_record", b"+ n te\\ st\n+ d " + b"A" * 28 + b"\n+ g 7\n+ t 0\n+ b 0\n")
    by_label = {leaf.label: (leaf.start, leaf.end, leaf.value) for leaf in found.leaves}
    assert by_label["namespace"] == (4, 11, b"te st")
    assert by_label["generation"] == (48, 50, 7)


def test_a_trace_lists_so_many_fields_and_says_that_there_are_more() -> None:
    found = trace("kafka_offset_index", bytes(8 * MAX_FIELDS))
    assert found.is_cut
    assert len(found.fields) == MAX_FIELDS
    assert trace("kafka_offset_index", bytes(16), max_fields=6).is_cut is False


def test_the_failing_field_is_listed_behind_any_number_of_fields() -> None:
    found = trace("kafka_offset_index", bytes(8 * MAX_FIELDS + 5))
    assert found.is_cut
    assert found.failing is not None
    assert (found.failing.label, found.failing.start) == (f"entries[{MAX_FIELDS}].position", 8 * MAX_FIELDS + 4)


def test_a_long_value_is_cut_and_says_by_how_much() -> None:
    frame = (20 + 4000).to_bytes(4, "little") + bytes(4004) + b"\x03" * 4 + (4020).to_bytes(4, "little") + bytes(4)
    payload = next(leaf for leaf in trace("rbf_frame", frame).leaves if leaf.name == "payload")
    assert payload.value == bytes(LONGEST_VALUE)
    assert payload.left_out == 4000 - LONGEST_VALUE


def test_a_field_knows_what_the_document_of_its_format_calls_it() -> None:
    names = {leaf.name: leaf.spec_name for leaf in trace("rbf_file::entry", FRAME + b"RBF1").leaves}
    assert (names["len_frame"], names["len_tail"], names["fence"]) == ("HeadLen", "TailLen", "Fence")
    assert names["num_status_minus_1"] == "StatusLen"
    assert trace("rbf_frame", FRAME).fields[1].spec_name == ""


def test_no_bytes_fail_at_the_first_field() -> None:
    found = trace("rbf_frame", b"")
    assert place(found) == specs.Place(0, "rbf_frame", "/seq/0")
    assert found.unread == ()
