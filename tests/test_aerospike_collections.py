"""Lists and maps: the parser of their spec reads what native code reads."""

from __future__ import annotations

from typing import Any

import kaitaistruct
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_aerospike_values import TREES, packed

from thawline import specs
from thawline.formats.aerospike import rows

NOTHING: dict[int, object] = {0xC0: None, 0xC2: False, 0xC3: True}
STRING = 3


def parsed(data: bytes) -> tuple[Any, int]:
    """The value that the parser of the spec reads, and where it ends."""
    stream = kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data))
    return specs.parser("aerospike_collection")(stream), stream.pos()


def value_of(node: Any) -> object:
    body = getattr(node, "body", None)
    body = getattr(body, "list", None) or getattr(body, "map", None) or getattr(body, "particle", None) or body
    if hasattr(body, "items"):
        return [value_of(item) for item in body.items]
    if hasattr(body, "entries"):
        return {value_of(entry.key): value_of(entry.value) for entry in body.entries}
    if hasattr(body, "content"):
        return body.content.decode() if body.particle_type.value == STRING else body.content
    if body is not None:
        return body
    return NOTHING[node.lead] if node.lead in NOTHING else node.lead - (256 if node.lead >= 0xE0 else 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(TREES) | st.dictionaries(st.text(), TREES))
def test_the_parser_of_the_spec_reads_the_values_that_were_packed(value: object) -> None:
    data = packed(value)
    node, end = parsed(data)
    assert end == len(data)
    assert value_of(node) == value


@settings(max_examples=200, deadline=None)
@given(st.lists(TREES), st.data())
def test_what_native_code_reads_the_parser_of_the_spec_reads_to_its_end(value: object, data: st.DataObject) -> None:
    mutant = bytearray(packed(value))
    mutant[data.draw(st.integers(0, len(mutant) - 1))] = data.draw(st.integers(0, 255))
    if rows.json_of(bytes(mutant)) is not None:
        assert parsed(bytes(mutant))[1] == len(mutant)


@pytest.mark.parametrize("flags", ["d40100", "c7020101ff", "d501ffff"])
def test_flags_of_an_ordered_list_are_an_item_to_msgpack_and_none_to_a_reader(flags: str) -> None:
    data = b"\x92" + bytes.fromhex(flags) + b"\x07"
    assert rows.json_of(data) == "[7]"
    node, end = parsed(data)
    assert (len(node.body.items), end) == (2, len(data))
