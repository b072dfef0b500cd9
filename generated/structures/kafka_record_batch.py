# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaRecordBatch(ReadWriteKaitaiStruct):
    """The unit of a log segment since Kafka 0.11: a 61-byte head, then the records,
    compressed as a whole or not at all.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java
    """

    class Compression(IntEnum):
        none = 0
        gzip = 1
        snappy = 2
        lz4 = 3
        zstd = 4

    class TimestampType(IntEnum):
        create_time = 0
        log_append_time = 1
    SEQ_FIELDS = ["base_offset", "len_body", "body"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(KafkaRecordBatch, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['base_offset']['start'] = self._io.pos()
        self.base_offset = self._io.read_s8be()
        self._debug['base_offset']['end'] = self._io.pos()
        self._debug['len_body']['start'] = self._io.pos()
        self.len_body = self._io.read_s4be()
        self._debug['len_body']['end'] = self._io.pos()
        if not self.len_body >= 49:
            raise kaitaistruct.ValidationLessThanError(49, self.len_body, self._io, u"/seq/1")
        self._debug['body']['start'] = self._io.pos()
        self._raw_body = self._io.read_bytes(self.len_body)
        _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
        self.body = KafkaRecordBatch.Body(_io__raw_body, self, self._root)
        self.body._read()
        self._debug['body']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.body._fetch_instances()


    def _write__seq(self, io=None):
        super(KafkaRecordBatch, self)._write__seq(io)
        self._io.write_s8be(self.base_offset)
        self._io.write_s4be(self.len_body)
        _io__raw_body = KaitaiStream(BytesIO(bytearray(self.len_body)))
        self._io.add_child_stream(_io__raw_body)
        _pos2 = self._io.pos()
        self._io.seek(self._io.pos() + (self.len_body))
        def handler(parent, _io__raw_body=_io__raw_body):
            self._raw_body = _io__raw_body.to_byte_array()
            if len(self._raw_body) != self.len_body:
                raise kaitaistruct.ConsistencyError(u"raw(body)", self.len_body, len(self._raw_body))
            parent.write_bytes(self._raw_body)
        _io__raw_body.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
        self.body._write__seq(_io__raw_body)


    def _check(self):
        if not self.len_body >= 49:
            raise kaitaistruct.ValidationLessThanError(49, self.len_body, None, u"/seq/1")
        if self.body._root != self._root:
            raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
        if self.body._parent != self:
            raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        self._dirty = False

    class Attributes(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["unused", "has_delete_horizon", "is_control", "is_transactional", "timestamp_type", "compression"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaRecordBatch.Attributes, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['unused']['start'] = self._io.pos()
            self.unused = self._io.read_bits_int_be(9)
            self._debug['unused']['end'] = self._io.pos()
            self._debug['has_delete_horizon']['start'] = self._io.pos()
            self.has_delete_horizon = self._io.read_bits_int_be(1) != 0
            self._debug['has_delete_horizon']['end'] = self._io.pos()
            self._debug['is_control']['start'] = self._io.pos()
            self.is_control = self._io.read_bits_int_be(1) != 0
            self._debug['is_control']['end'] = self._io.pos()
            self._debug['is_transactional']['start'] = self._io.pos()
            self.is_transactional = self._io.read_bits_int_be(1) != 0
            self._debug['is_transactional']['end'] = self._io.pos()
            self._debug['timestamp_type']['start'] = self._io.pos()
            self.timestamp_type = KaitaiStream.resolve_enum(KafkaRecordBatch.TimestampType, self._io.read_bits_int_be(1))
            self._debug['timestamp_type']['end'] = self._io.pos()
            self._debug['compression']['start'] = self._io.pos()
            self.compression = KaitaiStream.resolve_enum(KafkaRecordBatch.Compression, self._io.read_bits_int_be(3))
            self._debug['compression']['end'] = self._io.pos()
            if not isinstance(self.compression, KafkaRecordBatch.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, self._io, u"/types/attributes/seq/5")
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(KafkaRecordBatch.Attributes, self)._write__seq(io)
            self._io.write_bits_int_be(9, self.unused)
            self._io.write_bits_int_be(1, int(self.has_delete_horizon))
            self._io.write_bits_int_be(1, int(self.is_control))
            self._io.write_bits_int_be(1, int(self.is_transactional))
            self._io.write_bits_int_be(1, int(self.timestamp_type))
            self._io.write_bits_int_be(3, int(self.compression))


        def _check(self):
            if not isinstance(self.compression, KafkaRecordBatch.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, None, u"/types/attributes/seq/5")
            self._dirty = False


    class Body(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "num_records", "records"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaRecordBatch.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['partition_leader_epoch']['start'] = self._io.pos()
            self.partition_leader_epoch = self._io.read_s4be()
            self._debug['partition_leader_epoch']['end'] = self._io.pos()
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_s1()
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == 2:
                raise kaitaistruct.ValidationNotEqualError(2, self.magic, self._io, u"/types/body/seq/1")
            self._debug['crc']['start'] = self._io.pos()
            self.crc = self._io.read_u4be()
            self._debug['crc']['end'] = self._io.pos()
            self._debug['attributes']['start'] = self._io.pos()
            self.attributes = KafkaRecordBatch.Attributes(self._io, self, self._root)
            self.attributes._read()
            self._debug['attributes']['end'] = self._io.pos()
            self._debug['last_offset_delta']['start'] = self._io.pos()
            self.last_offset_delta = self._io.read_s4be()
            self._debug['last_offset_delta']['end'] = self._io.pos()
            if not self.last_offset_delta >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.last_offset_delta, self._io, u"/types/body/seq/4")
            self._debug['base_timestamp']['start'] = self._io.pos()
            self.base_timestamp = self._io.read_s8be()
            self._debug['base_timestamp']['end'] = self._io.pos()
            self._debug['max_timestamp']['start'] = self._io.pos()
            self.max_timestamp = self._io.read_s8be()
            self._debug['max_timestamp']['end'] = self._io.pos()
            self._debug['producer_id']['start'] = self._io.pos()
            self.producer_id = self._io.read_s8be()
            self._debug['producer_id']['end'] = self._io.pos()
            self._debug['producer_epoch']['start'] = self._io.pos()
            self.producer_epoch = self._io.read_s2be()
            self._debug['producer_epoch']['end'] = self._io.pos()
            self._debug['base_sequence']['start'] = self._io.pos()
            self.base_sequence = self._io.read_s4be()
            self._debug['base_sequence']['end'] = self._io.pos()
            self._debug['num_records']['start'] = self._io.pos()
            self.num_records = self._io.read_s4be()
            self._debug['num_records']['end'] = self._io.pos()
            if not self.num_records >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.num_records, self._io, u"/types/body/seq/10")
            self._debug['records']['start'] = self._io.pos()
            self.records = self._io.read_bytes_full()
            self._debug['records']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.attributes._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaRecordBatch.Body, self)._write__seq(io)
            self._io.write_s4be(self.partition_leader_epoch)
            self._io.write_s1(self.magic)
            self._io.write_u4be(self.crc)
            self.attributes._write__seq(self._io)
            self._io.write_s4be(self.last_offset_delta)
            self._io.write_s8be(self.base_timestamp)
            self._io.write_s8be(self.max_timestamp)
            self._io.write_s8be(self.producer_id)
            self._io.write_s2be(self.producer_epoch)
            self._io.write_s4be(self.base_sequence)
            self._io.write_s4be(self.num_records)
            self._io.write_bytes(self.records)
            if not self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"records", 0, self._io.size() - self._io.pos())


        def _check(self):
            if not self.magic == 2:
                raise kaitaistruct.ValidationNotEqualError(2, self.magic, None, u"/types/body/seq/1")
            if self.attributes._root != self._root:
                raise kaitaistruct.ConsistencyError(u"attributes", self._root, self.attributes._root)
            if self.attributes._parent != self:
                raise kaitaistruct.ConsistencyError(u"attributes", self, self.attributes._parent)
            if not self.last_offset_delta >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.last_offset_delta, None, u"/types/body/seq/4")
            if not self.num_records >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.num_records, None, u"/types/body/seq/10")
            self._dirty = False



