meta:
  id: rules
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: rules
seq:
  - id: magic
    contents: [MAG, 0x49, 67]
  - id: equal
    type: u1
    valid: 7
  - id: at_least
    type: u1
    valid:
      min: equal + 3
  - id: at_most
    type: s1
    valid:
      max: 20
      min: -20
  - id: one_of
    type: u1
    valid:
      any-of: [1, 3, equal]
  - id: named
    type: u1
    enum: named
    valid:
      in-enum: true
  - id: held
    type: u1
    valid:
      expr: _ > at_least and _ % 3 == 0
  - id: set_flag
    type: b1
    valid: true
  - id: zeros
    type: b7
    valid: 0
  - id: pair
    type: pair
    valid:
      expr: _.number == 5 or _.is_big
  - id: the_end
    size: 0
    valid:
      expr: _io.eof
types:
  pair:
    seq:
      - id: number
        type: u1
    instances:
      is_big:
        value: number > 200
enums:
  named:
    2: two
    4: four
