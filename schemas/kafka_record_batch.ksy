meta:
  id: kafka_record_batch
  title: Kafka record batch, magic 2
  application: Apache Kafka
  file-extension: log
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - kafka_records
  endian: be
  bit-endian: be
doc: |
  The unit of a log segment since Kafka 0.11: a 61-byte head, then the records,
  compressed as a whole or not at all.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java
-columnar:
  rows: kafka_batches
-sync:
  magic: body.magic
  rising: base_offset
  plausible:
    - len_body
    - body.attributes.unused < 2
    - body.last_offset_delta
    - body.num_records
    - body.num_records <= body.last_offset_delta + 1
  checksum: body.crc
seq:
  - id: base_offset
    -orig-id: baseOffset
    type: s8
    doc: Offset of the first record the batch was written with; not covered by the checksum.
  - id: len_body
    -orig-id: batchLength
    type: s4
    valid:
      min: 49
    doc: Bytes after this field; not covered by the checksum.
  - id: body
    size: len_body
    type: body
types:
  body:
    seq:
      - id: partition_leader_epoch
        -orig-id: partitionLeaderEpoch
        type: s4
        doc: Set by the broker; not covered by the checksum.
      - id: magic
        type: s1
        valid: 2
        doc: What tells a batch from the messages of older versions, at the same byte in all of them.
      - id: crc
        type: u4
        doc: CRC-32C of `crc_input`.
      - id: attributes
        type: attributes
      - id: last_offset_delta
        -orig-id: lastOffsetDelta
        type: s4
        valid:
          min: 0
        doc: Kept by compaction, so it may lie beyond the last record that is left.
      - id: base_timestamp
        -orig-id: firstTimestamp
        type: s8
        doc: |
          Milliseconds since 1970 that the records' deltas count from; the delete
          horizon where `attributes.has_delete_horizon`; -1 in an empty batch.
      - id: max_timestamp
        -orig-id: maxTimestamp
        type: s8
        doc: The timestamp of every record where the type is log_append_time.
      - id: producer_id
        -orig-id: producerId
        type: s8
        doc: -1 for a producer that is not idempotent.
      - id: producer_epoch
        -orig-id: producerEpoch
        type: s2
      - id: base_sequence
        -orig-id: baseSequence
        type: s4
      - id: num_records
        -orig-id: recordsCount
        type: s4
        valid:
          min: 0
        doc: 0 is legal; compaction leaves such batches to keep a producer's last sequence number.
      - id: records
        -orig-id: records
        size-eos: true
        -columnar:
          column: false
        doc: The records as stored, compressed by `attributes.compression`.
    instances:
      crc_input:
        pos: 9
        size-eos: true
        -overlay: true
        -columnar:
          checksum: crc32c
        doc: From the attributes to the end of the batch.
      uncompressed_records:
        pos: 49
        size-eos: true
        type: kafka_records(num_records)
        if: attributes.compression == compression::none
        -overlay: true
        doc: The records, where no codec stands before them.
  attributes:
    seq:
      - id: unused
        type: b9
        -columnar:
          column: false
        doc: Ignored by Kafka.
      - id: has_delete_horizon
        -orig-id: hasDeleteHorizonMs
        type: b1
        doc: KIP-534, since Kafka 3.1.
      - id: is_control
        -orig-id: isControlBatch
        type: b1
      - id: is_transactional
        -orig-id: isTransactional
        type: b1
      - id: timestamp_type
        -orig-id: timestampType
        type: b1
        enum: timestamp_type
      - id: compression
        type: b3
        enum: compression
        valid:
          in-enum: true
        doc: The codec of `records`.
enums:
  compression:
    0: none
    1: gzip
    2: snappy
    3: lz4
    4: zstd
  timestamp_type:
    0: create_time
    1: log_append_time
