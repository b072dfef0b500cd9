"""What every generated reader starts with, in Cython's pure Python mode: streams of bytes, and columns that grow.

These modules are never imported. Their text, one after the other, is the head of a reader (`emission.HEAD`), so that a
reader is one module that runs compiled and uncompiled.
"""
