# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import kafka_records
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaRecordBatch(KaitaiStruct):
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
    def __init__(self, _io, _parent=None, _root=None):
        super(KafkaRecordBatch, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.base_offset = self._io.read_s8be()
        self.len_body = self._io.read_s4be()
        if not self.len_body >= 49:
            raise kaitaistruct.ValidationLessThanError(49, self.len_body, self._io, u"/seq/1")
        self._raw_body = self._io.read_bytes(self.len_body)
        _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
        self.body = KafkaRecordBatch.Body(_io__raw_body, self, self._root)


    def _fetch_instances(self):
        pass
        self.body._fetch_instances()

    class Attributes(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaRecordBatch.Attributes, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.unused = self._io.read_bits_int_be(9)
            self.has_delete_horizon = self._io.read_bits_int_be(1) != 0
            self.is_control = self._io.read_bits_int_be(1) != 0
            self.is_transactional = self._io.read_bits_int_be(1) != 0
            self.timestamp_type = KaitaiStream.resolve_enum(KafkaRecordBatch.TimestampType, self._io.read_bits_int_be(1))
            self.compression = KaitaiStream.resolve_enum(KafkaRecordBatch.Compression, self._io.read_bits_int_be(3))
            if not isinstance(self.compression, KafkaRecordBatch.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, self._io, u"/types/attributes/seq/5")


        def _fetch_instances(self):
            pass


    class Body(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaRecordBatch.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.partition_leader_epoch = self._io.read_s4be()
            self.magic = self._io.read_s1()
            if not self.magic == 2:
                raise kaitaistruct.ValidationNotEqualError(2, self.magic, self._io, u"/types/body/seq/1")
            self.crc = self._io.read_u4be()
            self.attributes = KafkaRecordBatch.Attributes(self._io, self, self._root)
            self.last_offset_delta = self._io.read_s4be()
            if not self.last_offset_delta >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.last_offset_delta, self._io, u"/types/body/seq/4")
            self.base_timestamp = self._io.read_s8be()
            self.max_timestamp = self._io.read_s8be()
            self.producer_id = self._io.read_s8be()
            self.producer_epoch = self._io.read_s2be()
            self.base_sequence = self._io.read_s4be()
            self.num_records = self._io.read_s4be()
            if not self.num_records >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.num_records, self._io, u"/types/body/seq/10")
            self.records = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.attributes._fetch_instances()
            _ = self.crc_input
            if hasattr(self, '_m_crc_input'):
                pass

            _ = self.uncompressed_records
            if hasattr(self, '_m_uncompressed_records'):
                pass
                self._m_uncompressed_records._fetch_instances()


        @property
        def crc_input(self):
            """From the attributes to the end of the batch."""
            if hasattr(self, '_m_crc_input'):
                return self._m_crc_input

            _pos = self._io.pos()
            self._io.seek(9)
            self._m_crc_input = self._io.read_bytes_full()
            self._io.seek(_pos)
            return getattr(self, '_m_crc_input', None)

        @property
        def uncompressed_records(self):
            """The records, where no codec stands before them."""
            if hasattr(self, '_m_uncompressed_records'):
                return self._m_uncompressed_records

            if self.attributes.compression == KafkaRecordBatch.Compression.none:
                pass
                _pos = self._io.pos()
                self._io.seek(49)
                self._raw__m_uncompressed_records = self._io.read_bytes_full()
                _io__raw__m_uncompressed_records = KaitaiStream(BytesIO(self._raw__m_uncompressed_records))
                self._m_uncompressed_records = kafka_records.KafkaRecords(self.num_records, _io__raw__m_uncompressed_records)
                self._io.seek(_pos)

            return getattr(self, '_m_uncompressed_records', None)



