"""The data sources: rbak, rbf, aerospike_backup, borg_pack and kafka_segment."""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from thawline.errors import SourceError, UnknownFormat
from thawline.filters.pushdown import Condition
from thawline.formats.registry import prepared
from thawline.source import Source, open_source
from thawline.spark.files import File, Listing, Members
from thawline.spark.filters import chosen, conditions_of, may_hold, narrowed
from thawline.spark.planning import Part, Planner, is_ours
from thawline.spark.rows import Reader, bound_of, schema_of
from thawline.spark.settings import Settings, understood
from thawline.spark.streaming import GrowingReader
from thawline.spark.worker import freeze

LOG = logging.getLogger("thawline.spark")
LOG.setLevel(logging.INFO)
PLANNER = "pyspark.sql.worker.plan_data_source_read"


class Portion(InputPartition):
    """What one task reads."""

    def __init__(self, parts: tuple[Part, ...], read: str) -> None:
        super().__init__(None)
        self.parts = parts
        self.read = read
        """Identifies the read, so that a worker caches the members of folders for one read only."""


@dataclass
class ColdReader(DataSourceReader):
    """Plans and reads the files of one `load`."""

    settings: Settings
    schema: pa.Schema
    conditions: tuple[Condition, ...] = ()

    def partitions(self) -> list[Portion]:
        """What each task reads."""
        settings = self.settings
        planner = Planner(settings.max_partition_bytes)
        read = uuid.uuid4().hex
        return [Portion(parts, read) for parts in planner.plan(self._files())]

    def _files(self) -> list[File]:
        """The files that can hold a requested row."""
        files = Listing(self.settings).files
        if files and next(_opened(self.settings), None) is None:
            format_, where = self.settings.format, ", ".join(self.settings.paths)
            raise UnknownFormat(f"{where}: no file there is recognised as {format_.title}; see `thawline identify`")
        if not self.conditions:
            return files
        members = Members(self.settings.format)
        kept = [file for file in files if may_hold(members.known_of(file), self.conditions)]
        if len(kept) < len(files):
            pruned = sum(file.size for file in files) - sum(file.size for file in kept)
            LOG.info("skipped %d of %d files, %d bytes", len(files) - len(kept), len(files), pruned)
        return kept

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a task; Spark runs one task without a portion if no file is read."""
        if isinstance(partition, Portion):
            reader = Reader(self.settings, self.schema, LOG.info)
            members = _members(partition.read, self.settings)
            for part in partition.parts:
                for batch in reader.read(part, members):
                    rows = chosen(batch, self.conditions)
                    if rows.num_rows:
                        yield rows
        freeze()


class FilteringReader(ColdReader):
    """A reader that accepts the filters of a query."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - as Spark calls it
        """Use the supported filters; all are returned, so Spark applies all of them again."""
        self.conditions = conditions_of(filters)
        self.settings = narrowed(self.settings, self.conditions)
        return filters


class ColdSource(DataSource):
    """Cold files of one format as a data source."""

    title: ClassVar[str]
    format_name: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return cls.title

    @property
    def settings(self) -> Settings:
        """The parsed options; the format has read from the files what its schema depends on."""
        settings = understood(self.format_name, dict(self.options))
        return replace(settings, format=prepared(settings.format, _opened(settings)))

    def schema(self) -> StructType:
        """The requested columns of the table."""
        return from_arrow_schema(schema_of(self.settings))

    def reader(self, schema: StructType) -> ColdReader:
        """A reader for a schema, which may be the user's."""
        # With filter pushdown disabled, Spark refuses a reader that has pushFilters, and does not expose the setting
        # here. In that case the module that plans the read requests the reader.
        is_planned = sys._getframe(1).f_globals["__name__"] == PLANNER  # noqa: SLF001 - nothing public tells them apart
        reader = ColdReader if is_planned else FilteringReader
        settings = self.settings
        filtered = narrowed(settings, bound_of(settings).conditions)
        return reader(filtered, to_arrow_schema(schema, timezone="UTC"))

    def streamReader(self, schema: StructType) -> GrowingReader:  # noqa: N802 - as Spark calls it
        """A reader of files that grow."""
        return GrowingReader(self.settings, to_arrow_schema(schema, timezone="UTC"))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002, FBT001 - as Spark has it
        """A writer of files of the format."""
        from thawline.spark.writers import writer_for  # noqa: PLC0415 - most sessions only read

        return writer_for(self.format_name, dict(self.options), overwrite=overwrite)


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
    """Kafka log segments and partitions; Spark's own source has the name `kafka`."""

    title, format_name = "kafka_segment", "kafka"


SOURCES = (RbakSource, RbfSource, AerospikeSource, BorgSource, KafkaSource)


def _opened(settings: Settings) -> Iterator[Source]:
    """Each file of the format, open until the next one is requested; most formats request none."""
    for file in Listing(settings).files:
        with suppress(SourceError), open_source(file.path) as source:  # the task reports the error
            if file.is_named or is_ours(settings.format, source, settings.table):
                yield source


_MEMBERS: dict[str, Members] = {}


def _members(read: str, settings: Settings) -> Members:
    """The members of folders, cached for all tasks of one read in this process."""
    if read not in _MEMBERS:
        _MEMBERS.clear()
        _MEMBERS[read] = Members(settings.format)
    return _MEMBERS[read]
