meta:
  id: parents
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: parents
seq:
  - id: len_body
    type: u1
    valid:
      expr: len_body > 3
  - id: body
    size: len_body
    type: body
  - id: after
    type: u1
types:
  body:
    seq:
      - id: num_items
        type: u1
      - id: items
        type: item
        repeat: expr
        repeat-expr: num_items
    instances:
      room:
        value: _io.size - num_items
  item:
    seq:
      - id: number
        type: u1
        valid:
          max: _parent.room
      - id: leaf
        type: leaf
  leaf:
    seq:
      - id: data
        size: '_parent.number == 1 ? 1 : _parent._parent.num_items'
      - id: is_last
        size: 0
        valid:
          expr: _parent._parent._parent.len_body == 6 or not _io.eof
