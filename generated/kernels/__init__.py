"""Scan kernels and other readers, what they fill, rules of tools, and what the specs fix as constants."""
