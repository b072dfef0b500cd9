"""A report says what verify says, fits a page, and shows text as text."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from xml.dom import minidom

import html5lib
import pytest
from accounts import GOLDEN
from in_process import on_pipe, on_terminal
from nasty import FORBIDDEN, PAYLOAD, TEXTS, fill
from partitions import batch, log

import thawline
from thawline.folder import Unread
from thawline.model import Code, Finding, Report, Run, Span, report
from thawline.rendering.annotations import commands
from thawline.rendering.junit import junit
from thawline.rendering.markdown import markdown
from thawline.rendering.objects import json_pieces
from thawline.rendering.report import About, page
from thawline.rendering.report.treemap import Box, squarified
from thawline.rendering.sarif import sarif
from thawline.verbs.extent import Extent, Use
from thawline.verbs.report import Survey, study

GOOD = (GOLDEN / "rbf/many-frames.rbf").read_bytes()
TORN = GOOD[:800] + bytes([GOOD[800] ^ 0x55]) + GOOD[801:]
SHAPES = ("html", "json", "md", "junit", "sarif", "github")
ABOUT = About(("/data",), "2026-11-18 20:00 UTC")


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Files of several formats: intact, damaged, and of no known format."""
    folder = tmp_path / "backup"
    partition = folder / "orders-3"
    partition.mkdir(parents=True)
    batches = [batch(offset, 10) for offset in range(0, 300, 10)]
    first, third = bytearray(log(batches[:10])), log(batches[20:])
    first[500] ^= 1
    (partition / f"{0:020}.log").write_bytes(first)
    (partition / f"{200:020}.log").write_bytes(third + bytes(500))
    (folder / "torn.rbf").write_bytes(TORN)
    (folder / "good.zst").write_bytes((GOLDEN / "rbak/codec-zstd.zst").read_bytes())
    (folder / "notes.txt").write_text("hello")
    return folder


def told(folder: Path, shape: str) -> str:
    ran = on_pipe(["report", "-q", "--format", shape, folder.name], folder.parent)
    assert ran.code == 1, ran.err
    return ran.out


def test_a_report_gives_the_verdicts_of_verify(backup: Path) -> None:
    ran = on_pipe(["verify", "-q", "--format", "jsonl", backup.name], backup.parent)
    verified = [json.loads(line) for line in ran.out.splitlines()]
    reported = json.loads(told(backup, "json"))
    files = [{name: file[name] for name in verified[0]} for file in reported["files"]]
    assert files == [line for line in verified if "ok" in line]
    assert reported["unread"] == [line for line in verified if "ok" not in line]
    assert ran.code == 1


def test_the_map_of_a_report_covers_every_file(backup: Path) -> None:
    for file in json.loads(told(backup, "json"))["files"]:
        stretches = file["map"]
        assert sum(stretch["end"] - stretch["start"] for stretch in stretches) == file["size"]
        damaged = sum(it["end"] - it["start"] for it in stretches if it["state"] == "damaged")
        assert damaged == file["damaged_bytes"]
    states = {stretch["state"] for file in json.loads(told(backup, "json"))["files"] for stretch in file["map"]}
    assert states == {"intact", "damaged", "padding"}


def test_a_report_tells_from_where_to_where_the_data_goes_and_what_is_missing(tmp_path: Path) -> None:
    batches = [batch(offset, 10) for offset in (0, 10, 20, 50, 60)]
    (tmp_path / f"{0:020}.log").write_bytes(log(batches))
    with thawline.open(tmp_path / f"{0:020}.log") as cold:
        done = study(cold)
        extent = done.extent
        assert done.report.to_dict() == cold.verify().to_dict()
    assert (extent.noun, extent.first, extent.last) == ("offset", 0, 69)
    assert (extent.gaps, extent.gap_count) == ([(30, 49)], 1)
    assert extent.earliest == 1000 * batches[0].base_timestamp
    assert extent.latest == 1000 * batches[-1].latest
    assert extent.codecs["none"].units == len(batches)
    assert extent.codecs["none"].size == len(log(batches))


def test_offsets_that_damage_took_are_a_gap(tmp_path: Path) -> None:
    batches = [batch(offset, 10) for offset in (0, 10, 20, 30)]
    data = bytearray(log(batches))
    data[len(batches[0].build()) + 100] ^= 1
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    with thawline.open(path) as cold:
        assert study(cold).extent.gaps == [(10, 19)]


def test_the_page_is_html_without_a_fault_and_needs_nothing_else(backup: Path) -> None:
    text = told(backup, "html")
    html5lib.HTMLParser(strict=True).parse(text)
    assert "default-src 'none'; style-src 'sha256-" in unescape(text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "unsafe-inline" not in text
    assert not re.search(r"\son\w+=|\sstyle=|javascript:|<link|<iframe|@import|url\(", text)


def test_the_page_gives_the_verdict_first_then_damage_with_its_bytes_and_what_to_do(backup: Path) -> None:
    text = told(backup, "html")
    assert text.index("2 of 4 files are damaged") < text.index('id="damage"') < text.index('id="codes"')
    for needed in ("KAF101", "RBF1", "thawline salvage backup/torn.rbf", "--finding 1", "notes.txt", "<rect", "<pre"):
        assert needed in text
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert links <= set(re.findall(r'\sid="([^"]+)"', text))


def test_a_folder_that_is_intact_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.rbf").write_bytes(GOOD)
    ran = on_pipe(["report", "a.rbf", "-o", "out.html"], tmp_path)
    assert (ran.code, "the file is intact" in ran.err) == (0, True)
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    assert "the file is intact</h1>" in text
    assert 'id="damage"' not in text


@pytest.mark.parametrize("suffix, start", [("html", "<!DOCTYPE"), ("json", '{"status"'), ("md", "# 1 of 1"),
                                           ("xml", "<?xml"), ("sarif", '{"$schema"')])  # fmt: skip
def test_the_suffix_says_what_to_write(tmp_path: Path, suffix: str, start: str) -> None:
    (tmp_path / "torn.rbf").write_bytes(TORN)
    assert on_pipe(["report", "torn.rbf", "-o", f"out.{suffix}"], tmp_path).code == 1
    assert (tmp_path / f"out.{suffix}").read_text(encoding="utf-8").startswith(start)
    again = on_pipe(["report", "torn.rbf", "-o", f"out.{suffix}"], tmp_path)
    assert (again.code, "--overwrite" in again.err) == (2, True)


def test_a_page_is_not_written_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "torn.rbf").write_bytes(TORN)
    ran = on_terminal(["report", "torn.rbf"], tmp_path)
    assert ran.code == 2
    assert "<html" not in ran.out


def test_a_file_that_cannot_be_read_is_in_the_report_and_in_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "a.rbf").write_bytes(GOOD)
    ran = on_pipe(["report", "a.rbf", "gone.rbf", "--format", "json"], tmp_path)
    assert ran.code == 2
    assert [left["file"] for left in json.loads(ran.out)["unread"]] == ["gone.rbf"]


def test_junit_has_a_failure_for_each_damaged_file(backup: Path) -> None:
    root = minidom.parseString(told(backup, "junit")).documentElement  # noqa: S318 - our own
    cases = root.getElementsByTagName("testcase")
    failed = [case.getAttribute("name") for case in cases if case.getElementsByTagName("failure")]
    assert [Path(name).name for name in failed] == ["torn.rbf", f"{0:020}.log", "orders-3"]
    assert int(root.getAttribute("tests")) == len(cases)
    assert root.getAttribute("failures") == "3"


def test_sarif_names_rule_file_and_bytes_of_each_finding(backup: Path) -> None:
    run = json.loads(told(backup, "sarif"))["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = {}
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        found[result["ruleId"], Path(place["artifactLocation"]["uri"]).name] = place.get("region")
    data = json.loads(told(backup, "json"))
    for file in data["files"]:
        for finding in file["findings"]:
            region = found[finding["code"], Path(file["file"]).name]
            if file["folder"]:
                assert region is None
                continue
            assert region["byteOffset"] == finding["start"]
            assert region["byteLength"] == finding["end"] - finding["start"]


def test_github_gets_a_command_for_each_finding(backup: Path) -> None:
    lines = told(backup, "github").splitlines()
    assert sum(line.startswith("::error file=") for line in lines) == 3
    assert all(re.match(r"::(error|warning|notice) file=[^:,]+,title=[^:,]+::.", line) for line in lines)


# What reaches a person is text.


def nasty() -> Survey:
    """A survey in which every text comes from an enemy."""
    survey = Survey()
    for number, text in enumerate(TEXTS):
        code = Code(f"XXX{100 + number}", "torn", "error", "it is torn")
        lost = {"lost": text, text: text, "reason": text}
        items: list[Run | Finding] = [Run(Span(0, 50), 1, 1), Finding(code, Span(50, 60), lost, f"thawline {text}")]
        extent = Extent("offset", 0, 9, 0, 9, codecs={text: Use(1, 2)})
        survey.add(report(f"/{text}/{text}", "x", 60, items), "unit", extent)
        survey.unread.append(Unread(text, text))
    return survey


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_of_a_nasty_name_or_text_gets_through(shape: str) -> None:
    survey = nasty()
    made = {
        "html": lambda: page(survey, {}, About(TEXTS, "now")),
        "json": lambda: "".join(json_pieces(survey)),
        "md": lambda: "".join(markdown(survey, {})),
        "junit": lambda: "".join(junit(survey)),
        "sarif": lambda: "".join(sarif(survey)),
        "github": lambda: "".join(commands(survey)),
    }[shape]()
    made.encode()  # no lone surrogate
    assert not FORBIDDEN.search(made)
    if shape == "html":
        tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(made)
        assert {item.tag for item in tree.iter() if item.tag in {"img", "iframe", "object"}} == set()
        assert len(list(tree.iter("script"))) == 1
        assert not [key for item in tree.iter() for key in item.attrib if str(key).startswith("on")]
        assert all(str(item.get("href")).startswith("#") for item in tree.iter() if item.get("href"))
    elif shape == "junit":
        cases = minidom.parseString(made).getElementsByTagName("testcase")  # noqa: S318 - as above
        assert len(cases) == 2 * len(TEXTS)
    elif shape == "sarif":
        assert len(json.loads(made)["runs"][0]["results"]) == len(TEXTS)
    elif shape == "github":
        assert all(line.startswith(("::error file=", "::notice file=")) for line in made.splitlines())
        assert made.count("\n") == 2 * len(TEXTS)
    elif shape == "md":
        outside = re.sub(r"(`+)( ?).*?\2\1", "", re.sub(r"^    .*$", "", made, flags=re.MULTILINE))
        assert "@everyone" not in outside
        assert PAYLOAD not in outside


@pytest.mark.parametrize("shape", SHAPES)
def test_nasty_file_names_are_shown_escaped_by_the_command(tmp_path: Path, shape: str) -> None:
    fill(tmp_path, GOOD, TORN, ".rbf")
    ran = on_pipe(["report", "--format", shape, "."], tmp_path)
    assert ran.code == 1
    assert not FORBIDDEN.search(ran.out)
    assert not FORBIDDEN.search(ran.err)


def test_a_terminal_is_not_controlled_by_names(tmp_path: Path) -> None:
    fill(tmp_path, GOOD, TORN, ".rbf")
    shown = on_terminal(["report", "--color", "never", "--format", "md", "."], tmp_path)
    assert not FORBIDDEN.search(shown.out.replace("\r", ""))
    verified = on_terminal(["verify", "--color", "never", "--progress", "none", "."], tmp_path)
    assert not FORBIDDEN.search(verified.out.replace("\r", ""))


# Bounds.


def many(files: int, findings: int, name: str) -> Survey:
    codes = [Code(f"XXX{100 + number}", f"broken in way {number}", "error", "x" * 300) for number in range(20)]
    survey = Survey()
    for number in range(files):
        items: list[Run | Finding] = []
        for place in range(findings):
            span = Span(place * 100, place * 100 + 50)
            detail = {"crc_stored": number * place, "lost": f"1 batch of 40 records, offsets {number} to {place}"}
            items += [Finding(codes[place % 20], span, detail, "thawline x"), Run(Span(span.end, span.end + 50), 1, 1)]
        verdict: Report = report(f"/data/{name}{number % 300}/{number:020}.log", "kafka", 100 * findings, items)
        survey.add(verdict, "batch", Extent("offset", number, number + 9))
    return survey


@pytest.mark.parametrize("name", ["orders-", "é" * 2000, "e" + "\u0301" * 2000], ids=["short", "wide", "narrow"])
def test_a_page_stays_below_ten_megabytes_and_says_what_it_leaves_out(name: str) -> None:
    survey = many(10_000 if name == "orders-" else 2_000, 10, name)
    text = page(survey, {}, ABOUT)
    assert len(text.encode()) < 10_000_000
    assert "would make this page too large" in text
    assert "more are not listed here" in text
    assert "<code>thawline verify " in text
    assert f"{survey.counts()['damaged']:,} of".replace(",", " ") in text


def test_colours_are_legible_in_light_and_in_dark() -> None:
    css = (Path(thawline.__file__).parent / "rendering/report/style.css").read_text(encoding="utf-8")
    themes = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    for theme in themes[:2]:
        colours = dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", theme))
        for name in ("ink", "soft", "accent", "b0", "b1", "b2", "b3", "b4"):
            for ground in ("paper", "panel"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_treemap_fills_its_box_with_areas_as_large_as_the_sizes() -> None:
    sizes = [500, 300, 100, 60, 30, 10]
    boxes = list(squarified(sizes, Box(0, 0, 100, 50)))
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(size / 1000 * 5000)
        assert 0 <= box.x <= box.x + box.width <= 100.001
        assert 0 <= box.y <= box.y + box.height <= 50.001


# In a notebook.


def test_a_notebook_shows_facts_rows_and_the_map_and_says_what_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "<b>.rbf"
    path.write_bytes(TORN)
    with thawline.open(path) as cold:
        shown = cold._repr_html_()
        verdict = cold.verify()
    assert "<b>.rbf" not in shown
    for needed in ("<svg", "damaged", "all bytes", "tag_text", "&lt;b&gt;.rbf"):
        assert needed in shown
    assert verdict.findings[0].code.id in verdict._repr_html_()
    picture = thawline.plot(verdict)
    assert picture._repr_svg_() == str(picture)
    root = minidom.parseString(str(picture)).documentElement  # noqa: S318 - as above
    assert (root.tagName, root.getAttribute("xmlns")) == ("svg", "http://www.w3.org/2000/svg")
    assert 'class="damaged"' in str(picture)


def test_a_large_file_is_not_read_for_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thawline.notebook.SMALL", 1000)
    path = tmp_path / "a.rbf"
    path.write_bytes(GOOD)
    with thawline.open(path) as cold:
        reached: list[int] = []
        view = cold.source.view
        monkeypatch.setattr(cold.source, "view", lambda start, end: reached.append(end) or view(start, end))
        shown = cold._repr_html_()
    assert max(reached) <= 1000
    assert "verify() looks at all of them" in shown
    assert "tag_text" in shown


def test_a_folder_shows_its_damaged_files_in_a_notebook(backup: Path) -> None:
    shown = thawline.open_folder(backup / "orders-3")._repr_html_()
    assert shown.count("<svg") == 1
    assert "all bytes" in shown
    assert ">offset</th>" in shown


def test_a_report_replaces_no_file_beside_the_data_and_no_spec(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(log([batch(0, 5)]))
    beside, spec = folder / "leader-epoch-checkpoint", tmp_path / "frames.ksy"
    beside.write_bytes(b"0\n1\n0 0\n")
    spec.write_bytes((Path(__file__).parents[1] / "docs" / "examples" / "leveldb_log.ksy").read_bytes())
    for given, target in ([str(folder)], beside), (["--spec", str(spec), str(folder)], spec):
        before = target.read_bytes()
        outcome = on_pipe(["report", *given, "-o", str(target), "--overwrite"], tmp_path)
        assert (outcome.code, target.read_bytes()) == (2, before)
        assert "is an input" in outcome.err
