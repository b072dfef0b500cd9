"""The columnar backend: specs compiled into native scan kernels, and into encoders, their inverse.

Stages, a module each, in the order in which a spec passes them:

* `subset` finds the tables and refuses what the backend does not support;
* `expressions` parses Kaitai's expressions, `resolution` resolves their names and types, and `bounds` keeps their
  numbers within 64 bits;
* `lowering` turns a spec type into the typed statements of `ir`. It handles structures, conditions, repetition and
  instances; `reads` handles single values, `rules` their `valid`, `stores` their columns. All of them add statements
  through `building`;
* `slots` proves that a kernel writes every slot of every row;
* `emission` writes the statements as Cython in pure Python mode, with the expressions of `terms`;
* `sync` lowers what a unit is found by after damage, `pruning` leaves out what that does not need, and `probes` writes
  it;
* `encoding` turns a type into the statements of `encoder_ir`, which write it. `inversion` finds what determines a
  field; `encoder_plan` loads what is given, `encoder_sizes` derives lengths and counts, `encoder_rules` checks;
* `encoder_emission` writes these statements as Cython, too;
* `tolerant` writes readers in Python for what a kernel does not read, with the rules of each tool (`-refused-by`);
* `loading` runs the kernels of a spec that is compiled at run time.
"""
