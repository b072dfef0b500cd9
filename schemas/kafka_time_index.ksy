meta:
  id: kafka_time_index
  title: Kafka time index
  application: Apache Kafka
  file-extension: timeindex
  license: CC0-1.0
  ks-version: '0.8'
  endian: be
doc: |
  The largest timestamp up to an offset, rising. The file of the active segment
  is preallocated: zero entries end the list.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/TimeIndex.java
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -columnar:
      rows: kafka_time_index
    seq:
      - id: timestamp
        type: s8
        doc: Milliseconds since 1970; the largest of all records up to the offset.
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
