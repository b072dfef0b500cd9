# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaControlKey(KaitaiStruct):
    """What kind of marker a control record is. Consumers skip kinds they do not
    know, so the enum is open.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/ControlRecordType.java
    """

    class ControlType(IntEnum):
        abort = 0
        commit = 1
        leader_change = 2
        snapshot_header = 3
        snapshot_footer = 4
        kraft_version = 5
        kraft_voters = 6
    def __init__(self, _io, _parent=None, _root=None):
        super(KafkaControlKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.version = self._io.read_s2be()
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, self._io, u"/seq/0")
        self.control_type = KaitaiStream.resolve_enum(KafkaControlKey.ControlType, self._io.read_s2be())
        self.unknown = self._io.read_bytes_full()


    def _fetch_instances(self):
        pass


