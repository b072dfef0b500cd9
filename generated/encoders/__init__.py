"""Encoders by the columnar backend, and what each of them is given."""
