"""The cases: which data, which contenders, and which figures our own reader has to reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.bench import aerospike, data, floors, framed, kafka, ours, rbak_segment, text
from tools.bench.data import DataSet
from tools.bench.measure import Contender

OURS = "thawline"
WITH_COPY = f"{OURS}, JSON copied"


@dataclass(frozen=True, slots=True)
class Target:
    """A figure to reach against a contender: how many times faster than it, or how many times slower at most."""

    contender: str
    factor: float
    is_slowdown: bool = False
    ours: str = OURS
    """Which of our own readers has to reach it."""

    def __str__(self) -> str:
        sign, by = "<=" if self.is_slowdown else ">=", "" if self.ours == OURS else f" ({self.ours})"
        return f"{sign} {self.factor:g} x {self.contender}{by}"

    def reached(self, ours: float, theirs: float) -> float:
        """The factor that two times give."""
        return ours / theirs if self.is_slowdown else theirs / ours

    def is_met(self, reached: float) -> bool:
        """Whether a factor is good enough."""
        return reached <= self.factor if self.is_slowdown else reached >= self.factor


@dataclass(frozen=True, slots=True)
class Case:
    """One data set and those who read it; the floor comes first, ours second."""

    name: str
    title: str
    build: Callable[[int], DataSet]
    contenders: tuple[Contender, ...]
    targets: tuple[Target, ...] = ()


KAFKA = Case(
    "kafka",
    "Kafka v2 records -> RecordBatch (1,000 in a batch, checksum, absolute offset and timestamp)",
    data.kafka,
    (
        floors.checksum_and_copy(),
        Contender(OURS, lambda: ours.kafka_records, note="batches dropped one by one"),
        Contender(f"{OURS}, all kept", lambda: ours.kafka_records_kept, note="as one table"),
        *kafka.contenders(),
    ),
    (
        Target("floor: crc32c + memcpy", 4, is_slowdown=True),
        Target("aiokafka, C", 3),
        Target("aiokafka, C -> Arrow", 25),
        Target("ksc parser", 300),
    ),
)
KAFKA_V1 = Case(
    "kafka_v1",
    "Kafka v1 messages -> RecordBatch (checksum)",
    data.kafka_v1,
    (
        floors.checksum_and_copy(is_crc32c=False),
        Contender(OURS, lambda: ours.reader("kafka_messages", "crc")),
        *kafka.contenders_v1(),
    ),
)
KAFKA_RECORDS = 502_000
"""As many as the figures that the readers are held to were taken with."""


def _kafka_segment(compression: str) -> Case:
    """A segment of 134-byte records, from bytes to record batches through the public interface."""
    is_plain = compression == "none"
    floor, times = floors.decompress_checksum_and_copy(compression), 4 if is_plain else 3
    others = () if is_plain else (floors.decompress_checksum_and_copy(f"{compression} by cramjam"),)
    slowdown = (Target(floor.name, 2.5 if is_plain else 1.6, is_slowdown=True),)
    return Case(
        f"kafka_{compression}",
        f"Kafka segment, {compression}, 134-byte records, 1,000 in a batch -> RecordBatch (thawline.open, checksums)",
        lambda _records: data.kafka_segment(KAFKA_RECORDS, compression),
        (floor, Contender(OURS, lambda: ours.kafka_segment), *others, *kafka.segment_contenders()),
        (Target(kafka.AIOKAFKA_TUPLES, times), *slowdown),
    )


RBF = Case(
    "rbf",
    "RBF frames -> RecordBatch (64-byte payload, all checks, checksum)",
    data.rbf,
    (
        floors.checksum_and_copy(),
        Contender(OURS, lambda: ours.reader("rbf_frames", "crc32c")),
        *framed.rbf_contenders(),
    ),
    (Target("ksc parser", 300),),
)
BORG = Case(
    "borg",
    "Borg blob headers -> RecordBatch (no payload)",
    data.borg,
    (
        floors.copy_of_heads(200, 49),
        Contender(OURS, lambda: ours.reader("borg_blobs", wanted=("version", "chunk_id", "len_meta", "len_data"))),
        Contender(f"{OURS}, with payload", lambda: ours.reader("borg_blobs"), note="and all fields of both slots"),
        *framed.borg_contenders(),
    ),
    (Target("ksc parser", 150),),
)
AEROSPIKE = Case(
    "aerospike",
    "Aerospike records with six bins -> RecordBatch",
    data.aerospike,
    (
        floors.checksum_and_copy(),
        Contender(OURS, lambda: ours.reader("aerospike_records")),
        *aerospike.contenders(),
    ),
    (Target("floor: crc32c + memcpy", 5.5, is_slowdown=True), Target("ksc parser", 300)),
)
RBAK = Case(
    "rbak",
    "RBAK framing -> RecordBatch (551-byte JSON, found and not copied)",
    data.rbak_payload,
    (
        floors.checksum_and_copy(),
        Contender(OURS, lambda: ours.reader("rbak_records", wanted=("len_json",))),
        Contender(WITH_COPY, lambda: ours.reader("rbak_records")),
        *framed.rbak_contenders(),
    ),
    (Target("ksc parser", 30), Target("ksc parser", 30, ours=WITH_COPY)),
)

KAFKA_SEGMENTS = tuple(_kafka_segment(compression) for compression in ("none", "lz4", "zstd"))
RBAK_SEGMENT = Case(
    "rbak_segment",
    "RBAK zstd segment with bodies of 1 KB -> RecordBatch (checksum, every column of every message)",
    rbak_segment.segment,
    (floors.checksum_and_copy(is_crc32c=False), *rbak_segment.contenders()),
    (Target(rbak_segment.THEIRS, 10),),
)
TEXT = (
    Case(
        "rbf_jsonl",
        "RBF frames, 64-byte payload, Arrow table -> JSON lines",
        text.rbf,
        tuple(text.contenders("jsonl", OURS)),
        (Target(text.DUCKDB, 1),),
    ),
    Case(
        "kafka_jsonl",
        "Kafka records, 107-byte values, Arrow table -> JSON lines",
        text.kafka,
        tuple(text.contenders("jsonl", OURS)),
        (Target(text.DUCKDB, 1),),
    ),
    Case(
        "rbf_csv",
        "RBF frames, 64-byte payload, Arrow table -> CSV",
        text.rbf,
        tuple(text.contenders("csv", OURS)),
        (Target(text.PYARROW, 1.3, is_slowdown=True),),
    ),
    Case(
        "kafka_csv",
        "Kafka records without headers, 107-byte values, Arrow table -> CSV",
        text.flat_kafka,
        tuple(text.contenders("csv", OURS)),
        (Target(text.PYARROW, 1.3, is_slowdown=True),),
    ),
)

CASES = {
    case.name: case for case in (KAFKA, *KAFKA_SEGMENTS, KAFKA_V1, RBF, BORG, AEROSPIKE, RBAK, RBAK_SEGMENT, *TEXT)
}
