"""What the fuzzer of the native module counts, and that it adds up over runs."""

from __future__ import annotations

from pathlib import Path

from tools.fuzz.tally import Tally, Told

LINES = """INFO: seed corpus: files: 223 min: 2b max: 1018b total: 60000b rss: 90Mb
#224	INITED cov: 1550 ft: 7494 corp: 223/50Kb exec/s: 0 rss: 186Mb
#2689	NEW    cov: 1551 ft: 7497 corp: 224/51Kb lim: 1018 exec/s: 1344 rss: 186Mb L: 445/1018 MS: 3 CopyPart-
#4096	pulse  cov: 1551 ft: 7497 corp: 224/51Kb lim: 1018 exec/s: 1344 rss: 186Mb
"""
ENDED = LINES + "#5224	DONE   cov: 1551 ft: 7497 corp: 224/51Kb\nstat::number_of_executed_units: 5224\n"


def test_a_run_counts_what_it_executed_besides_the_inputs_it_began_with() -> None:
    assert Told.of(ENDED) == Told(5000, 1551)


def test_a_run_that_was_stopped_counts_as_far_as_it_told() -> None:
    assert Told.of(LINES) == Told(4096 - 224, 1551)
    assert Told.of("INFO: Running with entropic power schedule\n") == Told(0, 0)


def test_executions_add_up_for_the_same_code_only(tmp_path: Path) -> None:
    first, other = Tally(tmp_path / "made" / "tally", "aaaa"), Tally(tmp_path / "made" / "tally", "bbbb")
    first.add("kafka", Told(5000, 10), 2)
    first.add("kafka", Told(3000, 12), 2)
    other.add("kafka", Told(7, 3), 1)
    first.add("rbf", Told(1, 1), 1)
    assert [first.executions("kafka"), other.executions("kafka"), other.executions("rbf")] == [8000, 7, 0]
    assert first.text("kafka") == "kafka: 8,000 executions in 4 s (2,000 a second), 12 edges"
