# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaMessage(ReadWriteKaitaiStruct):
    """The unit of a log segment before Kafka 0.11. Where it is compressed, `value`
    holds a compressed message set and `offset` is that of its last message.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java
    """

    class Compression(IntEnum):
        none = 0
        gzip = 1
        snappy = 2
        lz4 = 3

    class TimestampType(IntEnum):
        create_time = 0
        log_append_time = 1
    SEQ_FIELDS = ["offset", "len_body", "body"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(KafkaMessage, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['offset']['start'] = self._io.pos()
        self.offset = self._io.read_s8be()
        self._debug['offset']['end'] = self._io.pos()
        self._debug['len_body']['start'] = self._io.pos()
        self.len_body = self._io.read_s4be()
        self._debug['len_body']['end'] = self._io.pos()
        if not self.len_body >= 14:
            raise kaitaistruct.ValidationLessThanError(14, self.len_body, self._io, u"/seq/1")
        self._debug['body']['start'] = self._io.pos()
        self._raw_body = self._io.read_bytes(self.len_body)
        _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
        self.body = KafkaMessage.Body(_io__raw_body, self, self._root)
        self.body._read()
        self._debug['body']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.body._fetch_instances()


    def _write__seq(self, io=None):
        super(KafkaMessage, self)._write__seq(io)
        self._io.write_s8be(self.offset)
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
        if not self.len_body >= 14:
            raise kaitaistruct.ValidationLessThanError(14, self.len_body, None, u"/seq/1")
        if self.body._root != self._root:
            raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
        if self.body._parent != self:
            raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        self._dirty = False

    class Attributes(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["unused", "timestamp_type", "compression"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaMessage.Attributes, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['unused']['start'] = self._io.pos()
            self.unused = self._io.read_bits_int_be(4)
            self._debug['unused']['end'] = self._io.pos()
            self._debug['timestamp_type']['start'] = self._io.pos()
            self.timestamp_type = KaitaiStream.resolve_enum(KafkaMessage.TimestampType, self._io.read_bits_int_be(1))
            self._debug['timestamp_type']['end'] = self._io.pos()
            self._debug['compression']['start'] = self._io.pos()
            self.compression = KaitaiStream.resolve_enum(KafkaMessage.Compression, self._io.read_bits_int_be(3))
            self._debug['compression']['end'] = self._io.pos()
            if not isinstance(self.compression, KafkaMessage.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, self._io, u"/types/attributes/seq/2")
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(KafkaMessage.Attributes, self)._write__seq(io)
            self._io.write_bits_int_be(4, self.unused)
            self._io.write_bits_int_be(1, int(self.timestamp_type))
            self._io.write_bits_int_be(3, int(self.compression))


        def _check(self):
            if not isinstance(self.compression, KafkaMessage.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, None, u"/types/attributes/seq/2")
            self._dirty = False


    class Body(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["crc", "magic", "attributes", "timestamp", "len_key", "key", "len_value", "value", "trailing"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaMessage.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['crc']['start'] = self._io.pos()
            self.crc = self._io.read_u4be()
            self._debug['crc']['end'] = self._io.pos()
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_s1()
            self._debug['magic']['end'] = self._io.pos()
            if not  ((self.magic == 0) or (self.magic == 1)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.magic, self._io, u"/types/body/seq/1")
            self._debug['attributes']['start'] = self._io.pos()
            self.attributes = KafkaMessage.Attributes(self._io, self, self._root)
            self.attributes._read()
            self._debug['attributes']['end'] = self._io.pos()
            if self.magic == 1:
                pass
                self._debug['timestamp']['start'] = self._io.pos()
                self.timestamp = self._io.read_s8be()
                self._debug['timestamp']['end'] = self._io.pos()

            self._debug['len_key']['start'] = self._io.pos()
            self.len_key = self._io.read_s4be()
            self._debug['len_key']['end'] = self._io.pos()
            if not self.len_key >= -1:
                raise kaitaistruct.ValidationLessThanError(-1, self.len_key, self._io, u"/types/body/seq/4")
            if self.len_key >= 0:
                pass
                self._debug['key']['start'] = self._io.pos()
                self.key = self._io.read_bytes(self.len_key)
                self._debug['key']['end'] = self._io.pos()

            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = self._io.read_s4be()
            self._debug['len_value']['end'] = self._io.pos()
            if not self.len_value >= -1:
                raise kaitaistruct.ValidationLessThanError(-1, self.len_value, self._io, u"/types/body/seq/6")
            if self.len_value >= 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = self._io.read_bytes(self.len_value)
                self._debug['value']['end'] = self._io.pos()

            self._debug['trailing']['start'] = self._io.pos()
            self.trailing = self._io.read_bytes_full()
            self._debug['trailing']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.attributes._fetch_instances()
            if self.magic == 1:
                pass

            if self.len_key >= 0:
                pass

            if self.len_value >= 0:
                pass



        def _write__seq(self, io=None):
            super(KafkaMessage.Body, self)._write__seq(io)
            self._io.write_u4be(self.crc)
            self._io.write_s1(self.magic)
            self.attributes._write__seq(self._io)
            if self.magic == 1:
                pass
                self._io.write_s8be(self.timestamp)

            self._io.write_s4be(self.len_key)
            if self.len_key >= 0:
                pass
                self._io.write_bytes(self.key)

            self._io.write_s4be(self.len_value)
            if self.len_value >= 0:
                pass
                self._io.write_bytes(self.value)

            self._io.write_bytes(self.trailing)
            if not self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"trailing", 0, self._io.size() - self._io.pos())


        def _check(self):
            if not  ((self.magic == 0) or (self.magic == 1)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.magic, None, u"/types/body/seq/1")
            if self.attributes._root != self._root:
                raise kaitaistruct.ConsistencyError(u"attributes", self._root, self.attributes._root)
            if self.attributes._parent != self:
                raise kaitaistruct.ConsistencyError(u"attributes", self, self.attributes._parent)
            if self.magic == 1:
                pass

            if not self.len_key >= -1:
                raise kaitaistruct.ValidationLessThanError(-1, self.len_key, None, u"/types/body/seq/4")
            if self.len_key >= 0:
                pass
                if len(self.key) != self.len_key:
                    raise kaitaistruct.ConsistencyError(u"key", self.len_key, len(self.key))

            if not self.len_value >= -1:
                raise kaitaistruct.ValidationLessThanError(-1, self.len_value, None, u"/types/body/seq/6")
            if self.len_value >= 0:
                pass
                if len(self.value) != self.len_value:
                    raise kaitaistruct.ConsistencyError(u"value", self.len_value, len(self.value))

            self._dirty = False



