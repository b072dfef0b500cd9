"""Rows of a table from bytes: `columns` is the way in, `kernels` the native engine, `parsed` the plain one."""

from __future__ import annotations
