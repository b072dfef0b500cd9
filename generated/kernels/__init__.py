"""Scan kernels by the columnar backend, the tables they fill, and what the specs fix as constants."""
