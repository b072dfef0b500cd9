"""What a spec states is generated: the constants agree with Kaitai's parsers, and code does not state them again."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from accounts import golden_files
from thawline.generated.kernels import constants
from thawline.generated.parsers.aerospike_collection import AerospikeCollection
from thawline.generated.parsers.aerospike_record import AerospikeRecord

from thawline.formats import FORMATS
from thawline.ksy.attributes import all_attributes
from thawline.ksy.documents import contents_bytes, load_specs
from thawline.native.constants.aerospike import PARTICLE_KEY, PARTICLE_OTHER
from thawline.native.sources.asb_json import JSON_KEYS
from thawline.tracing import trace

SOURCES = Path(__file__).parents[1] / "src" / "thawline"
NAMED = {name: value for name, value in vars(constants).items() if name.isupper()}
BINARY = {name: spec for name, spec in load_specs().items() if "endian" in spec.data["meta"]}
"""Specs with bytes at fixed places; Aerospike's are lines of text."""
MAGICS = {
    contents_bytes(field.data["contents"])
    for spec in BINARY.values()
    for field in all_attributes(spec)
    if "contents" in field.data and len(contents_bytes(field.data["contents"])) > 1
}
FORMATTED = [value for name, value in NAMED.items() if name.endswith("FORMAT")]
FIELD = re.compile(r"\d*[a-zA-Z?]")
BINARY_FORMATS = ("kafka", "rbf", "borg", "rbak")


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((SOURCES / folder).rglob("*.py"))]


def literals(path: Path) -> Iterator[ast.Constant]:
    """The literals of a module that are no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)


def test_bytes_in_json_are_called_as_their_particle_type_is_in_the_spec() -> None:
    types = {member.value: member.name for member in AerospikeCollection.ParticleType}
    shown = types | {1: "1", 2: "2", PARTICLE_OTHER: "other"}
    keys = [JSON_KEYS[at : at + PARTICLE_KEY].decode().strip() for at in range(0, len(JSON_KEYS), PARTICLE_KEY)]
    assert keys == [f"${shown.get(number, number)}" for number in range(PARTICLE_OTHER + 1)]
    assert max(types) + 1 == PARTICLE_OTHER
    assert {"$string", "$bytes", "$java", "$hll", "$geojson"} <= {*keys}


def test_names_of_enums_are_those_of_the_parsers() -> None:
    parsers = {
        name.upper(): getattr(AerospikeRecord, cls) for name, cls in (("key_type", "KeyType"), ("bin_type", "BinType"))
    }
    for name, members in parsers.items():
        assert NAMED[f"{name}_NAMES"] == {member.value: member.name for member in members}


def test_the_magics_are_those_of_the_documents() -> None:
    assert {b"RBF1", b"BORG_OBJ", b"BORGHASH", b"RBAK", b"KABR"} == MAGICS


@pytest.mark.parametrize("path", modules("."), ids=lambda path: str(path.relative_to(SOURCES)))
def test_no_code_states_the_magic_of_a_spec(path: Path) -> None:
    assert [node.lineno for node in literals(path) if node.value in MAGICS and isinstance(node.value, bytes)] == []


def begins_a_spec(layout: str) -> bool:
    """Whether `struct` would read what a spec describes: two fields of it or more, from its start on."""
    return len(FIELD.findall(layout)) > 1 and any(known.startswith(layout) for known in FORMATTED)


def test_a_layout_of_a_spec_is_told_from_others() -> None:
    assert begins_a_spec(">qi")
    assert begins_a_spec("<8sB32sII")
    assert not begins_a_spec(">q")
    assert not begins_a_spec(">HI")


@pytest.mark.parametrize("path", modules("formats"), ids=lambda path: str(path.relative_to(SOURCES)))
def test_no_format_states_the_layout_of_a_spec_to_struct(path: Path) -> None:
    texts = [node for node in literals(path) if isinstance(node.value, str) and node.value[:1] in {"<", ">"}]
    assert [(node.lineno, node.value) for node in texts if begins_a_spec(node.value)] == []


OFFSET = re.compile(r"^\s*[A-Z_0-9, ]*(?:_AT|HEAD_SIZE|HEADER_SIZE|ENTRY_SIZE|HEAD_END)\b[^=\n]*= *\d", re.MULTILINE)
SLICE = re.compile(r"\[(?:[2-9]|\d\d+):\d+\]|\[\d\d+\]")


@pytest.mark.parametrize(
    "path",
    [*modules(*(f"formats/{name}" for name in BINARY_FORMATS)), SOURCES / "formats" / "recognition.py",
     *(SOURCES / "native" / "constants" / f"{name}.py" for name in ("kafka", "rbf"))],
    ids=lambda path: str(path.relative_to(SOURCES)),
)  # fmt: skip
def test_no_format_states_where_a_field_lies(path: Path) -> None:
    code = re.sub(r'"""(?:.|\n)*?"""', "", path.read_text(encoding="utf-8"))
    assert OFFSET.findall(code) == []
    assert SLICE.findall(code) == []


# The constants agree with the parsers.


def units() -> Iterator[tuple[str, bytes]]:
    """Units of golden files: the first batch, message, frame, blob, index and segment of each."""
    kafka = {golden.name.rpartition("/")[2]: golden.data for golden in golden_files("kafka")}
    yield "kafka_record_batch", kafka["v2-none.log"]
    yield "kafka_message", kafka["v1-plain.log"]
    yield "rbak_segment", next(golden.data for golden in golden_files("rbak") if golden.file.suffix == ".zst")
    yield "borg_blob", next(golden.data for golden in golden_files("borg") if "none-one-blob" in golden.name)
    log = next(golden.data for golden in golden_files("rbf") if golden.name.endswith("many-frames.rbf"))
    yield "rbf_frame", log[constants.RBF_FILE_GENESIS_SIZE :]


@pytest.mark.parametrize(("spec", "data"), list(units()), ids=lambda value: value if isinstance(value, str) else "")
def test_fields_lie_where_the_parser_of_kaitai_finds_them(spec: str, data: bytes) -> None:
    found = trace(spec, data)
    end = max(field.end for field in found.fields)
    compared = 0
    for field in found.fields:
        name = f"{spec}_{field.name}".upper()
        for ending, place in (("_AT", field.start), ("_SIZE", field.end - field.start), ("_BACK", end - field.start)):
            if name + ending in NAMED:
                assert NAMED[name + ending] == place, name + ending
                compared += 1
    assert compared > 6


def test_heads_are_as_long_as_struct_reads_them() -> None:
    for name, layout in NAMED.items():
        if name.endswith("_FORMAT"):
            assert struct.calcsize(layout) == NAMED[name.removesuffix("FORMAT") + "SIZE"]


def test_every_format_is_known_here() -> None:
    assert {*BINARY_FORMATS, "aerospike"} == set(FORMATS)
