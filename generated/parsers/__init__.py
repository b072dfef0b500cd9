"""Parsers by the Kaitai Struct compiler: one module a spec."""
