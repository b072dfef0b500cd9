from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from thawline.ksy import layouts
from thawline.ksy.documents import SpecError, load_spec, load_specs
from tools.generate.__main__ import differences
from tools.generate.constants import constants
from tools.generate.reserved import check_ids

KSC = Path(__file__).parents[1] / "tools" / "generate" / "ksc.js"

needs_node = pytest.mark.skipif(
    not (shutil.which("node") and (KSC.parent / "node_modules").is_dir()),
    reason="the Kaitai Struct compiler runs on Node.js and is installed by `make generate`",
)


def write_spec(folder: Path, body: str, name: str = "sample") -> Path:
    file = folder / f"{name}.ksy"
    file.write_text(f"meta:\n  id: {name}\n  title: A sample\n  endian: le\n{body}", encoding="utf-8")
    return file


def compile_folder(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    for build in ("parsers", "structures"):
        (target / build).mkdir(parents=True)
    command = ["node", KSC, folder, target / "parsers", target / "structures"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("seq:\n  - id: from\n    type: u1\n", "6:5"),
        ("seq:\n  - id: kind\n    type: u1\nenums:\n  kind:\n    1: global\n", "10:5"),
        ("instances:\n  lambda:\n    value: 1\n", "6:3"),
        ("types:\n  class:\n    seq: []\n", "6:3"),
    ],
)
def test_a_reserved_word_of_python_is_refused_at_its_place(tmp_path: Path, body: str, place: str) -> None:
    file = write_spec(tmp_path, body)
    with pytest.raises(SpecError, match=f"^{file}:{place}: .*reserved word of Python"):
        check_ids(load_spec(file))


def test_a_spec_that_is_no_yaml_is_refused_at_its_place(tmp_path: Path) -> None:
    file = write_spec(tmp_path, "seq:\n  - id: [\n")
    with pytest.raises(SpecError, match=rf"^{file}:\d+:\d+: "):
        load_spec(file)


def test_an_id_that_is_not_the_name_of_its_file_is_refused(tmp_path: Path) -> None:
    file = write_spec(tmp_path, "seq: []\n").rename(tmp_path / "other.ksy")
    with pytest.raises(SpecError, match="meta/id must be the file's name, other"):
        check_ids(load_spec(file))


@needs_node
def test_an_error_of_the_compiler_points_at_line_and_column(tmp_path: Path) -> None:
    file = write_spec(tmp_path, "seq:\n  - id: size_of_it\n    type: u1\n  - id: it\n    size: nothing + 1\n")
    run = compile_folder(tmp_path, tmp_path / "out")
    assert run.returncode == 1
    assert run.stderr.startswith(f"{file}:9:11: /seq/1/size: error: unable to access 'nothing'")


@needs_node
def test_every_broken_spec_is_named_not_only_the_first(tmp_path: Path) -> None:
    write_spec(tmp_path, "seq:\n  - id: a\n    type: nowhere\n", "one")
    write_spec(tmp_path, "seq:\n  - id: a\n    type: nowhere\n", "two")
    errors = compile_folder(tmp_path, tmp_path / "out").stderr
    assert "one.ksy:7:11" in errors
    assert "two.ksy:7:11" in errors


@needs_node
def test_integers_beyond_31_bits_survive(tmp_path: Path) -> None:
    widest = "  - id: a\n    type: u8\n    valid: 18446744073709551615\n"
    body = "seq:\n" + widest + "  - id: b\n    type: u4\n    valid: 0xffffffff\n"
    write_spec(tmp_path, body)
    assert compile_folder(tmp_path, tmp_path / "out").returncode == 0
    parser = (tmp_path / "out" / "parsers" / "sample.py").read_text(encoding="utf-8")
    assert "18446744073709551615" in parser
    assert "4294967295" in parser


@needs_node
def test_an_overlay_is_in_the_parser_and_not_in_the_structure(tmp_path: Path) -> None:
    write_spec(
        tmp_path, "seq:\n  - id: a\n    type: u8\ninstances:\n  covered:\n    pos: 0\n    size: 8\n    -overlay: true\n"
    )
    assert compile_folder(tmp_path, tmp_path / "out").returncode == 0
    texts = {build: (tmp_path / "out" / build / "sample.py").read_text() for build in ("parsers", "structures")}
    assert "covered" in texts["parsers"]
    assert "covered" not in texts["structures"]


def test_a_difference_to_what_is_committed_is_named(tmp_path: Path) -> None:
    for folder, content in (("fresh", "1"), ("generated", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text("0")
        (tmp_path / folder / "changed.py").write_text(content)
    (tmp_path / "fresh" / "new.py").write_text("")
    (tmp_path / "generated" / "old.py").write_text("")
    assert differences(tmp_path / "fresh", tmp_path / "generated") == [
        "generated/changed.py: not what the specs say, run make generate",
        "generated/new.py: missing, run make generate",
        "generated/old.py: generated from nothing, run make generate",
    ]


def test_a_layout_gives_every_field_its_offset() -> None:
    specs = load_specs()
    page = layouts.render(specs["borg_blob"], specs)
    assert "| 41 | 4 | u4 | len_meta | meta_size | *valid max 20971430.* |" in page
    assert "| 49 + len_meta | len_data | slot | data | encrypted_data |" in page


def test_a_layout_counts_on_from_the_last_field_whose_size_varies() -> None:
    specs = load_specs()
    page = layouts.render(specs["aerospike_record"], specs)
    assert "| end of namespace + 4 | 28 | bytes | digest |" in page


def test_a_layout_places_bit_fields_by_bit() -> None:
    specs = load_specs()
    page = layouts.render(specs["kafka_record_batch"], specs)
    assert "| 1, bit 4 | 1 bit | b1 | is_transactional | isTransactional |" in page


ENUM = "seq:\n  - id: kind\n    type: u1\n    enum: kind\nenums:\n  kind:\n"


def test_a_member_of_an_enum_is_a_constant_that_is_named_after_both(tmp_path: Path) -> None:
    write_spec(tmp_path, ENUM + "    0x41: alpha\n    0x42:\n      id: beta\n      doc: The second.\n", "letters")
    assert "\n# letters, enum kind\nKIND_ALPHA = 0x41\nKIND_BETA = 0x42\n" in constants(load_specs(tmp_path))


def test_the_constants_of_enums_that_share_a_name_are_told_apart_by_their_specs(tmp_path: Path) -> None:
    write_spec(tmp_path, ENUM + "    1: same\n", "one")
    write_spec(tmp_path, ENUM + "    2: same\n", "two")
    text = constants(load_specs(tmp_path))
    assert "\nONE_KIND_SAME = 0x01\n" in text
    assert "\nTWO_KIND_SAME = 0x02\n" in text


def test_two_constants_of_one_name_are_refused(tmp_path: Path) -> None:
    write_spec(tmp_path, ENUM + "    1: a_b\n  kind_a:\n    2: b\n")
    with pytest.raises(SpecError, match="sample, enum kind_a: gives native code the name KIND_A_B again"):
        constants(load_specs(tmp_path))


def constants_of(folder: Path, body: str) -> dict[str, object]:
    write_spec(folder, body)
    named: dict[str, object] = {}
    exec(constants(load_specs(folder)), named)  # noqa: S102 - what the test has just made
    return {name: value for name, value in named.items() if name.startswith("SAMPLE")}


def test_a_field_has_its_distance_from_the_start_of_its_unit_and_its_size(tmp_path: Path) -> None:
    body = (
        "seq:\n  - {id: len_body, type: u4}\n  - {id: body, size: len_body, type: body}\n"
        "types:\n  body:\n    seq:\n      - {id: crc, type: u2}\n      - {id: data, size-eos: true}\n"
    )
    found = constants_of(tmp_path, body)
    assert found == {
        "SAMPLE_LEN_BODY_AT": 0, "SAMPLE_LEN_BODY_SIZE": 4, "SAMPLE_BODY_AT": 4, "SAMPLE_CRC_AT": 4,
        "SAMPLE_CRC_SIZE": 2, "SAMPLE_DATA_AT": 6, "SAMPLE_HEAD_SIZE": 6, "SAMPLE_HEAD_FORMAT": "<IH",
    }  # fmt: skip


def test_nothing_after_a_field_that_may_be_absent_has_a_distance_from_the_start(tmp_path: Path) -> None:
    found = constants_of(
        tmp_path, "seq:\n  - {id: a, type: u1}\n  - {id: b, type: u4, if: a == 1}\n  - {id: c, type: u1}\n"
    )
    assert (found["SAMPLE_B_AT"], found["SAMPLE_HEAD_SIZE"]) == (1, 1)
    assert "SAMPLE_C_AT" not in found
    assert found["SAMPLE_C_BACK"] == 1


def test_a_checksum_has_the_bytes_before_and_after_what_it_covers(tmp_path: Path) -> None:
    body = (
        "seq:\n  - {id: a, type: u4}\n  - {id: data, size: _io.size - 10}\n  - {id: crc, type: u4}\n"
        "  - {id: end, contents: [1, 2]}\n"
        "instances:\n  crc_input: {pos: 4, size: _io.size - 10, -overlay: true}\n"
    )
    found = constants_of(tmp_path, body)
    assert (found["SAMPLE_CRC_INPUT_AT"], found["SAMPLE_CRC_INPUT_REST"]) == (4, 6)
    assert (found["SAMPLE_CRC_BACK"], found["SAMPLE_END_BACK"], found["SAMPLE_END"]) == (6, 2, b"\x01\x02")


def test_a_type_that_is_repeated_is_a_unit_of_its_own(tmp_path: Path) -> None:
    body = (
        "seq:\n  - {id: magic, contents: LOG1}\n  - {id: entries, type: entry, repeat: eos}\n"
        "types:\n  entry:\n    seq:\n      - {id: key, size: 3}\n      - {id: value, type: u8be}\n"
    )
    found = constants_of(tmp_path, body)
    assert (found["SAMPLE_MAGIC"], found["SAMPLE_MAGIC_WORD"]) == (b"LOG1", int.from_bytes(b"LOG1", "little"))
    assert (found["SAMPLE_ENTRY_VALUE_AT"], found["SAMPLE_ENTRY_SIZE"], found["SAMPLE_ENTRY_FORMAT"]) == (3, 11, ">3sQ")


def test_bits_have_masks_and_rules_have_limits(tmp_path: Path) -> None:
    body = (
        "seq:\n  - {id: flag, type: b1}\n  - {id: rest, type: b7}\n"
        "  - {id: size_of, type: u4, valid: {expr: _ >= 20 and _ % 4 == 0}}\n"
        "  - {id: kind, type: s1, valid: 2}\n  - {id: count, type: s4, valid: {min: -1, max: 9}}\n"
    )
    found = constants_of(tmp_path, body)
    assert (found["SAMPLE_FLAG_MASK"], found["SAMPLE_REST_MASK"]) == (0x80, 0x7F)
    assert (found["SAMPLE_SIZE_OF_MIN"], found["SAMPLE_SIZE_OF_STEP"], found["SAMPLE_KIND"]) == (20, 4, 2)
    assert (found["SAMPLE_COUNT_MIN"], found["SAMPLE_COUNT_MAX"]) == (-1, 9)
    assert (found["SAMPLE_SIZE"], found["SAMPLE_FORMAT"]) == (10, "<BIbi")
