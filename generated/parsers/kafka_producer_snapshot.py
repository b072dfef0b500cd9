# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaProducerSnapshot(KaitaiStruct):
    """State of the producers at the offset that names the file.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/ProducerStateManager.java
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(KafkaProducerSnapshot, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.version = self._io.read_s2be()
        if not self.version == 1:
            raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/seq/0")
        self.crc = self._io.read_u4be()
        self.num_producers = self._io.read_s4be()
        if not self.num_producers >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.num_producers, self._io, u"/seq/2")
        self.producers = []
        for i in range(self.num_producers):
            self.producers.append(KafkaProducerSnapshot.Producer(self._io, self, self._root))

        self.end_of_producers = self._io.read_bytes(0)
        _ = self.end_of_producers
        if not self._io.is_eof():
            raise kaitaistruct.ValidationExprError(self.end_of_producers, self._io, u"/seq/4")


    def _fetch_instances(self):
        pass
        for i in range(len(self.producers)):
            pass
            self.producers[i]._fetch_instances()

        _ = self.crc_input
        if hasattr(self, '_m_crc_input'):
            pass


    class Producer(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaProducerSnapshot.Producer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.producer_id = self._io.read_s8be()
            self.producer_epoch = self._io.read_s2be()
            self.last_sequence = self._io.read_s4be()
            self.last_offset = self._io.read_s8be()
            self.offset_delta = self._io.read_s4be()
            self.timestamp = self._io.read_s8be()
            self.coordinator_epoch = self._io.read_s4be()
            self.current_txn_first_offset = self._io.read_s8be()


        def _fetch_instances(self):
            pass


    @property
    def crc_input(self):
        """From the count to the end of the file."""
        if hasattr(self, '_m_crc_input'):
            return self._m_crc_input

        _pos = self._io.pos()
        self._io.seek(6)
        self._m_crc_input = self._io.read_bytes_full()
        self._io.seek(_pos)
        return getattr(self, '_m_crc_input', None)


