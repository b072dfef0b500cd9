meta:
  id: kafka_control_value
  title: Value of a Kafka control record
  application: Apache Kafka
  license: CC0-1.0
  ks-version: '0.8'
  imports:
    - kafka_control_key
  endian: be
doc: |
  What a marker says. Transaction markers carry the coordinator's epoch; the
  other kinds are messages of Kafka's own protocol that begin with a version.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/EndTransactionMarker.java
params:
  - id: control_type
    type: s2
    enum: kafka_control_key::control_type
seq:
  - id: version
    type: s2
    valid:
      min: 0
  - id: coordinator_epoch
    -orig-id: coordinatorEpoch
    type: s4
    if: is_transaction_marker
  - id: message
    size-eos: true
    doc: The rest of the other kinds, and fields of a later version.
instances:
  is_transaction_marker:
    value: control_type == kafka_control_key::control_type::abort or control_type == kafka_control_key::control_type::commit
