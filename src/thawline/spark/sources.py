"""The data sources: rbak, rbf, aerospike_backup, borg_pack and kafka_segment."""

from __future__ import annotations

import gc
import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from thawline.spark.files import Listing, Members
from thawline.spark.planning import Part, Planner
from thawline.spark.rows import Reader, schema_of
from thawline.spark.settings import Settings, understood

LOG = logging.getLogger("thawline.spark")
PLANNER = "pyspark.sql.worker.plan_data_source_read"


class Portion(InputPartition):
    """What one task reads."""

    def __init__(self, parts: tuple[Part, ...], read: str) -> None:
        super().__init__(None)
        self.parts = parts
        self.read = read
        """Tells reads apart, so that what is known of folders is kept for one of them and no longer."""


@dataclass
class ColdReader(DataSourceReader):
    """Plans and reads the files of one `load`."""

    settings: Settings
    schema: pa.Schema

    def partitions(self) -> list[Portion]:
        """What each task reads."""
        settings = self.settings
        planner = Planner(settings.format, settings.table, settings.max_partition_bytes)
        read = uuid.uuid4().hex
        return [Portion(parts, read) for parts in planner.plan(Listing(settings).files)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a task; without a file there is a task all the same, without rows."""
        _freeze()
        if isinstance(partition, Portion):
            reader = Reader(self.settings, self.schema, LOG.warning)
            members = _members(partition.read, self.settings)
            for part in partition.parts:
                yield from reader.read(part, members)


class ColdSource(DataSource):
    """Cold files of one format as a data source."""

    title: ClassVar[str]
    format_name: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` is given."""
        return cls.title

    @property
    def settings(self) -> Settings:
        """The options, understood."""
        return understood(self.format_name, dict(self.options))

    def schema(self) -> StructType:
        """The columns of the table, as far as they are asked for."""
        found = from_arrow_schema(schema_of(self.settings))
        return found  # noqa: RET504 - typed

    def reader(self, schema: StructType) -> ColdReader:
        """A reader of a schema, which may be the user's."""
        return ColdReader(self.settings, to_arrow_schema(schema, timezone="UTC"))


class RbakSource(ColdSource):
    """Segments of rabbitmq-backup."""

    title, format_name = "rbak", "rbak"


class RbfSource(ColdSource):
    """RBF logs."""

    title, format_name = "rbf", "rbf"


class AerospikeSource(ColdSource):
    """Aerospike backups."""

    title, format_name = "aerospike_backup", "aerospike"


class BorgSource(ColdSource):
    """Borg packs and repositories."""

    title, format_name = "borg_pack", "borg"


class KafkaSource(ColdSource):
    """Kafka log segments and partitions; the name `kafka` is Spark's own."""

    title, format_name = "kafka_segment", "kafka"


SOURCES = (RbakSource, RbfSource, AerospikeSource, BorgSource, KafkaSource)


_MEMBERS: dict[str, Members] = {}


def _members(read: str, settings: Settings) -> Members:
    """What is known of folders, kept for the tasks of one read that come to this process."""
    if read not in _MEMBERS:
        _MEMBERS.clear()
        _MEMBERS[read] = Members(settings.format)
    return _MEMBERS[read]


@lru_cache(maxsize=1)
def _freeze() -> None:
    """Spark's workers collect garbage behind each task; what they imported need not be looked at every time."""
    gc.collect()
    gc.freeze()
