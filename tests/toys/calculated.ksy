meta:
  id: calculated
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: calculated
seq:
  - id: a
    type: u1
  - id: b
    type: s1
  - id: c
    type: s4
instances:
  sum:
    value: a + b * 2 - (c >> 3)
    -columnar:
      column: true
  rest:
    value: c % 7
    -columnar:
      column: true
  mixed:
    value: (a & 0xf0 | b & 0x0f) ^ 0x155
    -columnar:
      column: true
  turned:
    value: ~c << 2
    -columnar:
      column: true
  choice:
    value: 'a > 100 ? -1 : b < 0 ? 0x100000000 : -0x8000000000000000'
    -columnar:
      column: true
  is_odd:
    value: not (a % 2 == 0) and b != 3 or c == 9
    -columnar:
      column: true
  same:
    value: is_odd == (a == 5)
    -columnar:
      column: true
  unseen:
    value: a
