# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import kafka_control_key


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaControlValue(KaitaiStruct):
    """What a marker says. Transaction markers carry the coordinator's epoch; the
    other kinds are messages of Kafka's own protocol that begin with a version.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/EndTransactionMarker.java
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

        self.message = self._io.read_bytes_full()


    def _fetch_instances(self):
        pass
        if self.is_transaction_marker:
            pass


    @property
    def is_transaction_marker(self):
        if hasattr(self, '_m_is_transaction_marker'):
            return self._m_is_transaction_marker

        self._m_is_transaction_marker =  ((self.control_type == kafka_control_key.KafkaControlKey.ControlType.abort) or (self.control_type == kafka_control_key.KafkaControlKey.ControlType.commit)) 
        return getattr(self, '_m_is_transaction_marker', None)


