meta:
  id: decimal_word
  title: ASCII decimal integer ended by a space
  license: CC0-1.0
  ks-version: '0.10'
  encoding: ASCII
doc: |
  A signed decimal integer that fits 64 bits, an optional `-`, digits, and the
  space that ends them. Leading zeros are accepted, a `+`, blanks and an
  empty number are not.
-columnar:
  intrinsic: decimal
  terminator: 0x20
-refused-by:
  - tool: backup-go
    written: '[^\\]*\\.*'
    because: a backslash in a number ({what})
  - tool: backup-go
    written: '(?:\\?-)?'
    because: an empty number ({what}), which asrestore takes for 0
  - tool: asrestore
    misread-by: backup-go
    outside: [-0x8000000000000000, 0x7fffffffffffffff]
    because: a number that does not fit 64 bits; backup-go silently wraps it to another one
seq:
  - id: text
    type: str
    terminator: 0x20
    valid:
      expr: _.to_i >= -0x8000000000000000 and _.to_i <= 0x7fffffffffffffff
    doc: The digits, with their sign.
instances:
  value:
    value: text.to_i
