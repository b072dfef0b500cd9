meta:
  id: kafka_control_key
  title: Key of a Kafka control record
  application: Apache Kafka
  license: CC0-1.0
  ks-version: '0.8'
  endian: be
doc: |
  What kind of marker a control record is. Consumers skip kinds they do not
  know, so the enum is open.
doc-ref: https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/ControlRecordType.java
-columnar:
  frame: kafka_control_key
seq:
  - id: version
    type: s2
    valid:
      min: 0
    doc: 0 so far; later versions may add fields at the end.
  - id: control_type
    -orig-id: type
    type: s2
    enum: control_type
  - id: unknown
    size-eos: true
    doc: Fields of a later version.
enums:
  control_type:
    0: abort
    1: commit
    2: leader_change
    3: snapshot_header
    4: snapshot_footer
    5: kraft_version
    6: kraft_voters
