"""Golden files, built with a second, independent description of every format.

`python -m tools.samples` writes them all. Each format's module describes the wire
with `construct`, never with the `.ksy` files, so that a mistake in a `.ksy` cannot
hide in a file that the same `.ksy` wrote.
"""
