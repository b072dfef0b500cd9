"""The data source `ksy`: files of a format of one's own, which a Kaitai spec describes.

    spark.read.format("ksy").option("spec", "my.ksy").option("table", "records").load("/mnt/cold")

The driver compiles the spec, or takes its kernel from the cache. Tasks get both with the job.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.datasource import DataSourceArrowWriter
from pyspark.sql.types import StructType

from thawline import formats
from thawline.formats.described import Described
from thawline.lake.place import plain
from thawline.options import BadOption
from thawline.spark.settings import Settings, understood
from thawline.spark.sources import ColdSource

SPEC = "spec"


class KsySource(ColdSource):
    """Files of the format that a spec describes."""

    title, format_name = "ksy", "ksy"

    @property
    def settings(self) -> Settings:
        """The parsed options; the option `spec` is the path of a `.ksy` on the machine of the driver."""
        passed = dict(self.options)
        spec = passed.pop(SPEC, None)
        if spec is None:
            raise BadOption("which format is it? say so with .option('spec', 'my.ksy')")
        made = formats.declare(plain(spec))
        settings = understood(made.name, passed)
        return replace(settings, format=made.signed()) if isinstance(made, Described) else settings

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002, FBT001 - as Spark has it
        """Refused: a spec says how files are read."""
        raise BadOption("files of one's own format can be read, not written")
