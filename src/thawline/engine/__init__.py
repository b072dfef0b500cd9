"""Rows of a table from bytes. `columns` is the entrance.

`kernels` is the native engine, with its `arrays` and their `assembly` into Arrow; `parsed` is the plain one. `tables`
describes what kernels emit, `chunks` what a scan is given and yields, `buffers` the memory that is shared with native
code; `counting` tells how far a kernel reads.
"""

from __future__ import annotations
