"""One version of the specs, as `thawline spec diff` needs it: `python -m tools.generate.version SPECS TARGET`.

Writes `traced/`, `kernels/`, `layouts/` and `tables.json` into TARGET, and prints a JSON object of what could not be
made: `compiler`, why the Kaitai Struct compiler did not run; `errors`, what it refused; `kernels`, what the columnar
backend refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from thawline.compiler.emission import emit
from thawline.compiler.lowering import lower
from thawline.compiler.probes import emit_probe
from thawline.compiler.subset import tables
from thawline.compiler.sync import lower_sync, synced
from thawline.engine.chunks import schema_of
from thawline.engine.tables import Table
from thawline.ksy.documents import Spec, SpecError, load_specs
from tools.generate import ksc, layouts
from tools.generate.reserved import check_ids


def write_version(folder: Path, target: Path) -> dict[str, Any]:
    """Write everything that can be made; returns what could not be, with the reason."""
    status: dict[str, Any] = {"compiler": "", "errors": [], "kernels": ""}
    specs = load_specs(folder)
    try:
        for spec in specs.values():
            check_ids(spec)
        status["errors"] = compile_traced(folder, target / "traced")
    except SpecError as error:
        status["errors"] = [str(error)]
    except (ksc.Unavailable, subprocess.TimeoutExpired) as error:
        status["compiler"] = str(error)
    if not status["errors"]:
        layouts.write(specs, target / "layouts")
        status["kernels"] = write_tables(specs, target)
    return status


def compile_traced(folder: Path, target: Path) -> list[str]:
    """Compile the specs into parsers that know the position of every field; returns what was refused."""
    target.mkdir(parents=True)
    run = ksc.run(folder, target)
    refused = [line for line in run.stderr.splitlines() if ": warning:" not in line]
    return refused or ["the Kaitai Struct compiler failed"] if run.returncode else []


def write_tables(specs: dict[str, Spec], target: Path) -> str:
    """Write kernels into `kernels/`, and columns and checks to `tables.json`; returns what was refused."""
    (target / "kernels").mkdir(parents=True)
    made = {}
    try:
        for name, type_ in tables(specs):
            table, source = emit(lower(name, type_, specs))
            (target / "kernels" / f"{name}.py").write_text(source, encoding="utf-8")
            made[name] = described(table)
        for name, sync in synced(specs):
            emit_probe(lower_sync(name, sync, specs))
    except SpecError as error:
        return str(error)
    (target / "tables.json").write_text(json.dumps(made), encoding="utf-8")
    return ""


def described(table: Table) -> dict[str, Any]:
    """Columns with their types in Arrow and Spark, and the checks of a row."""
    return {
        "columns": {field.name: f"{field.type} ({spark_type(field.type)})" for field in schema_of(table.columns)},
        "checks": [f"{failure.spec}{failure.path} {failure.reason}" for failure in table.failures],
        "checksum": f"{table.checksum.column} {table.checksum.algorithm}" if table.checksum else "",
    }


SPARK = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean", "float": "float",
    "double": "double", "string": "string", "binary": "binary",
}  # fmt: skip


def spark_type(type_: pa.DataType) -> str:
    """A type of Arrow as Spark names it.

    >>> spark_type(pa.list_(pa.struct([("key", pa.string())])))
    'array<struct<key:string>>'
    """
    if pa.types.is_list(type_):
        return f"array<{spark_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in type_)}>"
    if pa.types.is_fixed_size_binary(type_):
        return "binary"
    return SPARK.get(str(type_), str(type_))


if __name__ == "__main__":
    print(json.dumps(write_version(Path(sys.argv[1]), Path(sys.argv[2]))))
