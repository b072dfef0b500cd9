meta:
  id: kafka_transaction_index
  title: Kafka transaction index
  application: Apache Kafka
  file-extension: txnindex
  license: CC0-1.0
  ks-version: '0.8'
  endian: be
doc: |
  Aborted transactions, each in the index of the segment that holds its marker.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/AbortedTxn.java
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -columnar:
      rows: kafka_transaction_index
    seq:
      - id: version
        type: s2
        valid: 0
        doc: The only one that Kafka has written.
      - id: producer_id
        -orig-id: producerId
        type: s8
      - id: first_offset
        -orig-id: firstOffset
        type: s8
      - id: last_offset
        -orig-id: lastOffset
        type: s8
        doc: Offset of the abort marker.
      - id: last_stable_offset
        -orig-id: lastStableOffset
        type: s8
