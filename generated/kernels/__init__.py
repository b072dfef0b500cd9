"""Scan kernels and readers of documents, what they fill, and constants for native code."""
