meta:
  id: kafka_records
  title: Kafka records of a magic 2 batch, decompressed
  application: Apache Kafka
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - common/zigzag_varint
    - common/zigzag_varlong
doc: |
  The records of one batch, as many as its head counts. Offsets and timestamps
  are deltas to the batch's.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java
params:
  - id: num_records
    type: s4
seq:
  - id: records
    type: record
    repeat: expr
    repeat-expr: num_records
  - id: end_of_records
    size: 0
    valid:
      expr: _io.eof
    doc: Nothing may follow the last record.
types:
  record:
    -columnar:
      rows: kafka_records
    seq:
      - id: len_record
        -orig-id: length
        type: zigzag_varint
        -columnar:
          column: false
      - id: body
        size: len_record.value
        type: body
  body:
    seq:
      - id: attributes
        type: s1
        doc: Unused.
      - id: timestamp_delta
        -orig-id: timestampDelta
        type: zigzag_varlong
      - id: offset_delta
        -orig-id: offsetDelta
        type: zigzag_varint
      - id: len_key
        -orig-id: keyLength
        type: zigzag_varint
        valid:
          expr: _.value >= -1
        -columnar:
          column: false
        doc: -1 for a null key, 0 for an empty one.
      - id: key
        size: len_key.value
        if: len_key.value >= 0
        doc: Null where its length is -1.
      - id: len_value
        -orig-id: valueLen
        type: zigzag_varint
        valid:
          expr: _.value >= -1
        -columnar:
          column: false
      - id: value
        size: len_value.value
        if: len_value.value >= 0
        doc: Null where its length is -1, which deletes the key in a compacted topic.
      - id: num_headers
        type: zigzag_varint
        valid:
          expr: _.value >= 0
        -columnar:
          column: false
        doc: 0 for a record without headers.
      - id: headers
        -orig-id: Headers
        type: header
        repeat: expr
        repeat-expr: num_headers.value
      - id: end_of_record
        size: 0
        valid:
          expr: _io.eof
        doc: The record ends where its length says.
  header:
    seq:
      - id: len_key
        -orig-id: headerKeyLength
        type: zigzag_varint
        valid:
          expr: _.value >= 0
        -columnar:
          column: false
      - id: key
        -orig-id: headerKey
        size: len_key.value
        -columnar:
          text: true
        doc: Meant to be UTF-8; Kafka replaces what is not.
      - id: len_value
        -orig-id: headerValueLength
        type: zigzag_varint
        valid:
          expr: _.value >= -1
        -columnar:
          column: false
      - id: value
        -orig-id: Value
        size: len_value.value
        if: len_value.value >= 0
