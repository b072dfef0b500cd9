# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaControlKey(ReadWriteKaitaiStruct):
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
    SEQ_FIELDS = ["version", "control_type", "unknown"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(KafkaControlKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_s2be()
        self._debug['version']['end'] = self._io.pos()
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, self._io, u"/seq/0")
        self._debug['control_type']['start'] = self._io.pos()
        self.control_type = KaitaiStream.resolve_enum(KafkaControlKey.ControlType, self._io.read_s2be())
        self._debug['control_type']['end'] = self._io.pos()
        self._debug['unknown']['start'] = self._io.pos()
        self.unknown = self._io.read_bytes_full()
        self._debug['unknown']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass


    def _write__seq(self, io=None):
        super(KafkaControlKey, self)._write__seq(io)
        self._io.write_s2be(self.version)
        self._io.write_s2be(int(self.control_type))
        self._io.write_bytes(self.unknown)
        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"unknown", 0, self._io.size() - self._io.pos())


    def _check(self):
        if not self.version >= 0:
            raise kaitaistruct.ValidationLessThanError(0, self.version, None, u"/seq/0")
        self._dirty = False


