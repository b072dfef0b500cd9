"""Verbs of single formats that write a smaller file: some of the records of another."""
