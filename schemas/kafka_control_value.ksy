meta:
  id: kafka_control_value
  title: Value of a Kafka control record
  application: Apache Kafka
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - common/unsigned_varint
    - kafka_control_key
  encoding: UTF-8
  endian: be
doc: |
  What a marker says. Transaction markers carry the coordinator's epoch; the
  other kinds are KRaft's, "flexible" messages of Kafka's own protocol: lengths
  and counts are stored one too high, and every structure ends in tagged fields.
doc-ref: https://github.com/apache/kafka/tree/1eb7644/clients/src/main/resources/common/message
-columnar:
  frame: kafka_control_value
params:
  - id: control_type
    type: s2
    enum: kafka_control_key::control_type
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid:
      min: 0
  - id: coordinator_epoch
    -orig-id: coordinatorEpoch
    type: s4
    if: is_transaction_marker
  - id: message
    type:
      switch-on: control_type
      cases:
        'kafka_control_key::control_type::leader_change': leader_change(version)
        'kafka_control_key::control_type::snapshot_header': snapshot_header
        'kafka_control_key::control_type::snapshot_footer': snapshot_footer
        'kafka_control_key::control_type::kraft_version': kraft_version
        'kafka_control_key::control_type::kraft_voters': kraft_voters
    if: is_message
    -columnar:
      part: true
  - id: unknown
    size-eos: true
    doc: Kinds and versions that are not described here.
instances:
  is_transaction_marker:
    value: control_type == kafka_control_key::control_type::abort or control_type == kafka_control_key::control_type::commit
  is_message:
    value: version == 0 or (version == 1 and control_type == kafka_control_key::control_type::leader_change)
types:
  leader_change:
    doc: LeaderChangeMessage, at the start of a leader's epoch; version 1 adds directories.
    params:
      - id: version
        type: s2
    seq:
      - id: leader_id
        -orig-id: LeaderId
        type: s4
      - id: num_voters
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        doc: One too high.
      - id: voters
        -orig-id: Voters
        type: election_voter(version)
        repeat: expr
        repeat-expr: num_voters.value - 1
        doc: The voters of this epoch.
      - id: num_granting_voters
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        doc: One too high.
      - id: granting_voters
        -orig-id: GrantingVoters
        type: election_voter(version)
        repeat: expr
        repeat-expr: num_granting_voters.value - 1
        doc: Those who voted for the leader.
      - id: tagged_fields
        type: tagged_fields
  election_voter:
    params:
      - id: version
        type: s2
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        size: 16
        if: version >= 1
      - id: tagged_fields
        type: tagged_fields
  snapshot_header:
    doc: SnapshotHeaderRecord, the first record of a KRaft snapshot.
    seq:
      - id: last_contained_log_timestamp
        -orig-id: LastContainedLogTimestamp
        type: s8
        doc: Milliseconds since 1970 of the last record that the snapshot covers.
      - id: tagged_fields
        type: tagged_fields
  snapshot_footer:
    doc: SnapshotFooterRecord, the last record of a KRaft snapshot.
    seq:
      - id: tagged_fields
        type: tagged_fields
  kraft_version:
    doc: KRaftVersionRecord.
    seq:
      - id: kraft_version
        -orig-id: KRaftVersion
        type: s2
      - id: tagged_fields
        type: tagged_fields
  kraft_voters:
    doc: VotersRecord, the voters and where they listen.
    seq:
      - id: num_voters
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        doc: One too high.
      - id: voters
        -orig-id: Voters
        type: voter
        repeat: expr
        repeat-expr: num_voters.value - 1
      - id: tagged_fields
        type: tagged_fields
  voter:
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        size: 16
      - id: num_endpoints
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        doc: One too high.
      - id: endpoints
        -orig-id: Endpoints
        type: endpoint
        repeat: expr
        repeat-expr: num_endpoints.value - 1
      - id: kraft_version_feature
        -orig-id: KRaftVersionFeature
        type: version_range
      - id: tagged_fields
        type: tagged_fields
  endpoint:
    seq:
      - id: len_name
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        doc: One too high.
      - id: name
        -orig-id: Name
        size: len_name.value - 1
        type: str
      - id: len_host
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        doc: One too high.
      - id: host
        -orig-id: Host
        size: len_host.value - 1
        type: str
      - id: port
        -orig-id: Port
        type: u2
      - id: tagged_fields
        type: tagged_fields
  version_range:
    seq:
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
      - id: tagged_fields
        type: tagged_fields
  tagged_fields:
    doc: Optional fields, which readers skip where they do not know the tag.
    seq:
      - id: num_fields
        type: unsigned_varint
        doc: Not one too high, unlike other counts.
      - id: fields
        type: tagged_field
        repeat: expr
        repeat-expr: num_fields.value
  tagged_field:
    seq:
      - id: tag
        type: unsigned_varint
        doc: Number of the field in its message.
      - id: len_data
        type: unsigned_varint
        doc: Bytes of the field, so that it can be skipped.
      - id: data
        size: len_data.value
        doc: The field as it is encoded.
