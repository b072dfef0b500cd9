from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from test_cli import thawline

from thawline.formats import FORMATS
from thawline.ksy.diagram import CELL, COLUMNS, LEFT, WIDTH, bands, draw
from thawline.ksy.documents import load_specs, parse_spec, types_of
from thawline.ksy.layouts import rows_of

SVG = "{http://www.w3.org/2000/svg}"
SPECS = load_specs()


@pytest.mark.parametrize("name", FORMATS)
def test_every_field_of_a_format_is_shown(name: str) -> None:
    shown = thawline("spec", "show", name)
    assert shown.returncode == 0
    assert max(map(len, shown.stdout.splitlines())) <= 100
    for spec in SPECS.values():
        if spec.id.startswith(f"{name}_"):
            assert f"\n{spec.id}  " in f"\n{shown.stdout}"
            for type_ in types_of(spec):
                for row in rows_of(type_, SPECS):
                    assert f"  {row.name}" in shown.stdout


@pytest.mark.parametrize("name", FORMATS)
def test_the_picture_of_a_format_is_well_formed_and_stays_within_its_frame(name: str) -> None:
    svg = thawline("spec", "show", name, "--svg")
    root = ET.fromstring(svg.stdout)  # noqa: S314 - our own
    height = float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {WIDTH} {root.attrib['height']}"
    boxes = [box for box in root.iter(f"{SVG}rect") if "class" in box.attrib]
    assert boxes
    for box in boxes:
        left, top = float(box.attrib["x"]), float(box.attrib["y"])
        assert LEFT <= left < left + float(box.attrib["width"]) <= LEFT + CELL * COLUMNS
        assert top + float(box.attrib["height"]) < height


def test_a_format_is_shown_from_the_whole_file_down() -> None:
    shown = thawline("spec", "show", "kafka").stdout
    titles = [line.partition("  ")[0] for line in shown.splitlines() if line.startswith("kafka_")]
    assert titles[:4] == ["kafka_segment", "kafka_message", "kafka_record_batch", "kafka_records"]
    assert len(titles) == len(set(titles)) == sum(name.startswith("kafka_") for name in SPECS)


def test_boxes_are_as_wide_as_their_fields_are_long_and_do_not_overlap() -> None:
    spec = SPECS["kafka_record_batch"]
    body = next(type_ for type_ in types_of(spec) if type_.names == ("body",))
    rows = [row for row in rows_of(body, SPECS) if row.kind == "field"]
    drawn = list(bands(rows))
    assert [band.offset for band in drawn] == ["0", "8", "16", "24", "32", "40", "48"]
    cells: dict[str, int] = {}
    for band in drawn:
        at = 0
        for box in band.boxes:
            assert box.start == at
            at = box.end
            cells[box.row.name] = cells.get(box.row.name, 0) + box.end - box.start
    assert {name: cells[name] for name in ("magic", "crc", "producer_epoch", "max_timestamp")} == {
        "magic": 1, "crc": 4, "producer_epoch": 2, "max_timestamp": 8,
    }  # fmt: skip


def test_bits_are_drawn_eight_to_a_row() -> None:
    spec = SPECS["kafka_record_batch"]
    attributes = next(type_ for type_ in types_of(spec) if type_.names == ("attributes",))
    drawn = list(bands(rows_of(attributes, SPECS)))
    assert [band.offset for band in drawn] == ["0, bits", "1, bits"]
    assert [(box.row.name, box.start, box.end) for box in drawn[1].boxes] == [
        ("unused", 0, 1),
        ("has_delete_horizon", 1, 2),
        ("is_control", 2, 3),
        ("is_transactional", 3, 4),
        ("timestamp_type", 4, 5),
        ("compression", 5, 8),
    ]


def test_a_picture_escapes_what_a_spec_says() -> None:
    text = b"meta: {id: x, title: 'a < b & \"c\"'}\nseq: [{id: a, contents: '<&>', doc: ']]> <script>'}]\n"
    spec = parse_spec(text, Path("x.ksy"))
    root = ET.fromstring(draw([spec], {"x": spec}))  # noqa: S314 - our own
    assert 'a < b & "c"' in [text.text for text in root.iter(f"{SVG}text")]
    assert not list(root.iter(f"{SVG}script"))


def test_a_picture_can_be_written_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "rbf.svg"
    assert thawline("spec", "show", "rbf_frame", "--svg", "-o", out).returncode == 0
    assert out.read_text(encoding="utf-8") == thawline("spec", "show", "rbf_frame", "--svg").stdout
    again = thawline("spec", "show", "rbf_frame", "--svg", "-o", out)
    assert (again.returncode, str(out) in again.stderr) == (2, True)


def test_a_file_and_one_of_a_commit_can_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "mine.ksy"
    file.write_text("meta: {id: mine, endian: le}\nseq: [{id: a, type: u4}, {type: u2}]\n", encoding="utf-8")
    shown = thawline("spec", "show", file).stdout
    assert re.search(r"^  0 +4 +u4 +a$", shown, re.MULTILINE)
    assert re.search(r"^  4 +2 +u2 +_unnamed1$", shown, re.MULTILINE)


def test_a_format_that_there_is_not_is_refused_with_the_nearest() -> None:
    run = thawline("spec", "show", "kafak")
    assert run.returncode == 2
    assert "did you mean kafka" in run.stderr
