"""Scan kernels by the columnar backend, and the tables they fill."""
