"""Scan kernels by the columnar backend, the tables they fill, and constants for native code."""
