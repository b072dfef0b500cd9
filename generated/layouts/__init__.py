"""Byte tables in Markdown: one page a spec."""
