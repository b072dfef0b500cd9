meta:
  id: integers
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: integers
seq:
  - id: a_u1
    type: u1
  - id: a_u2le
    type: u2le
  - id: a_u2be
    type: u2be
  - id: a_u4le
    type: u4le
  - id: a_u4be
    type: u4be
  - id: a_s1
    type: s1
  - id: a_s2le
    type: s2le
  - id: a_s2be
    type: s2be
  - id: a_s4le
    type: s4le
  - id: a_s4be
    type: s4be
  - id: a_s8le
    type: s8le
  - id: a_s8be
    type: s8be
