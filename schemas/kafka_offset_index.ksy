meta:
  id: kafka_offset_index
  title: Kafka offset index
  application: Apache Kafka
  file-extension: index
  license: CC0-1.0
  ks-version: '0.8'
  endian: be
doc: |
  Where batches start, about one entry for every 4096 bytes of the segment. The
  file of the active segment is preallocated: zero entries end the list.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/OffsetIndex.java
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -columnar:
      rows: kafka_offset_index
    seq:
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: Last offset of the batch at `position`, less the segment's base offset.
      - id: position
        -orig-id: physicalPosition
        type: s4
        doc: Byte in the .log file; always the start of a batch.
