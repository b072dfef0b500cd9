meta:
  id: kafka_message
  title: Kafka message, magic 0 and 1
  application: Apache Kafka
  file-extension: log
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
  bit-endian: be
doc: |
  The unit of a log segment before Kafka 0.11. Where it is compressed, `value`
  holds a compressed message set and `offset` is that of its last message.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java
-columnar:
  rows: kafka_messages
-sync:
  magic: body.magic
  rising: offset
  plausible:
    - len_body
    - body.magic
    - body.len_key
    - body.key
    - body.len_value
    - body.value
  checksum: body.crc
seq:
  - id: offset
    type: s8
    doc: Not covered by the checksum.
  - id: len_body
    -orig-id: message_size
    type: s4
    valid:
      min: 14
    doc: Bytes after this field; not covered by the checksum.
  - id: body
    -orig-id: message
    size: len_body
    type: body
types:
  body:
    seq:
      - id: crc
        type: u4
        doc: CRC-32 (IEEE) of `crc_input`.
      - id: magic
        -orig-id: magic_byte
        type: s1
        valid:
          any-of: [0, 1]
      - id: attributes
        type: attributes
      - id: timestamp
        type: s8
        if: magic == 1
        doc: Milliseconds since 1970; magic 0 has none.
      - id: len_key
        type: s4
        valid:
          min: -1
        -columnar:
          column: false
        doc: -1 for a null key.
      - id: key
        size: len_key
        if: len_key >= 0
        doc: Null where its length is -1.
      - id: len_value
        type: s4
        valid:
          min: -1
        -columnar:
          column: false
        doc: -1 for a null value, which deletes the key in a compacted topic.
      - id: value
        size: len_value
        if: len_value >= 0
        doc: A message set where the message is compressed, else what the producer sent.
      - id: trailing
        size-eos: true
        -columnar:
          column: false
        doc: Kafka reads past bytes after the value, and so does this.
    instances:
      crc_input:
        pos: 4
        size-eos: true
        -overlay: true
        -columnar:
          checksum: crc32
        doc: From the magic byte to the end of the message.
  attributes:
    seq:
      - id: unused
        type: b4
        -columnar:
          column: false
        doc: Ignored by Kafka.
      - id: timestamp_type
        -orig-id: timestampType
        type: b1
        enum: timestamp_type
        doc: Magic 0 has no timestamp, there the bit means nothing.
      - id: compression
        type: b3
        enum: compression
        valid:
          in-enum: true
        doc: The codec of `value`; zstd came with magic 2.
enums:
  compression:
    0: none
    1: gzip
    2: snappy
    3: lz4
  timestamp_type:
    0: create_time
    1: log_append_time
