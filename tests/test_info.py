"""`thawline info`: what people ask first, and the same counts as a walk by heads gives."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from accounts import GOLDEN
from in_process import on_pipe, on_terminal

import thawline
from thawline.cli.looks import MOST_CARDS
from thawline.errors import ThawlineError
from thawline.formats import FORMATS, get
from thawline.formats.contract import Ask, Overview
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.verbs.info import info
from thawline.verbs.overview import Answers


def told(path: str) -> dict[str, Any]:
    with thawline.open(GOLDEN / path) as cold:
        return dict(info(cold)["overview"])


def test_a_segment_tells_offsets_times_codecs_producers_and_transactions() -> None:
    assert told("kafka/transactions-open.log") == {
        "offsets": {"from": 100, "to": 105},
        "gaps": {"places": 0, "missing": 0},
        "times": {"from": "2023-11-14T22:13:20.100000Z", "to": "2023-11-14T22:13:20.105000Z"},
        "codecs": {"none": 4, "lz4": 1},
        "producers": 3,
        "transactions": {"committed": 3, "open": 1},
    }
    assert told("kafka/offset-gaps.log")["gaps"] == {"places": 2, "missing": 999978}


def test_every_format_answers_something() -> None:
    for name in FORMATS:
        kind = get(name).kinds[0]
        assert kind.overview is not None, name
        table = kind.tables[kind.overview.table]
        known = {*table.schema.names, *table.extras.names}
        assert all(set(ask.columns) <= known for ask in kind.overview.asks), name


def test_the_rows_that_answer_leave_the_counts_as_they_are() -> None:
    compared = 0
    for path in sorted(GOLDEN.glob("*/*")):
        if path.suffix in {".json", ".bin", ".address"}:
            continue
        for seed in range(3):
            data = bytearray(path.read_bytes())
            if seed and len(data) > 40:
                data[Random(seed).randrange(20, len(data))] ^= 0x55
            try:
                cold = thawline.open(bytes(data))
            except ThawlineError:
                continue
            with cold:
                report, facts = cold.verify(heads_only=True), info(cold)
            counts = (report.units, report.rows, report.intact_bytes, report.damaged_bytes, len(report.findings))
            names = ("units", "rows", "intact_bytes", "damaged_bytes", "findings")
            assert tuple(facts[name] for name in names) == counts, (path, seed)
            compared += 1
    assert compared > 200


def test_columns_and_reasons_are_for_who_asks_for_more(tmp_path: Path) -> None:
    path = str(GOLDEN / "rbf/many-frames.rbf")
    assert "table frames" not in on_terminal(["info", path], tmp_path).out
    more = on_terminal(["info", "-v", path], tmp_path).out
    assert "table frames" in more
    assert "because" in more
    assert '"tables"' in on_pipe(["info", path], tmp_path).out


@pytest.mark.parametrize("size", [1, 2, 100])
def test_answers_do_not_depend_on_how_rows_are_cut(size: int) -> None:
    asks = (
        Ask("offsets", "range", ("first", "last")),
        Ask("gaps", "gaps", ("first", "last")),
        Ask("names", "values", ("name",), ("c",)),
        Ask("kinds", "distinct", ("name",)),
        Ask("sum", "sum", ("last",)),
    )
    table = pa.record_batch(
        {"first": [0, 5, None, 20], "last": [4, 9, None, 22], "name": ["a", "b", None, "c"]},
    )
    answers = Answers(Overview("rows", asks))
    for start in range(0, table.num_rows, size):
        answers.add(table.slice(start, size))
    assert answers.facts() == {
        "offsets": {"from": 0, "to": 22},
        "gaps": {"places": 1, "missing": 10},
        "names": {"a": 1, "b": 1},
        "kinds": 3,
        "sum": 35,
    }


def test_a_folder_is_told_as_a_whole(tmp_path: Path) -> None:
    with KafkaSegmentWriter(tmp_path / "orders-3", segment_bytes=2000, batch_records=5) as log:
        for offset in range(200):
            if not 100 <= offset < 110:
                log.append(value=b"x" * 50, offset=offset, timestamp=1_700_000_000_000)
    segments = sorted((tmp_path / "orders-3").glob("*.log"))
    assert len(segments) > 5
    shown = on_terminal(["info", "orders-3"], tmp_path).lines()
    whole = shown[shown.index(f"{len(segments)} files") :]
    assert "  offsets  0 to 199" in whole
    assert "  gaps     10 missing in 1 place" in whole
    assert sum(line.endswith(".log") for line in shown) == MOST_CARDS
    assert sum(line.endswith(".log") for line in on_terminal(["info", "-v", "orders-3"], tmp_path).lines()) == len(
        segments
    )
    assert len(on_pipe(["info", "orders-3"], tmp_path).out.splitlines()) >= len(segments)
    glance = on_terminal(["orders-3"], tmp_path).lines()
    assert "  next      thawline verify orders-3" in glance


def test_files_of_several_folders_have_no_gaps_between_them(tmp_path: Path) -> None:
    for name, first in (("a-0", 0), ("b-0", 1000)):
        with KafkaSegmentWriter(tmp_path / name) as log:
            log.append(value=b"x", offset=first)
    whole = on_terminal(["info", "a-0", "b-0"], tmp_path).lines()
    whole = whole[whole.index("2 files") :]
    assert "  offsets  0 to 1000" in whole
    assert not any("gaps" in line for line in whole)
