"""The columnar backend: specs compiled into native scan kernels.

Stages, one module each, in the order in which a spec passes them:

* `subset` finds the tables and refuses what the backend does not know; `names` finds the types and enums of a spec;
* `expressions` parses Kaitai's expressions, `resolution` gives their names and types a meaning, and `bounds` keeps
  their numbers within 64 bits;
* `lowering` turns a spec type into the typed statements of `ir`: it is about structures, conditions, repetition and
  instances, and leaves single values to `reads`, their `valid` to `rules` and their columns to `stores`, all of which
  add statements through `building`;
* `emission` writes the statements as Cython in pure Python mode.
"""
