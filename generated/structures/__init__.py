"""Read-write parsers that know the position of every field: one module a spec."""
