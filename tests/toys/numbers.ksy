meta:
  id: numbers
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: numbers
seq:
  - id: small
    type: zigzag_varint
  - id: large
    type: zigzag_varlong
  - id: word
    type: decimal_word
    valid:
      expr: _.value != 13
  - id: line
    type: decimal_line
  - id: token
    type: escaped_token(0x20)
  - id: last
    type: 'escaped_token(small.value < 0 ? 0x0a : 0x20)'
instances:
  is_negative:
    value: line.value < 0
    -columnar:
      column: true
