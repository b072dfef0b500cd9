# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import kafka_control_key
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaControlValue(ReadWriteKaitaiStruct):
    """What a marker says. Transaction markers carry the coordinator's epoch; the
    other kinds are messages of Kafka's own protocol that begin with a version.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/EndTransactionMarker.java
    """
    SEQ_FIELDS = ["version", "coordinator_epoch", "message"]
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

        self._debug['message']['start'] = self._io.pos()
        self.message = self._io.read_bytes_full()
        self._debug['message']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        if self.is_transaction_marker:
            pass



    def _write__seq(self, io=None):
        super(KafkaControlValue, self)._write__seq(io)
        self._io.write_s2be(self.version)
        if self.is_transaction_marker:
            pass
            self._io.write_s4be(self.coordinator_epoch)

        self._io.write_bytes(self.message)
        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"message", 0, self._io.size() - self._io.pos())


    def _check(self):
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, None, u"/seq/0")
        if self.is_transaction_marker:
            pass

        self._dirty = False

    @property
    def is_transaction_marker(self):
        if hasattr(self, '_m_is_transaction_marker'):
            return self._m_is_transaction_marker

        self._m_is_transaction_marker =  ((self.control_type == kafka_control_key.KafkaControlKey.ControlType.abort) or (self.control_type == kafka_control_key.KafkaControlKey.ControlType.commit)) 
        return getattr(self, '_m_is_transaction_marker', None)

    def _invalidate_is_transaction_marker(self):
        del self._m_is_transaction_marker

