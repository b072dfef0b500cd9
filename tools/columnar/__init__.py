"""The columnar backend: specs compiled into native scan kernels.

Stages, one module each: `subset` finds the tables and refuses what the backend does not
know, `expressions` parses Kaitai's expressions, `lowering` turns a spec type into the typed
statements of `ir`, `emission` writes those as Cython in pure Python mode.
"""
