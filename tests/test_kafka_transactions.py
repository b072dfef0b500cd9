from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from accounts import golden_files
from hypothesis import given, settings
from hypothesis import strategies as st

from thawline.formats.kafka.transactions import Transactions
from thawline.formats.kafka.units import Heads
from thawline.formats.kafka.walk import Walk
from thawline.source import LocalSource
from tools.samples.kafka.control import CONTROL_TYPES
from tools.samples.kafka.entries import Batch, Record

ABORT_KEY, COMMIT_KEY = bytes(4), bytes([0, 0, 0, 1])
MARKER_VALUE = bytes(6)


def data(offset: int, producer_id: int, size: int = 1, **fields: object) -> Batch:
    records = tuple(Record(b"key", b"%d" % n, offset_delta=n) for n in range(size))
    batch = Batch(base_offset=offset, records=records, producer_id=producer_id, producer_epoch=0, is_transactional=True)
    return replace(batch, **fields)  # type: ignore[arg-type]


def marker(offset: int, producer_id: int, key: bytes, epoch: int = 1) -> Batch:
    records = (Record(key, MARKER_VALUE),)
    return data(offset, producer_id, records=records, producer_epoch=epoch, is_control=True)


def plain(offset: int) -> Batch:
    return Batch(base_offset=offset, records=(Record(None, b"plain"),))


def source_of(batches: Sequence[Batch]) -> LocalSource:
    return LocalSource("00000000000000000000.log", b"".join(batch.build() for batch in batches))


def transactions_of(*segments: Sequence[Batch]) -> Transactions:
    return Transactions(lambda: [source_of(batches) for batches in segments])


def heads_of(source: LocalSource) -> Iterator[pa.RecordBatch]:
    return (item.rows for item in Walk(source).items() if isinstance(item, Heads))


def outcomes(transactions: Transactions, batches: Sequence[Batch]) -> list[str]:
    return [outcome for rows in heads_of(source_of(batches)) for outcome in transactions.outcomes(rows).to_pylist()]


# What Kafka does, transcribed: the broker's ProducerAppendInfo and ProducerStateManager, the consumer's CompletedFetch.


@dataclass(frozen=True)
class AbortedTxn:
    producer_id: int
    first_offset: int
    last_offset: int


def broker(log: Sequence[Batch]) -> tuple[list[AbortedTxn], int | None]:
    """The transaction index and the first unstable offset after appending a log."""
    ongoing: dict[int, int] = {}
    index = []
    for batch in log:
        if batch.producer_id < 0:
            continue
        if batch.is_control:
            first = ongoing.pop(batch.producer_id, None)
            if first is not None and batch.records[0].key == ABORT_KEY:
                index.append(AbortedTxn(batch.producer_id, first, batch.base_offset))
        elif batch.is_transactional:
            ongoing.setdefault(batch.producer_id, batch.base_offset)
    return index, min(ongoing.values(), default=None)


def consumer(log: Sequence[Batch], index: Sequence[AbortedTxn], last_stable_offset: int | None) -> list[int]:
    """Offsets that a consumer with read_committed is given."""
    fetched = [b for b in log if last_stable_offset is None or b.last_offset < last_stable_offset]
    aborted_transactions = sorted(index, key=lambda txn: txn.first_offset)
    aborted_producer_ids: set[int] = set()
    returned = []
    for batch in fetched:
        if batch.producer_id > -1:
            while aborted_transactions and aborted_transactions[0].first_offset <= batch.last_offset:
                aborted_producer_ids.add(aborted_transactions.pop(0).producer_id)
            if batch.is_control and batch.records and batch.records[0].key == ABORT_KEY:
                aborted_producer_ids.discard(batch.producer_id)
            elif batch.is_transactional and batch.producer_id in aborted_producer_ids:
                continue
        if not batch.is_control:
            returned += [batch.base_offset + record.offset_delta for record in batch.records]
    return returned


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["data", "data", "data", "commit", "abort", "plain", "idempotent"]),
        st.integers(0, 3),
        st.integers(1, 3),
    ),
    max_size=24,
)


def log_of(events: Sequence[tuple[str, int, int]]) -> list[Batch]:
    log: list[Batch] = []
    offset = 0
    for kind, producer_id, size in events:
        match kind:
            case "data":
                log.append(data(offset, producer_id, size))
            case "commit" | "abort":
                log.append(marker(offset, producer_id, COMMIT_KEY if kind == "commit" else ABORT_KEY))
            case "plain":
                log.append(plain(offset))
            case "idempotent":
                log.append(data(offset, producer_id, size, is_transactional=False))
        offset = log[-1].last_offset + size  # a gap now and then, as compaction leaves them
    return log


@given(EVENTS, st.integers(0, 24))
@settings(max_examples=100, deadline=None)
def test_read_committed_gives_what_the_java_consumer_gets(events: list[tuple[str, int, int]], cut: int) -> None:
    log = log_of(events)
    index, stable = broker(log)
    found = transactions_of(log[:cut], log[cut:])
    assert found.last_stable_offset == stable
    assert [tuple(item) for item in found.aborted()] == [(t.producer_id, t.first_offset, t.last_offset) for t in index]
    returned = [
        batch.base_offset + record.offset_delta
        for batch, outcome in zip(log, outcomes(found, log), strict=True)
        for record in batch.records
        if outcome in {"none", "committed"} and not batch.is_control and (stable is None or batch.base_offset < stable)
    ]
    assert returned == consumer(log, index, stable)


@given(EVENTS)
@settings(max_examples=25, deadline=None)
def test_every_batch_behind_the_last_stable_offset_is_known_to_be_open_or_not(
    events: list[tuple[str, int, int]],
) -> None:
    log = log_of(events)
    found = transactions_of(log)
    unended = {item.producer_id: item.first_offset for item in found.open()}
    for batch, outcome in zip(log, outcomes(found, log), strict=True):
        is_in_open = batch.is_transactional and batch.base_offset >= unended.get(batch.producer_id, 1 << 62)
        assert (outcome == "open") == is_in_open
        assert (outcome == "none") == (not batch.is_transactional)


@pytest.mark.parametrize("name", ["kafka/transactions.log", "kafka/transactions-open.log"])
def test_golden_segments_have_the_outcomes_that_their_accounts_name(name: str) -> None:
    golden = next(golden for golden in golden_files("kafka") if golden.name == name)
    notes = golden.account["notes"]
    found = Transactions(lambda: [LocalSource(name, golden.data)])
    assert [item._asdict() for item in found.aborted()] == notes.get("aborted", [])
    assert [item._asdict() for item in found.open()] == notes.get("open", [])
    assert found.last_stable_offset == notes.get("last_stable_offset")
    said = [
        (item["producer_id"], range(item["first_offset"], item.get("last_offset", 1 << 62) + 1), outcome)
        for outcome in ("aborted", "committed", "open")
        for item in notes.get(outcome, [])
    ]
    for rows in heads_of(LocalSource(name, golden.data)):
        for head, outcome in zip(rows.to_pylist(), found.outcomes(rows).to_pylist(), strict=True):
            expected = [
                said_ for id_, span, said_ in said if id_ == head["producer_id"] and head["base_offset"] in span
            ]
            # The marker at 100 ends a transaction whose data lie in an earlier segment.
            assert [outcome] == (expected or ["committed" if head["base_offset"] == 100 else "none"])


def test_a_transaction_ends_in_a_later_segment() -> None:
    found = transactions_of([data(0, 7), plain(1)], [plain(2)], [marker(3, 7, ABORT_KEY)])
    assert outcomes(found, [data(0, 7), plain(1)]) == ["aborted", "none"]
    assert [tuple(item) for item in found.aborted()] == [(7, 0, 3)]


def test_markers_are_matched_by_producer_id_whatever_their_epoch() -> None:
    log = [data(0, 7, producer_epoch=4), marker(1, 7, COMMIT_KEY, epoch=5), data(2, 7, producer_epoch=5)]
    assert outcomes(transactions_of(log), log) == ["committed", "committed", "open"]


def test_a_batch_with_a_damaged_producer_id_opens_no_transaction() -> None:
    log = [data(0, 7), data(1, 7), marker(2, 7, COMMIT_KEY)]
    damaged = bytearray(log[1].build())
    damaged[50] ^= 0xFF  # the last byte of the producer id
    whole = LocalSource("x", log[0].build() + bytes(damaged) + log[2].build())
    found = Transactions(lambda: [whole])
    assert found.open() == []
    assert found.last_stable_offset is None
    assert [found.outcomes(rows).to_pylist() for rows in heads_of(whole)] == [["committed"], ["committed"]]


def test_a_batch_that_compaction_emptied_holds_nobody_back() -> None:
    emptied = Batch(base_offset=0, last_offset_delta=3, max_timestamp=0, producer_id=7, is_transactional=True)
    found = transactions_of([emptied, plain(4)])
    assert found.last_stable_offset is None
    assert outcomes(found, [emptied]) == ["none"]


def test_a_marker_without_data_aborts_nothing() -> None:
    log = [marker(0, 7, ABORT_KEY), data(1, 7), marker(2, 7, COMMIT_KEY)]
    found = transactions_of(log)
    assert list(found.aborted()) == []
    assert outcomes(found, log) == ["aborted", "committed", "committed"]


def test_other_control_records_end_no_transaction() -> None:
    other = bytes([0, 0, 0, CONTROL_TYPES["leader_change"]])
    assert transactions_of([data(0, 7), marker(1, 7, other)]).last_stable_offset == 0


def test_segments_are_looked_at_once_and_only_when_asked() -> None:
    looked: list[int] = []

    def sources() -> list[LocalSource]:
        looked.append(1)
        return [source_of([data(0, 7)])]

    found = Transactions(sources)
    assert found.outcomes(next(heads_of(source_of([plain(0)])))).to_pylist() == ["none"]
    assert looked == []
    assert (found.last_stable_offset, len(found.open()), looked) == (0, 1, [1])
