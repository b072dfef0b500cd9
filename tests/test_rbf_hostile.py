"""A hostile RBF file costs linear work. Work is counted, not timed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from engines import calling
from rbf_logs import check, items_of

from thawline.checksums import crc32c
from thawline.formats.rbf import findings as rbf_findings
from thawline.formats.rbf import frame as rbf_frame
from thawline.formats.rbf.walk import CHECKPOINT, CHECKSUM_BUDGET, ReverseScan
from thawline.native import fast
from thawline.source import open_source
from tools.bench import attack


class Counting:
    """The native module, which counts the bytes that go into checksums of candidates one by one, and candidates."""

    def __init__(self) -> None:
        self.covered = self.candidates = 0
        self.module = SimpleNamespace(**{name: getattr(fast, name) for name in dir(fast)})
        self.module.check_checksums = self.check_checksums

    def check_checksums(self, buf: Any, fences: Any, starts: Any, count: int, states: Any, step: int) -> None:
        assert step == CHECKPOINT
        self.candidates += sum(start >= 0 for start in starts[:count])
        if not len(states):
            self.covered += fast.covered_bytes(fences, starts, count)
        fast.check_checksums(buf, fences, starts, count, states, step)


@pytest.mark.parametrize("size", [1 << 16, 1 << 17, 1 << 20])
@pytest.mark.parametrize("build", [attack.nested_pairs, attack.nested_around_frames], ids=lambda build: build.__name__)
def test_checksums_of_nested_candidates_cost_linear_work(build: Any, size: int) -> None:
    data = build(size)
    counting = Counting()
    with calling(counting.module), open_source(data) as source:
        scan = ReverseScan(source, 4)
        while scan.is_open:
            scan.step(1 << 16)
        assert scan.budget < 0
        assert len(scan.checkpoints) == len(data) // CHECKPOINT + 1
    assert size // 60 <= counting.candidates <= size // 20
    assert counting.covered <= CHECKSUM_BUDGET * len(data)


def test_a_clean_file_is_checked_without_checkpoints() -> None:
    with open_source(attack.clean(1 << 18)) as source:
        scan = ReverseScan(source, 4)
        while scan.is_open:
            scan.step(1 << 14)
        assert scan.budget > 0
        assert not scan.checkpoints


@pytest.mark.parametrize("name", attack.ATTACKS)
def test_explaining_a_hostile_file_costs_linear_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = attack.ATTACKS[name](1 << 15)
    work: list[int] = []

    probe = rbf_findings.frame_probe()

    def counted_probe(view: memoryview) -> Any:
        work.append(len(view))
        return probe(view)

    def counted_crc32c(view: memoryview, start: int, end: int) -> int:
        work.append(end - start)
        return crc32c(view, start, end)

    monkeypatch.setattr(rbf_findings, "frame_probe", lambda: counted_probe)
    monkeypatch.setattr(rbf_frame, "crc32c", counted_crc32c)
    items = items_of(data)
    # A frame that breaks a rule early is within the budget but costs nothing; what is left are a few bytes a gap.
    assert sum(work) <= (2 * rbf_findings.EXPLAIN_BUDGET + 1) * len(data) + 24 * len(items)


@pytest.mark.parametrize("name", attack.ATTACKS)
def test_rows_of_a_hostile_file_are_the_frames_of_the_reverse_scan(name: str) -> None:
    check(attack.ATTACKS[name](1 << 13))
