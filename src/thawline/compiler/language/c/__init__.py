"""Readers in C: the same rows and failures as the reader in Python, at the speed of a parser written by hand.

`expressions` turns expressions into C, `reading` writes what reads a field, `storing` what puts it into columns, and
`emission` makes a translation unit of them with `runtime`, its head; `kernel` runs what a C compiler made of it, and
`filling` makes whole Arrow arrays of its columns.
"""
