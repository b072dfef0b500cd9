"""Scan kernels and readers of documents, what they fill, and what the specs fix as constants."""
