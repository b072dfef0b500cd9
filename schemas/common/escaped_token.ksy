meta:
  id: escaped_token
  title: Backslash-escaped token
  license: CC0-1.0
  ks-version: '0.10'
doc: |
  Bytes up to an unescaped terminator. A backslash makes the byte after it
  literal. Writers escape the backslash, the space and the line feed and nothing
  else; both Aerospike readers take any byte after a backslash.
doc-ref: https://github.com/aerospike/aerospike-tools-backup#meta-data-section
-columnar:
  intrinsic: escaped
-refused-by:
  - tool: backup-go
    written-longer-than: 999
    because: '{what} of {written}'
  - tool: asrestore
    longer-than: 999
    because: '{what} of {bytes}; the limit is {limit}'
  - tool: asrestore
    holding: 0x00
    because: '{what} with a NUL in it'
  - tool: [asrestore, backup-go]
    longer-than: 999
    because: '{what} of {bytes}; the limit is {limit}'
params:
  - id: terminator
    type: u1
seq:
  - id: chars
    type: char
    repeat: until
    repeat-until: not _.is_escape and _.byte == terminator
types:
  char:
    seq:
      - id: byte
        type: u1
        doc: A byte of the token, the terminator, or a backslash.
      - id: literal
        type: u1
        if: is_escape
        doc: The byte that the backslash stands before.
    instances:
      is_escape:
        value: byte == 0x5c
