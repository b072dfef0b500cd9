# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaMessage(KaitaiStruct):
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
    def __init__(self, _io, _parent=None, _root=None):
        super(KafkaMessage, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.offset = self._io.read_s8be()
        self.len_body = self._io.read_s4be()
        if not self.len_body >= 14:
            raise kaitaistruct.ValidationLessThanError(14, self.len_body, self._io, u"/seq/1")
        self._raw_body = self._io.read_bytes(self.len_body)
        _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
        self.body = KafkaMessage.Body(_io__raw_body, self, self._root)


    def _fetch_instances(self):
        pass
        self.body._fetch_instances()

    class Attributes(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaMessage.Attributes, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.unused = self._io.read_bits_int_be(4)
            self.timestamp_type = KaitaiStream.resolve_enum(KafkaMessage.TimestampType, self._io.read_bits_int_be(1))
            self.compression = KaitaiStream.resolve_enum(KafkaMessage.Compression, self._io.read_bits_int_be(3))
            if not isinstance(self.compression, KafkaMessage.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, self._io, u"/types/attributes/seq/2")


        def _fetch_instances(self):
            pass


    class Body(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaMessage.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.crc = self._io.read_u4be()
            self.magic = self._io.read_s1()
            if not  ((self.magic == 0) or (self.magic == 1)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.magic, self._io, u"/types/body/seq/1")
            self.attributes = KafkaMessage.Attributes(self._io, self, self._root)
            if self.magic == 1:
                pass
                self.timestamp = self._io.read_s8be()

            self.len_key = self._io.read_s4be()
            if not self.len_key >= -1:
                raise kaitaistruct.ValidationLessThanError(-1, self.len_key, self._io, u"/types/body/seq/4")
            if self.len_key >= 0:
                pass
                self.key = self._io.read_bytes(self.len_key)

            self.len_value = self._io.read_s4be()
            if not self.len_value >= -1:
                raise kaitaistruct.ValidationLessThanError(-1, self.len_value, self._io, u"/types/body/seq/6")
            if self.len_value >= 0:
                pass
                self.value = self._io.read_bytes(self.len_value)

            self.trailing = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.attributes._fetch_instances()
            if self.magic == 1:
                pass

            if self.len_key >= 0:
                pass

            if self.len_value >= 0:
                pass

            _ = self.crc_input
            if hasattr(self, '_m_crc_input'):
                pass


        @property
        def crc_input(self):
            """From the magic byte to the end of the message."""
            if hasattr(self, '_m_crc_input'):
                return self._m_crc_input

            _pos = self._io.pos()
            self._io.seek(4)
            self._m_crc_input = self._io.read_bytes_full()
            self._io.seek(_pos)
            return getattr(self, '_m_crc_input', None)



