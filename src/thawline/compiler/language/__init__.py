"""The whole language of Kaitai Struct, compiled to columns.

>>> from thawline.compiler.language import load, check, Program, Failure, Refusal, register

* `load(path, params, kernel)` gives a `Program`, or raises `SpecError` with file, line, column and reason;
* `program.tables` are Arrow schemas by name: `root`, a row a unit, and one for each repetition that is in no other;
* `program.read(data, table, columns)` gives the record batches of one unit, and a `Failure` for what cannot be read
  (the last, `is_fatal`) or computed (null in its row);
* `program.extent(data, start)` gives where the unit ends;
* `program.source` is the reader in C, and `program.key` its digest;
* `load_traced(path)` gives a program that tells where each field is, for `fields.trail`;
* `check(path)` gives the refusals of a spec;
* `register(name, function)` gives a custom process its name.

In the order in which a spec passes them: `declarations` reads the spec and its imports, `datatypes` the types of
fields; `grammar` parses expressions, `values` turns them into code, with `kinds` of values and the `intervals` of
numbers; `analysis` answers what holds what. `reading` writes what reads a field, `storing` what puts it into columns,
`emission` the module of both with `runtime`, their head. `layout` has the columns as a tree, `programs` runs it all.
"""

from __future__ import annotations

from thawline.compiler.language.failures import Failure, Refusal, refusals_of
from thawline.compiler.language.processes import register
from thawline.compiler.language.programs import Program, check, load, load_traced

__all__ = ["Failure", "Program", "Refusal", "check", "load", "load_traced", "refusals_of", "register"]
