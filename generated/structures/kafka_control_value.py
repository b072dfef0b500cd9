# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import kafka_control_key
from thawline.generated.structures import unsigned_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaControlValue(ReadWriteKaitaiStruct):
    """What a marker says. Transaction markers carry the coordinator's epoch; the
    other kinds are KRaft's, "flexible" messages of Kafka's own protocol: lengths
    and counts are stored one too high, and every structure ends in tagged fields.
    
    .. seealso::
       Source - https://github.com/apache/kafka/tree/1eb7644/clients/src/main/resources/common/message
    """
    SEQ_FIELDS = ["version", "coordinator_epoch", "message", "unknown"]
    def __init__(self, control_type, _io=None, _parent=None, _root=None):
        super(KafkaControlValue, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.control_type = control_type
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_s2be()
        self._debug['version']['end'] = self._io.pos()
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, self._io, u"/seq/0")
        if self.is_transaction_marker:
            pass
            self._debug['coordinator_epoch']['start'] = self._io.pos()
            self.coordinator_epoch = self._io.read_s4be()
            self._debug['coordinator_epoch']['end'] = self._io.pos()

        if self.is_message:
            pass
            self._debug['message']['start'] = self._io.pos()
            _on = self.control_type
            if _on == kafka_control_key.KafkaControlKey.ControlType.kraft_version:
                pass
                self.message = KafkaControlValue.KraftVersion(self._io, self, self._root)
                self.message._read()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.kraft_voters:
                pass
                self.message = KafkaControlValue.KraftVoters(self._io, self, self._root)
                self.message._read()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.leader_change:
                pass
                self.message = KafkaControlValue.LeaderChange(self.version, self._io, self, self._root)
                self.message._read()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_footer:
                pass
                self.message = KafkaControlValue.SnapshotFooter(self._io, self, self._root)
                self.message._read()
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_header:
                pass
                self.message = KafkaControlValue.SnapshotHeader(self._io, self, self._root)
                self.message._read()
            self._debug['message']['end'] = self._io.pos()

        self._debug['unknown']['start'] = self._io.pos()
        self.unknown = self._io.read_bytes_full()
        self._debug['unknown']['end'] = self._io.pos()
        self._dirty = False


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



    def _write__seq(self, io=None):
        super(KafkaControlValue, self)._write__seq(io)
        self._io.write_s2be(self.version)
        if self.is_transaction_marker:
            pass
            self._io.write_s4be(self.coordinator_epoch)

        if self.is_message:
            pass
            _on = self.control_type
            if _on == kafka_control_key.KafkaControlKey.ControlType.kraft_version:
                pass
                self.message._write__seq(self._io)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.kraft_voters:
                pass
                self.message._write__seq(self._io)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.leader_change:
                pass
                self.message._write__seq(self._io)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_footer:
                pass
                self.message._write__seq(self._io)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_header:
                pass
                self.message._write__seq(self._io)

        self._io.write_bytes(self.unknown)
        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"unknown", 0, self._io.size() - self._io.pos())


    def _check(self):
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, None, u"/seq/0")
        if self.is_transaction_marker:
            pass

        if self.is_message:
            pass
            _on = self.control_type
            if _on == kafka_control_key.KafkaControlKey.ControlType.kraft_version:
                pass
                if self.message._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"message", self._root, self.message._root)
                if self.message._parent != self:
                    raise kaitaistruct.ConsistencyError(u"message", self, self.message._parent)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.kraft_voters:
                pass
                if self.message._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"message", self._root, self.message._root)
                if self.message._parent != self:
                    raise kaitaistruct.ConsistencyError(u"message", self, self.message._parent)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.leader_change:
                pass
                if self.message._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"message", self._root, self.message._root)
                if self.message._parent != self:
                    raise kaitaistruct.ConsistencyError(u"message", self, self.message._parent)
                if self.message.version != self.version:
                    raise kaitaistruct.ConsistencyError(u"message", self.version, self.message.version)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_footer:
                pass
                if self.message._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"message", self._root, self.message._root)
                if self.message._parent != self:
                    raise kaitaistruct.ConsistencyError(u"message", self, self.message._parent)
            elif _on == kafka_control_key.KafkaControlKey.ControlType.snapshot_header:
                pass
                if self.message._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"message", self._root, self.message._root)
                if self.message._parent != self:
                    raise kaitaistruct.ConsistencyError(u"message", self, self.message._parent)

        self._dirty = False

    class ElectionVoter(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["voter_id", "voter_directory_id", "tagged_fields"]
        def __init__(self, version, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.ElectionVoter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.version = version
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['voter_id']['start'] = self._io.pos()
            self.voter_id = self._io.read_s4be()
            self._debug['voter_id']['end'] = self._io.pos()
            if self.version >= 1:
                pass
                self._debug['voter_directory_id']['start'] = self._io.pos()
                self.voter_directory_id = self._io.read_bytes(16)
                self._debug['voter_directory_id']['end'] = self._io.pos()

            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            if self.version >= 1:
                pass

            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.ElectionVoter, self)._write__seq(io)
            self._io.write_s4be(self.voter_id)
            if self.version >= 1:
                pass
                self._io.write_bytes(self.voter_directory_id)

            self.tagged_fields._write__seq(self._io)


        def _check(self):
            if self.version >= 1:
                pass
                if len(self.voter_directory_id) != 16:
                    raise kaitaistruct.ConsistencyError(u"voter_directory_id", 16, len(self.voter_directory_id))

            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class Endpoint(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_name", "name", "len_host", "host", "port", "tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.Endpoint, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_name']['start'] = self._io.pos()
            self.len_name = unsigned_varint.UnsignedVarint(self._io)
            self.len_name._read()
            self._debug['len_name']['end'] = self._io.pos()
            _ = self.len_name
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.len_name, self._io, u"/types/endpoint/seq/0")
            self._debug['name']['start'] = self._io.pos()
            self.name = (self._io.read_bytes(self.len_name.value - 1)).decode(u"UTF-8")
            self._debug['name']['end'] = self._io.pos()
            self._debug['len_host']['start'] = self._io.pos()
            self.len_host = unsigned_varint.UnsignedVarint(self._io)
            self.len_host._read()
            self._debug['len_host']['end'] = self._io.pos()
            _ = self.len_host
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.len_host, self._io, u"/types/endpoint/seq/2")
            self._debug['host']['start'] = self._io.pos()
            self.host = (self._io.read_bytes(self.len_host.value - 1)).decode(u"UTF-8")
            self._debug['host']['end'] = self._io.pos()
            self._debug['port']['start'] = self._io.pos()
            self.port = self._io.read_u2be()
            self._debug['port']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.len_name._fetch_instances()
            self.len_host._fetch_instances()
            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.Endpoint, self)._write__seq(io)
            self.len_name._write__seq(self._io)
            self._io.write_bytes((self.name).encode(u"UTF-8"))
            self.len_host._write__seq(self._io)
            self._io.write_bytes((self.host).encode(u"UTF-8"))
            self._io.write_u2be(self.port)
            self.tagged_fields._write__seq(self._io)


        def _check(self):
            _ = self.len_name
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.len_name, None, u"/types/endpoint/seq/0")
            if len((self.name).encode(u"UTF-8")) != self.len_name.value - 1:
                raise kaitaistruct.ConsistencyError(u"name", self.len_name.value - 1, len((self.name).encode(u"UTF-8")))
            _ = self.len_host
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.len_host, None, u"/types/endpoint/seq/2")
            if len((self.host).encode(u"UTF-8")) != self.len_host.value - 1:
                raise kaitaistruct.ConsistencyError(u"host", self.len_host.value - 1, len((self.host).encode(u"UTF-8")))
            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class KraftVersion(ReadWriteKaitaiStruct):
        """KRaftVersionRecord."""
        SEQ_FIELDS = ["kraft_version", "tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.KraftVersion, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['kraft_version']['start'] = self._io.pos()
            self.kraft_version = self._io.read_s2be()
            self._debug['kraft_version']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.KraftVersion, self)._write__seq(io)
            self._io.write_s2be(self.kraft_version)
            self.tagged_fields._write__seq(self._io)


        def _check(self):
            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class KraftVoters(ReadWriteKaitaiStruct):
        """VotersRecord, the voters and where they listen."""
        SEQ_FIELDS = ["num_voters", "voters", "tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.KraftVoters, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_voters']['start'] = self._io.pos()
            self.num_voters = unsigned_varint.UnsignedVarint(self._io)
            self.num_voters._read()
            self._debug['num_voters']['end'] = self._io.pos()
            _ = self.num_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_voters, self._io, u"/types/kraft_voters/seq/0")
            self._debug['voters']['start'] = self._io.pos()
            self._debug['voters']['arr'] = []
            self.voters = []
            for i in range(self.num_voters.value - 1):
                self._debug['voters']['arr'].append({'start': self._io.pos()})
                _t_voters = KafkaControlValue.Voter(self._io, self, self._root)
                try:
                    _t_voters._read()
                finally:
                    self.voters.append(_t_voters)
                self._debug['voters']['arr'][i]['end'] = self._io.pos()

            self._debug['voters']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.num_voters._fetch_instances()
            for i in range(len(self.voters)):
                pass
                self.voters[i]._fetch_instances()

            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.KraftVoters, self)._write__seq(io)
            self.num_voters._write__seq(self._io)
            for i in range(len(self.voters)):
                pass
                self.voters[i]._write__seq(self._io)

            self.tagged_fields._write__seq(self._io)


        def _check(self):
            _ = self.num_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_voters, None, u"/types/kraft_voters/seq/0")
            if len(self.voters) != self.num_voters.value - 1:
                raise kaitaistruct.ConsistencyError(u"voters", self.num_voters.value - 1, len(self.voters))
            for i in range(len(self.voters)):
                pass
                if self.voters[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"voters", self._root, self.voters[i]._root)
                if self.voters[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"voters", self, self.voters[i]._parent)

            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class LeaderChange(ReadWriteKaitaiStruct):
        """LeaderChangeMessage, at the start of a leader's epoch; version 1 adds directories."""
        SEQ_FIELDS = ["leader_id", "num_voters", "voters", "num_granting_voters", "granting_voters", "tagged_fields"]
        def __init__(self, version, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.LeaderChange, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.version = version
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['leader_id']['start'] = self._io.pos()
            self.leader_id = self._io.read_s4be()
            self._debug['leader_id']['end'] = self._io.pos()
            self._debug['num_voters']['start'] = self._io.pos()
            self.num_voters = unsigned_varint.UnsignedVarint(self._io)
            self.num_voters._read()
            self._debug['num_voters']['end'] = self._io.pos()
            _ = self.num_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_voters, self._io, u"/types/leader_change/seq/1")
            self._debug['voters']['start'] = self._io.pos()
            self._debug['voters']['arr'] = []
            self.voters = []
            for i in range(self.num_voters.value - 1):
                self._debug['voters']['arr'].append({'start': self._io.pos()})
                _t_voters = KafkaControlValue.ElectionVoter(self.version, self._io, self, self._root)
                try:
                    _t_voters._read()
                finally:
                    self.voters.append(_t_voters)
                self._debug['voters']['arr'][i]['end'] = self._io.pos()

            self._debug['voters']['end'] = self._io.pos()
            self._debug['num_granting_voters']['start'] = self._io.pos()
            self.num_granting_voters = unsigned_varint.UnsignedVarint(self._io)
            self.num_granting_voters._read()
            self._debug['num_granting_voters']['end'] = self._io.pos()
            _ = self.num_granting_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_granting_voters, self._io, u"/types/leader_change/seq/3")
            self._debug['granting_voters']['start'] = self._io.pos()
            self._debug['granting_voters']['arr'] = []
            self.granting_voters = []
            for i in range(self.num_granting_voters.value - 1):
                self._debug['granting_voters']['arr'].append({'start': self._io.pos()})
                _t_granting_voters = KafkaControlValue.ElectionVoter(self.version, self._io, self, self._root)
                try:
                    _t_granting_voters._read()
                finally:
                    self.granting_voters.append(_t_granting_voters)
                self._debug['granting_voters']['arr'][i]['end'] = self._io.pos()

            self._debug['granting_voters']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


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


        def _write__seq(self, io=None):
            super(KafkaControlValue.LeaderChange, self)._write__seq(io)
            self._io.write_s4be(self.leader_id)
            self.num_voters._write__seq(self._io)
            for i in range(len(self.voters)):
                pass
                self.voters[i]._write__seq(self._io)

            self.num_granting_voters._write__seq(self._io)
            for i in range(len(self.granting_voters)):
                pass
                self.granting_voters[i]._write__seq(self._io)

            self.tagged_fields._write__seq(self._io)


        def _check(self):
            _ = self.num_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_voters, None, u"/types/leader_change/seq/1")
            if len(self.voters) != self.num_voters.value - 1:
                raise kaitaistruct.ConsistencyError(u"voters", self.num_voters.value - 1, len(self.voters))
            for i in range(len(self.voters)):
                pass
                if self.voters[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"voters", self._root, self.voters[i]._root)
                if self.voters[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"voters", self, self.voters[i]._parent)
                if self.voters[i].version != self.version:
                    raise kaitaistruct.ConsistencyError(u"voters", self.version, self.voters[i].version)

            _ = self.num_granting_voters
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_granting_voters, None, u"/types/leader_change/seq/3")
            if len(self.granting_voters) != self.num_granting_voters.value - 1:
                raise kaitaistruct.ConsistencyError(u"granting_voters", self.num_granting_voters.value - 1, len(self.granting_voters))
            for i in range(len(self.granting_voters)):
                pass
                if self.granting_voters[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"granting_voters", self._root, self.granting_voters[i]._root)
                if self.granting_voters[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"granting_voters", self, self.granting_voters[i]._parent)
                if self.granting_voters[i].version != self.version:
                    raise kaitaistruct.ConsistencyError(u"granting_voters", self.version, self.granting_voters[i].version)

            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class SnapshotFooter(ReadWriteKaitaiStruct):
        """SnapshotFooterRecord, the last record of a KRaft snapshot."""
        SEQ_FIELDS = ["tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.SnapshotFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.SnapshotFooter, self)._write__seq(io)
            self.tagged_fields._write__seq(self._io)


        def _check(self):
            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class SnapshotHeader(ReadWriteKaitaiStruct):
        """SnapshotHeaderRecord, the first record of a KRaft snapshot."""
        SEQ_FIELDS = ["last_contained_log_timestamp", "tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.SnapshotHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['last_contained_log_timestamp']['start'] = self._io.pos()
            self.last_contained_log_timestamp = self._io.read_s8be()
            self._debug['last_contained_log_timestamp']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.SnapshotHeader, self)._write__seq(io)
            self._io.write_s8be(self.last_contained_log_timestamp)
            self.tagged_fields._write__seq(self._io)


        def _check(self):
            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class TaggedField(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["tag", "len_data", "data"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.TaggedField, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tag']['start'] = self._io.pos()
            self.tag = unsigned_varint.UnsignedVarint(self._io)
            self.tag._read()
            self._debug['tag']['end'] = self._io.pos()
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = unsigned_varint.UnsignedVarint(self._io)
            self.len_data._read()
            self._debug['len_data']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.len_data.value)
            self._debug['data']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.tag._fetch_instances()
            self.len_data._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.TaggedField, self)._write__seq(io)
            self.tag._write__seq(self._io)
            self.len_data._write__seq(self._io)
            self._io.write_bytes(self.data)


        def _check(self):
            if len(self.data) != self.len_data.value:
                raise kaitaistruct.ConsistencyError(u"data", self.len_data.value, len(self.data))
            self._dirty = False


    class TaggedFields(ReadWriteKaitaiStruct):
        """Optional fields, which readers skip where they do not know the tag."""
        SEQ_FIELDS = ["num_fields", "fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.TaggedFields, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_fields']['start'] = self._io.pos()
            self.num_fields = unsigned_varint.UnsignedVarint(self._io)
            self.num_fields._read()
            self._debug['num_fields']['end'] = self._io.pos()
            self._debug['fields']['start'] = self._io.pos()
            self._debug['fields']['arr'] = []
            self.fields = []
            for i in range(self.num_fields.value):
                self._debug['fields']['arr'].append({'start': self._io.pos()})
                _t_fields = KafkaControlValue.TaggedField(self._io, self, self._root)
                try:
                    _t_fields._read()
                finally:
                    self.fields.append(_t_fields)
                self._debug['fields']['arr'][i]['end'] = self._io.pos()

            self._debug['fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.num_fields._fetch_instances()
            for i in range(len(self.fields)):
                pass
                self.fields[i]._fetch_instances()



        def _write__seq(self, io=None):
            super(KafkaControlValue.TaggedFields, self)._write__seq(io)
            self.num_fields._write__seq(self._io)
            for i in range(len(self.fields)):
                pass
                self.fields[i]._write__seq(self._io)



        def _check(self):
            if len(self.fields) != self.num_fields.value:
                raise kaitaistruct.ConsistencyError(u"fields", self.num_fields.value, len(self.fields))
            for i in range(len(self.fields)):
                pass
                if self.fields[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"fields", self._root, self.fields[i]._root)
                if self.fields[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"fields", self, self.fields[i]._parent)

            self._dirty = False


    class VersionRange(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["min_supported_version", "max_supported_version", "tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.VersionRange, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['min_supported_version']['start'] = self._io.pos()
            self.min_supported_version = self._io.read_s2be()
            self._debug['min_supported_version']['end'] = self._io.pos()
            self._debug['max_supported_version']['start'] = self._io.pos()
            self.max_supported_version = self._io.read_s2be()
            self._debug['max_supported_version']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.VersionRange, self)._write__seq(io)
            self._io.write_s2be(self.min_supported_version)
            self._io.write_s2be(self.max_supported_version)
            self.tagged_fields._write__seq(self._io)


        def _check(self):
            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    class Voter(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["voter_id", "voter_directory_id", "num_endpoints", "endpoints", "kraft_version_feature", "tagged_fields"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaControlValue.Voter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['voter_id']['start'] = self._io.pos()
            self.voter_id = self._io.read_s4be()
            self._debug['voter_id']['end'] = self._io.pos()
            self._debug['voter_directory_id']['start'] = self._io.pos()
            self.voter_directory_id = self._io.read_bytes(16)
            self._debug['voter_directory_id']['end'] = self._io.pos()
            self._debug['num_endpoints']['start'] = self._io.pos()
            self.num_endpoints = unsigned_varint.UnsignedVarint(self._io)
            self.num_endpoints._read()
            self._debug['num_endpoints']['end'] = self._io.pos()
            _ = self.num_endpoints
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_endpoints, self._io, u"/types/voter/seq/2")
            self._debug['endpoints']['start'] = self._io.pos()
            self._debug['endpoints']['arr'] = []
            self.endpoints = []
            for i in range(self.num_endpoints.value - 1):
                self._debug['endpoints']['arr'].append({'start': self._io.pos()})
                _t_endpoints = KafkaControlValue.Endpoint(self._io, self, self._root)
                try:
                    _t_endpoints._read()
                finally:
                    self.endpoints.append(_t_endpoints)
                self._debug['endpoints']['arr'][i]['end'] = self._io.pos()

            self._debug['endpoints']['end'] = self._io.pos()
            self._debug['kraft_version_feature']['start'] = self._io.pos()
            self.kraft_version_feature = KafkaControlValue.VersionRange(self._io, self, self._root)
            self.kraft_version_feature._read()
            self._debug['kraft_version_feature']['end'] = self._io.pos()
            self._debug['tagged_fields']['start'] = self._io.pos()
            self.tagged_fields = KafkaControlValue.TaggedFields(self._io, self, self._root)
            self.tagged_fields._read()
            self._debug['tagged_fields']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.num_endpoints._fetch_instances()
            for i in range(len(self.endpoints)):
                pass
                self.endpoints[i]._fetch_instances()

            self.kraft_version_feature._fetch_instances()
            self.tagged_fields._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaControlValue.Voter, self)._write__seq(io)
            self._io.write_s4be(self.voter_id)
            self._io.write_bytes(self.voter_directory_id)
            self.num_endpoints._write__seq(self._io)
            for i in range(len(self.endpoints)):
                pass
                self.endpoints[i]._write__seq(self._io)

            self.kraft_version_feature._write__seq(self._io)
            self.tagged_fields._write__seq(self._io)


        def _check(self):
            if len(self.voter_directory_id) != 16:
                raise kaitaistruct.ConsistencyError(u"voter_directory_id", 16, len(self.voter_directory_id))
            _ = self.num_endpoints
            if not _.value >= 1:
                raise kaitaistruct.ValidationExprError(self.num_endpoints, None, u"/types/voter/seq/2")
            if len(self.endpoints) != self.num_endpoints.value - 1:
                raise kaitaistruct.ConsistencyError(u"endpoints", self.num_endpoints.value - 1, len(self.endpoints))
            for i in range(len(self.endpoints)):
                pass
                if self.endpoints[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"endpoints", self._root, self.endpoints[i]._root)
                if self.endpoints[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"endpoints", self, self.endpoints[i]._parent)

            if self.kraft_version_feature._root != self._root:
                raise kaitaistruct.ConsistencyError(u"kraft_version_feature", self._root, self.kraft_version_feature._root)
            if self.kraft_version_feature._parent != self:
                raise kaitaistruct.ConsistencyError(u"kraft_version_feature", self, self.kraft_version_feature._parent)
            if self.tagged_fields._root != self._root:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self._root, self.tagged_fields._root)
            if self.tagged_fields._parent != self:
                raise kaitaistruct.ConsistencyError(u"tagged_fields", self, self.tagged_fields._parent)
            self._dirty = False


    @property
    def is_message(self):
        if hasattr(self, '_m_is_message'):
            return self._m_is_message

        self._m_is_message =  ((self.version == 0) or ( ((self.version == 1) and (self.control_type == kafka_control_key.KafkaControlKey.ControlType.leader_change)) )) 
        return getattr(self, '_m_is_message', None)

    def _invalidate_is_message(self):
        del self._m_is_message
    @property
    def is_transaction_marker(self):
        if hasattr(self, '_m_is_transaction_marker'):
            return self._m_is_transaction_marker

        self._m_is_transaction_marker =  ((self.control_type == kafka_control_key.KafkaControlKey.ControlType.abort) or (self.control_type == kafka_control_key.KafkaControlKey.ControlType.commit)) 
        return getattr(self, '_m_is_transaction_marker', None)

    def _invalidate_is_transaction_marker(self):
        del self._m_is_transaction_marker

