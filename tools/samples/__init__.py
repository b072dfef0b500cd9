"""Golden files, built from a second, independent description of every format.

`python -m tools.samples` writes them all. Each format's module describes the wire with `construct`, never with the
`.ksy` files, so that a golden file cannot repeat a mistake of a `.ksy`.
"""
