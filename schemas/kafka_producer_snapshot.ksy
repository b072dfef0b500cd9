meta:
  id: kafka_producer_snapshot
  title: Kafka producer state snapshot
  application: Apache Kafka
  file-extension: snapshot
  license: CC0-1.0
  ks-version: '0.8'
  endian: be
doc: |
  State of the producers at the offset that names the file.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/ProducerStateManager.java
seq:
  - id: version
    type: s2
    valid: 1
    doc: The only one that Kafka has written.
  - id: crc
    type: u4
    doc: CRC-32C of `crc_input`.
  - id: num_producers
    type: s4
    valid:
      min: 0
    doc: How many entries follow.
  - id: producers
    type: producer
    repeat: expr
    repeat-expr: num_producers
  - id: end_of_producers
    size: 0
    valid:
      expr: _io.eof
    doc: Nothing may follow the last entry.
instances:
  crc_input:
    pos: 6
    size-eos: true
    -overlay: true
    doc: From the count to the end of the file.
types:
  producer:
    -columnar:
      rows: kafka_producers
    seq:
      - id: producer_id
        -orig-id: ProducerId
        type: s8
      - id: producer_epoch
        -orig-id: Epoch
        type: s2
      - id: last_sequence
        -orig-id: LastSequence
        type: s4
      - id: last_offset
        -orig-id: LastOffset
        type: s8
      - id: offset_delta
        -orig-id: OffsetDelta
        type: s4
      - id: timestamp
        -orig-id: Timestamp
        type: s8
      - id: coordinator_epoch
        -orig-id: CoordinatorEpoch
        type: s4
      - id: current_txn_first_offset
        -orig-id: CurrentTxnFirstOffset
        type: s8
        doc: -1 where no transaction is open.
