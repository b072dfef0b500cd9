meta:
  id: nested
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: nested
seq:
  - id: num_groups
    type: u1
  - id: groups
    type: group
    repeat: expr
    repeat-expr: num_groups
types:
  group:
    seq:
      - id: num_items
        type: u1
        -columnar:
          column: false
      - id: items
        type: item
        repeat: expr
        repeat-expr: num_items
      - id: mark
        type: u1
        if: num_items != 0
    instances:
      twice:
        value: num_items * 2
        -columnar:
          column: true
  item:
    seq:
      - id: len_text
        type: u1
        -columnar:
          column: false
      - id: text
        size: len_text
        if: len_text != 0
        -columnar:
          text: true
