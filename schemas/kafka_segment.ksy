meta:
  id: kafka_segment
  title: Kafka log segment
  application: Apache Kafka
  file-extension: log
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_message
    - kafka_record_batch
  endian: be
doc: |
  Batches and messages back to back, of any mix of versions: length at byte 8
  and magic at byte 16 are common to all of them.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/FileLogInputStream.java
seq:
  - id: entries
    type: entry(_io.pos)
    repeat: eos
types:
  entry:
    -sync:
      any: unit
    params:
      - id: ofs_entry
        type: s8
    seq:
      - id: unit
        type:
          switch-on: magic
          cases:
            0: kafka_message
            1: kafka_message
            _: kafka_record_batch
    instances:
      magic:
        pos: ofs_entry + 16
        type: s1
        doc: The unit's own magic, read ahead of it.
