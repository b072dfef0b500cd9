from __future__ import annotations

import re
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from accounts import Golden, golden_files

from thawline import specs
from thawline.checksums import crc32c
from thawline.cold import open_cold
from thawline.model import Code, Finding, Span
from thawline.rendering.inspection import inspection_lines
from thawline.source import Readable
from thawline.verbs.inspect import RAW_ROWS, inspect, inspect_finding
from tools.mutants import mutants

FENCE = b"RBF1"
ROW = re.compile(r"0x([0-9a-f]{4,})\| (.{48})\|(.{16})\|(?: (.*))?")


def frame(payload: bytes, tag: bytes = b"ABCD") -> bytes:
    filled = 4 - len(payload) % 4
    size = (16 + len(payload) + filled).to_bytes(4, "little")
    body = tag + payload + bytes([filled - 1]) * filled + size
    return size + body + crc32c(body).to_bytes(4, "little")


def log(*frames: bytes) -> bytes:
    return FENCE + b"".join(frame + FENCE for frame in frames)


HELLO, LONG, LAST = frame(b"hello world"), frame(b"x" * 1100), frame(bytes(9), b"\0\1\2\3")
LOG = log(HELLO, LONG, LAST)
SOME_CODE = Code("RBF999", "some finding", "error", "For this test.")


def shown(data: Readable, **choice: int | bool) -> list[str]:
    with open_cold(data, format="rbf") as cold:
        return [line.plain for line in inspection_lines(inspect(cold, **choice))]  # type: ignore[arg-type]


def flipped(data: bytes, at: int, bits: int = 1) -> bytes:
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def test_an_intact_frame_is_shown_field_by_field_with_its_fences() -> None:
    assert shown(LOG, unit=0) == [
        "<bytes>  frame 0  0x4..0x20 (28 bytes)  rbf 0.27",
        "0x0000| 52 42 46 31                                     |RBF1            | fence",
        "0x0004|             1c 00 00 00                         |    ....        | len_frame: 28 (-> 0x20)",
        "0x0008|                         41 42 43 44             |        ABCD    | frame_tag: 1145258561 (0x44434241)",
        '0x000c|                                     68 65 6c 6c |            hell| payload: "hello world"',
        "0x0010| 6f 20 77 6f 72 6c 64                            |o world         |",
        (
            "0x0017|                      00                         |       .        | "
            "status[0]: is_tombstone false, reserved 0, num_status_minus_1 0"
        ),
        "0x0018|                         1c 00 00 00             |        ....    | len_tail: 28 (-> 0x20)",
        "0x001c|                                     d8 57 df 46 |            .W.F| crc32c: 0x46df57d8 (valid)",
        "0x0020| 52 42 46 31                                     |RBF1            | fence",
    ]


def test_a_damaged_frame_is_shown_up_to_the_field_that_breaks_a_rule_which_is_marked() -> None:
    assert shown(flipped(log(HELLO), 0x17, 0x10)) == [
        "<bytes>  finding 1: RBF105 these bytes are no frame  0x4..0x24 (32 bytes)  rbf 0.27",
        "0x0000| 52 42 46 31                                     |RBF1            | fence",
        "0x0004|             1c 00 00 00                         |    ....        | len_frame: 28 (-> 0x20)",
        "0x0008|                         41 42 43 44             |        ABCD    | frame_tag: 1145258561 (0x44434241)",
        "0x000c|                                     68 65 6c 6c |            hell| 11 bytes in no field",
        "0x0010| 6f 20 77 6f 72 6c 64                            |o world         |",
        (
            "0x0017|                      10                         |       .        | "
            "last_status: is_tombstone false, reserved 4"
        ),
        (
            "      |                      ^^                         |                | "
            "^ is 4, must be 0 (rbf_frame: /types/frame_status/seq/1)"
        ),
        "0x0018|                         1c 00 00 00 d8 57 df 46 |        .....W.F| 12 bytes in no field",
        "0x0020| 52 42 46 31                                     |RBF1            |",
    ]


def test_the_byte_that_a_finding_names_is_marked_although_no_rule_of_the_spec_is_broken() -> None:
    with open_cold(LOG, format="rbf") as cold:
        found = Finding(SOME_CODE, Span(4, 32), {"at": 0x1A, "reason": "a tail that no writer makes"})
        reasons = {stretch.label: stretch.reason for stretch in inspect_finding(cold, 1, found) if stretch.reason}
    assert reasons == {"len_tail": "a tail that no writer makes"}


def test_a_wrong_checksum_is_shown_with_the_right_one() -> None:
    data = flipped(LOG, 0x10)
    computed = crc32c(data, 8, 0x1C)
    assert any(line.endswith(f"crc32c: 0x46df57d8 (invalid; computed {computed:#010x})") for line in shown(data))


def test_every_byte_of_a_unit_finds_that_unit() -> None:
    with open_cold(LOG) as cold:
        spans = [
            span for run in cold.scan() if not isinstance(run, Finding) for span in cold.kind.units(cold.source, run)
        ]
    for number, span in enumerate(spans):
        for at in (span.start, (span.start + span.end) // 2, span.end - 1, span.end, span.end + 3):
            lines = shown(LOG, at=at)
            assert lines[0].startswith(f"<bytes>  frame {number}  {span} ")
            assert any(line.endswith(f"^ byte {at:#x}") for line in lines) == (at < len(LOG))


def test_the_fence_before_the_first_frame_goes_with_that_frame() -> None:
    assert shown(LOG, at=1)[0].startswith("<bytes>  frame 0 ")


def test_a_byte_deep_in_a_long_payload_is_shown_and_marked() -> None:
    lines = shown(LOG, at=0x300)
    mark = next(index for index, line in enumerate(lines) if line.endswith("^ byte 0x300"))
    assert lines[mark - 1].startswith("0x0300| 78 78")
    assert lines[mark].index("^") == len("0x0300| ")
    assert [line for line in lines if "bytes more" in line]


def test_a_long_payload_is_cut_and_says_by_how_much() -> None:
    lines = shown(LOG, unit=1)
    assert "payload: " + '"' + "x" * 40 + "…" + '"' + " of 1 100 bytes" in lines[4]
    assert lines[8] == f"      | {'… 1 048 bytes more':48}|{' ' * 16}|"


def test_frames_are_counted_over_damage() -> None:
    data = flipped(LOG, 0x10)
    assert shown(data, unit=1)[0].startswith(f"<bytes>  frame 1  {len(LOG) - 4 - len(LAST):#x}..")


def test_without_a_choice_it_is_the_first_damage_or_else_the_first_unit() -> None:
    assert "  frame 0  " in shown(LOG)[0]
    assert "  finding 1: RBF104 " in shown(flipped(LOG, len(LOG) - 20))[0]
    assert "  frame 0  " in shown(LOG + FENCE)[0], "an extra fence is no damage"


def test_findings_are_counted_from_one_as_verify_lists_them() -> None:
    data = flipped(flipped(LOG, 0x10), len(LOG) - 20)
    with open_cold(data) as cold:
        findings = cold.verify().findings
    assert len(findings) == 2
    for number, finding in enumerate(findings, 1):
        assert shown(data, finding=number)[0].startswith(
            f"<bytes>  finding {number}: {finding.code.id} {finding.message}  {finding.span} "
        )


def test_a_torn_frame_is_shown_with_what_is_there_of_it() -> None:
    lines = shown(LOG[:-15])
    assert "  finding 1: RBF102 " in lines[0]
    start = len(LOG) - 4 - len(LAST)
    assert lines[2].endswith("| len_frame: 28")
    assert lines[3].startswith(f"{start + 4:#06x}|")
    assert lines[3].endswith("| body")
    assert lines[4].endswith("^ needs 24 bytes, 13 left (rbf_frame: /seq/1)")


def test_a_whole_frame_without_its_fence_is_shown_as_valid_and_the_fence_as_wrong() -> None:
    lines = shown(flipped(LOG, 0x20))
    assert lines[8].endswith("crc32c: 0x46df57d8 (valid)")
    assert lines[9].endswith('| fence: "SBF1"')
    assert lines[10].endswith("^ is 0x53424631, must be 0x52424631 (rbf_file: /types/entry/seq/1)")


def test_a_damaged_length_is_not_said_to_lead_to_the_end() -> None:
    lines = shown(flipped(LOG, 4, 8))
    assert "RBF106" in lines[0]
    assert lines[2].endswith("| len_frame: 20")


def test_a_frame_inside_a_broken_frame_is_shown_by_itself_and_as_bytes_of_the_broken_one() -> None:
    data = flipped(log(frame(b"...." + log(HELLO) + b"tail"), LAST), 12)
    inner, outer = shown(data, unit=0), shown(data, finding=1)
    assert "  frame 0, nested suspect  " in inner[0]
    assert any(line.endswith("(valid)") for line in inner)
    assert any("(invalid; computed 0x" in line for line in outer)
    assert outer[-1].startswith("   = note: what starts here claims bytes up to 0x")


def test_a_lost_genesis_fence_is_not_taken_for_a_frame() -> None:
    lines = shown(b"RBFX" + LOG[4:])
    assert "RBF101" in lines[0]
    assert lines[1:] == [f"0x0000| 52 42 46 58{' ' * 37}|RBFX            | no fence"]


def test_fences_in_a_row_are_shown_as_fences() -> None:
    lines = shown(LOG + 2 * FENCE, finding=1)
    assert [line.rpartition("| ")[2] for line in lines[1:]] == ["fence", "fence"]


@pytest.mark.parametrize(
    ("data", "title", "rows"),
    [
        (b"", "finding 1: RBF109 shorter than a fence  0x0..0x0 (0 bytes)", 0),
        (b"R", "finding 1: RBF109 shorter than a fence  0x0..0x1 (1 byte)", 1),
        (b"RBF", "finding 1: RBF109 shorter than a fence  0x0..0x3 (3 bytes)", 1),
        (FENCE, "no frame  0x0..0x4 (4 bytes)", 1),
    ],
)
def test_files_without_a_frame_are_shown_as_they_are(data: bytes, title: str, rows: int) -> None:
    lines = shown(data)
    assert lines[0].removesuffix(" 0.27") == f"<bytes>  {title}  rbf"
    assert len(lines) == 1 + rows


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"at": len(LOG)}, "<bytes>: there is no byte 0x4a8; the file has 1 192 bytes"),
        ({"at": -1}, "<bytes>: there is no byte -0x1; the file has 1 192 bytes"),
        ({"unit": 3}, "<bytes>: there is no frame 3; the file has 3 frames, counted from 0"),
        ({"unit": -1}, "<bytes>: there is no frame -1; the file has 3 frames, counted from 0"),
        ({"finding": 1}, "<bytes>: there is no finding 1; the file has 0 findings, counted from 1"),
        ({"finding": 0}, "<bytes>: there is no finding 0; the file has 0 findings, counted from 1"),
        ({"at": 4, "unit": 0}, "at, unit and finding exclude each other"),
    ],
)
def test_what_is_not_there_is_said_before_the_first_line(choice: dict[str, int], message: str) -> None:
    with open_cold(LOG) as cold, pytest.raises(ValueError, match=re.escape(message)):
        inspect(cold, **choice)  # type: ignore[arg-type]


def test_fields_have_the_names_of_the_format_s_document_if_asked_for() -> None:
    labels = [line.rpartition("| ")[2].partition(":")[0] for line in shown(LOG, unit=0, spec_names=True)]
    assert labels[2:4] == ["HeadLen", "FrameTag"]
    assert shown(LOG, unit=0, spec_names=True)[6].endswith("FrameStatus[0]: Tombstone false, Reserved 0, StatusLen 0")


def test_text_from_the_file_cannot_disturb_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J.rbf"
    path.write_bytes(log(frame("\x1b[31m\u202e".encode())))
    assert all(line.isprintable() for line in shown(path))


def test_the_file_the_format_and_its_version_stand_in_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.rbf"
    path.write_bytes(LOG)
    with open_cold(path) as cold:
        assert next(inspection_lines(inspect(cold))).plain == f"{path}  frame 0  0x4..0x20 (28 bytes)  rbf 0.27"


def test_the_bytes_of_a_field_have_the_colour_of_its_name() -> None:
    with open_cold(LOG) as cold:
        line = list(inspection_lines(inspect(cold, unit=0)))[3]
    styles = {line.plain[span.start : span.end].strip(): span.style for span in line.spans}
    assert line.style == ""
    assert (styles["41 42 43 44"], styles["ABCD"], styles["frame_tag"]) == ("green", "green", "bold green")


def test_bytes_in_no_field_are_coloured_by_what_they_may_be() -> None:
    with open_cold(FENCE + b"\xff\xff\xff\xffAB\0\0 \n\x01\x80", format="rbf") as cold:
        line = list(inspection_lines(inspect(cold)))[-1]
    styles = {line.plain[span.start : span.end].strip(): span.style for span in line.spans}
    assert (styles["41 42"], styles["00 00"], styles["20 0a"]) == ("cyan", "dim", "green")
    assert (styles["01"], styles["80"]) == ("magenta", "yellow")


def test_a_long_stretch_of_garbage_takes_a_bounded_number_of_rows() -> None:
    lines = shown(FENCE + b"garbage." * 10_000)
    assert len(lines) < RAW_ROWS + 10
    assert "| … 78 980 bytes more " in lines[-1]


def test_a_frame_too_long_to_be_read_is_shown_with_its_first_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 1 << 16
    monkeypatch.setattr("thawline.verbs.inspect.LONGEST_UNIT", longest)
    with open_cold(log(frame(bytes(16 * longest)))) as cold:
        tracemalloc.start()
        lines = [line.plain for line in inspection_lines(inspect(cold))]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert lines[2].endswith("| len_frame: 1048596")
    assert "^ needs more than the 65 536 bytes that are read to show fields" in lines[4]
    assert "| … 1 048 540 bytes more " in lines[-1]
    assert peak < 8 * longest


@pytest.mark.parametrize("golden", [g for g in golden_files("rbf") if g.file.suffix == ".rbf"], ids=lambda g: g.name)
def test_the_rows_of_a_golden_frame_hold_its_bytes_once_each(golden: Golden) -> None:
    for number, (unit, data) in enumerate(golden.units()):
        if len(data) > 2048:
            continue
        rows = [ROW.fullmatch(line) for line in shown(golden.file, unit=number)[1:]]
        places = [(int(row[1], 16), bytes.fromhex(row[2])) for row in rows if row]
        assert places[0][0] == unit["start"] - len(FENCE)
        hidden = any(row is None for row in rows)
        for (at, row_bytes), (following, _) in pairwise(places):
            assert at + len(row_bytes) == following or hidden or row_bytes == b""
            assert golden.data[at : at + len(row_bytes)] == row_bytes


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_is_too_much(seed: int) -> None:
    for mutant in mutants(log(HELLO, frame(log(HELLO)), LAST), seed, 25):
        with open_cold(mutant, format="rbf") as cold:
            findings = list(cold.findings())
            for number in range(1, len(findings) + 1):
                assert list(inspection_lines(inspect(cold, finding=number)))
            for at in range(0, len(mutant), 11):
                assert list(inspection_lines(inspect(cold, at=at)))


def test_the_marked_field_is_the_one_that_the_spec_s_reader_names() -> None:
    data = flipped(log(HELLO), 0x18)
    place = specs.locate("rbf_file::entry", data[4:])
    assert place is not None
    lines = shown(data)
    marked = next(index for index, line in enumerate(lines) if "^^" in line)
    assert lines[marked - 1].startswith(f"{4 + place.offset:#06x}|")
    assert f"({place.spec}: {place.path})" in lines[marked]
