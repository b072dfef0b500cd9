# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaProducerSnapshot(ReadWriteKaitaiStruct):
    """State of the producers at the offset that names the file.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/storage/src/main/java/org/apache/kafka/storage/internals/log/ProducerStateManager.java
    """
    SEQ_FIELDS = ["version", "crc", "num_producers", "producers", "end_of_producers"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(KafkaProducerSnapshot, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_s2be()
        self._debug['version']['end'] = self._io.pos()
        if not self.version == 1:
            raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/seq/0")
        self._debug['crc']['start'] = self._io.pos()
        self.crc = self._io.read_u4be()
        self._debug['crc']['end'] = self._io.pos()
        self._debug['num_producers']['start'] = self._io.pos()
        self.num_producers = self._io.read_s4be()
        self._debug['num_producers']['end'] = self._io.pos()
        if not self.num_producers >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.num_producers, self._io, u"/seq/2")
        self._debug['producers']['start'] = self._io.pos()
        self._debug['producers']['arr'] = []
        self.producers = []
        for i in range(self.num_producers):
            self._debug['producers']['arr'].append({'start': self._io.pos()})
            _t_producers = KafkaProducerSnapshot.Producer(self._io, self, self._root)
            try:
                _t_producers._read()
            finally:
                self.producers.append(_t_producers)
            self._debug['producers']['arr'][i]['end'] = self._io.pos()

        self._debug['producers']['end'] = self._io.pos()
        self._debug['end_of_producers']['start'] = self._io.pos()
        self.end_of_producers = self._io.read_bytes(0)
        self._debug['end_of_producers']['end'] = self._io.pos()
        _ = self.end_of_producers
        if not self._io.is_eof():
            raise kaitaistruct.ValidationExprError(self.end_of_producers, self._io, u"/seq/4")
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.producers)):
            pass
            self.producers[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(KafkaProducerSnapshot, self)._write__seq(io)
        self._io.write_s2be(self.version)
        self._io.write_u4be(self.crc)
        self._io.write_s4be(self.num_producers)
        for i in range(len(self.producers)):
            pass
            self.producers[i]._write__seq(self._io)

        self._io.write_bytes(self.end_of_producers)


    def _check(self):
        if not self.version == 1:
            raise kaitaistruct.ValidationNotEqualError(1, self.version, None, u"/seq/0")
        if not self.num_producers >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.num_producers, None, u"/seq/2")
        if len(self.producers) != self.num_producers:
            raise kaitaistruct.ConsistencyError(u"producers", self.num_producers, len(self.producers))
        for i in range(len(self.producers)):
            pass
            if self.producers[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"producers", self._root, self.producers[i]._root)
            if self.producers[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"producers", self, self.producers[i]._parent)

        if len(self.end_of_producers) != 0:
            raise kaitaistruct.ConsistencyError(u"end_of_producers", 0, len(self.end_of_producers))
        self._dirty = False

    class Producer(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["producer_id", "producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch", "current_txn_first_offset"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaProducerSnapshot.Producer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['producer_id']['start'] = self._io.pos()
            self.producer_id = self._io.read_s8be()
            self._debug['producer_id']['end'] = self._io.pos()
            self._debug['producer_epoch']['start'] = self._io.pos()
            self.producer_epoch = self._io.read_s2be()
            self._debug['producer_epoch']['end'] = self._io.pos()
            self._debug['last_sequence']['start'] = self._io.pos()
            self.last_sequence = self._io.read_s4be()
            self._debug['last_sequence']['end'] = self._io.pos()
            self._debug['last_offset']['start'] = self._io.pos()
            self.last_offset = self._io.read_s8be()
            self._debug['last_offset']['end'] = self._io.pos()
            self._debug['offset_delta']['start'] = self._io.pos()
            self.offset_delta = self._io.read_s4be()
            self._debug['offset_delta']['end'] = self._io.pos()
            self._debug['timestamp']['start'] = self._io.pos()
            self.timestamp = self._io.read_s8be()
            self._debug['timestamp']['end'] = self._io.pos()
            self._debug['coordinator_epoch']['start'] = self._io.pos()
            self.coordinator_epoch = self._io.read_s4be()
            self._debug['coordinator_epoch']['end'] = self._io.pos()
            self._debug['current_txn_first_offset']['start'] = self._io.pos()
            self.current_txn_first_offset = self._io.read_s8be()
            self._debug['current_txn_first_offset']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(KafkaProducerSnapshot.Producer, self)._write__seq(io)
            self._io.write_s8be(self.producer_id)
            self._io.write_s2be(self.producer_epoch)
            self._io.write_s4be(self.last_sequence)
            self._io.write_s8be(self.last_offset)
            self._io.write_s4be(self.offset_delta)
            self._io.write_s8be(self.timestamp)
            self._io.write_s4be(self.coordinator_epoch)
            self._io.write_s8be(self.current_txn_first_offset)


        def _check(self):
            self._dirty = False



