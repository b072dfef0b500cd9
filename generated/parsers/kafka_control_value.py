# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import kafka_control_key
from thawline.generated.parsers import unsigned_varint


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaControlValue(KaitaiStruct):
    """What a marker says. Transaction markers carry the coordinator's epoch; the
    other kinds are KRaft's, "flexible" messages of Kafka's own protocol: lengths
    and counts are stored one too high, and every structure ends in tagged fields.
    
    .. seealso::
       Source - https://github.com/apache/kafka/tree/1eb7644/clients/src/main/resources/common/message
    """
    def __init__(self, control_type, _io, _parent=None, _root=None):
        super(KafkaControlValue, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.control_type = control_type
        self._read()

    def _read(self):
        self.version = self._io.read_s2be()
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, self._io, u"/seq/0")
        if self.is_transaction_marker:
            pass
            self.coordinator_epoch = self._io.read_s4be()

        if self.is_message:
            pass
            _on = self.control_type
            if _on == kafka_control_key.KafkaControlKey.ControlType.kraft_version:
                pass
                self.message = KafkaControlValue.KraftVersion(self._io, self, self._root)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.kraft_voters:
                pass
                self.message = KafkaControlValue.KraftVoters(self._io, self, self._root)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.leader_change:
                pass
                self.message = KafkaControlValue.LeaderChange(self.version, self._io, self, self._root)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_footer:
                pass
                self.message = KafkaControlValue.SnapshotFooter(self._io, self, self._root)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_header:
                pass
                self.message = KafkaControlValue.SnapshotHeader(self._io, self, self._root)

        self.unknown = self._io.read_bytes_full()


    def _fetch_instances(self):
        pass
        if self.is_transaction_marker:
            pass

        if self.is_message:
            pass
            _on = self.control_type
            if _on == kafka_control_key.KafkaControlKey.ControlType.kraft_version:
                pass
                self.message._fetch_instances()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.kraft_voters:
                pass
                self.message._fetch_instances()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.leader_change:
                pass
                self.message._fetch_instances()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_footer:
                pass
                self.message._fetch_instances()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_header:
                pass
                self.message._fetch_instances()


    class ElectionVoter(KaitaiStruct):
        def __init__(self, version, _io, _parent=None, _root=None):
            super(KafkaControlValue.ElectionVoter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.version = version
            self._read()

        def _read(self):
            self.voter_id = self._io.read_s4be()
            if self.version >= 1:
                pass
                self.voter_directory_id = self._io.read_bytes(16)

            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            if self.version >= 1:
                pass

            self.tagged_fields._fetch_instances()


    class Endpoint(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.Endpoint, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_name = unsigned_varint.UnsignedVarint(self._io)
            _ = self.len_name
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.len_name, self._io, u"/types/endpoint/seq/0")
            self.name = (self._io.read_bytes(self.len_name.value - 1)).decode(u"UTF-8")
            self.len_host = unsigned_varint.UnsignedVarint(self._io)
            _ = self.len_host
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.len_host, self._io, u"/types/endpoint/seq/2")
            self.host = (self._io.read_bytes(self.len_host.value - 1)).decode(u"UTF-8")
            self.port = self._io.read_u2be()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.len_name._fetch_instances()
            self.len_host._fetch_instances()
            self.tagged_fields._fetch_instances()


    class KraftVersion(KaitaiStruct):
        """KRaftVersionRecord."""
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.KraftVersion, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.kraft_version = self._io.read_s2be()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


    class KraftVoters(KaitaiStruct):
        """VotersRecord, the voters and where they listen."""
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.KraftVoters, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_voters = unsigned_varint.UnsignedVarint(self._io)
            _ = self.num_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_voters, self._io, u"/types/kraft_voters/seq/0")
            self.voters = []
            for i in range(self.num_voters.value - 1):
                self.voters.append(KafkaControlValue.Voter(self._io, self, self._root))

            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.num_voters._fetch_instances()
            for i in range(len(self.voters)):
                pass
                self.voters[i]._fetch_instances()

            self.tagged_fields._fetch_instances()


    class LeaderChange(KaitaiStruct):
        """LeaderChangeMessage, at the start of a leader's epoch; version 1 adds directories."""
        def __init__(self, version, _io, _parent=None, _root=None):
            super(KafkaControlValue.LeaderChange, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.version = version
            self._read()

        def _read(self):
            self.leader_id = self._io.read_s4be()
            self.num_voters = unsigned_varint.UnsignedVarint(self._io)
            _ = self.num_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_voters, self._io, u"/types/leader_change/seq/1")
            self.voters = []
            for i in range(self.num_voters.value - 1):
                self.voters.append(KafkaControlValue.ElectionVoter(self.version, self._io, self, self._root))

            self.num_granting_voters = unsigned_varint.UnsignedVarint(self._io)
            _ = self.num_granting_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_granting_voters, self._io, u"/types/leader_change/seq/3")
            self.granting_voters = []
            for i in range(self.num_granting_voters.value - 1):
                self.granting_voters.append(KafkaControlValue.ElectionVoter(self.version, self._io, self, self._root))

            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.num_voters._fetch_instances()
            for i in range(len(self.voters)):
                pass
                self.voters[i]._fetch_instances()

            self.num_granting_voters._fetch_instances()
            for i in range(len(self.granting_voters)):
                pass
                self.granting_voters[i]._fetch_instances()

            self.tagged_fields._fetch_instances()


    class SnapshotFooter(KaitaiStruct):
        """SnapshotFooterRecord, the last record of a KRaft snapshot."""
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.SnapshotFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


    class SnapshotHeader(KaitaiStruct):
        """SnapshotHeaderRecord, the first record of a KRaft snapshot."""
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.SnapshotHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.last_contained_log_timestamp = self._io.read_s8be()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


    class TaggedField(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.TaggedField, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.tag = unsigned_varint.UnsignedVarint(self._io)
            self.len_data = unsigned_varint.UnsignedVarint(self._io)
            self.data = self._io.read_bytes(self.len_data.value)


        def _fetch_instances(self):
            pass
            self.tag._fetch_instances()
            self.len_data._fetch_instances()


    class TaggedFields(KaitaiStruct):
        """Optional fields, which readers skip where they do not know the tag."""
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.TaggedFields, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_fields = unsigned_varint.UnsignedVarint(self._io)
            self.fields = []
            for i in range(self.num_fields.value):
                self.fields.append(KafkaControlValue.TaggedField(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            self.num_fields._fetch_instances()
            for i in range(len(self.fields)):
                pass
                self.fields[i]._fetch_instances()



    class VersionRange(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.VersionRange, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.min_supported_version = self._io.read_s2be()
            self.max_supported_version = self._io.read_s2be()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


    class Voter(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaControlValue.Voter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.voter_id = self._io.read_s4be()
            self.voter_directory_id = self._io.read_bytes(16)
            self.num_endpoints = unsigned_varint.UnsignedVarint(self._io)
            _ = self.num_endpoints
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_endpoints, self._io, u"/types/voter/seq/2")
            self.endpoints = []
            for i in range(self.num_endpoints.value - 1):
                self.endpoints.append(KafkaControlValue.Endpoint(self._io, self, self._root))

            self.kraft_version_feature = KafkaControlValue.VersionRange(self._io, self, self._root)
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.num_endpoints._fetch_instances()
            for i in range(len(self.endpoints)):
                pass
                self.endpoints[i]._fetch_instances()

            self.kraft_version_feature._fetch_instances()
            self.tagged_fields._fetch_instances()


    @property
    def is_message(self):
        if hasattr(self, '_m_is_message'):
            return self._m_is_message

        self._m_is_message =  ((self.version == 0) or ( ((self.version == 1) and (self.control_type == kafka_control_key.KafkaControlKey.ControlType.leader_change)) )) 
        return getattr(self, '_m_is_message', None)

    @property
    def is_transaction_marker(self):
        if hasattr(self, '_m_is_transaction_marker'):
            return self._m_is_transaction_marker

        self._m_is_transaction_marker =  ((self.control_type == kafka_control_key.KafkaControlKey.ControlType.abort) or (self.control_type == kafka_control_key.KafkaControlKey.ControlType.commit)) 
        return getattr(self, '_m_is_transaction_marker', None)


