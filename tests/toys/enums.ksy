meta:
  id: enums
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: enums
seq:
  - id: kind
    type: u1
    enum: kind
  - id: other
    type: u1
    enum: kind
  - id: rule
    type: b2
    enum: kind
    valid:
      in-enum: true
  - id: rest
    type: b6
  - id: calculated_from
    type: u1
instances:
  calculated:
    value: calculated_from % 4
    enum: kind
    -columnar:
      column: true
enums:
  kind:
    1: one
    2:
      id: two
      doc: Also a name.
    255: last
