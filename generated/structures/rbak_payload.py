# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbakPayload(ReadWriteKaitaiStruct):
    """Length-prefixed JSON documents back to back, one for each backed-up message.
    
    .. seealso::
       Source - https://rabbitmqbackup.com/architecture/segment-format
    """
    SEQ_FIELDS = ["records"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(RbakPayload, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['records']['start'] = self._io.pos()
        self._debug['records']['arr'] = []
        self.records = []
        i = 0
        while not self._io.is_eof():
            self._debug['records']['arr'].append({'start': self._io.pos()})
            _t_records = RbakPayload.Record(self._io, self, self._root)
            try:
                _t_records._read()
            finally:
                self.records.append(_t_records)
            self._debug['records']['arr'][len(self.records) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['records']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.records)):
            pass
            self.records[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(RbakPayload, self)._write__seq(io)
        for i in range(len(self.records)):
            pass
            if self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"records", 0, self._io.size() - self._io.pos())
            self.records[i]._write__seq(self._io)

        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"records", 0, self._io.size() - self._io.pos())


    def _check(self):
        for i in range(len(self.records)):
            pass
            if self.records[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"records", self._root, self.records[i]._root)
            if self.records[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"records", self, self.records[i]._parent)

        self._dirty = False

    class Record(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_json", "json"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(RbakPayload.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_json']['start'] = self._io.pos()
            self.len_json = self._io.read_u4le()
            self._debug['len_json']['end'] = self._io.pos()
            self._debug['json']['start'] = self._io.pos()
            self.json = self._io.read_bytes(self.len_json)
            self._debug['json']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(RbakPayload.Record, self)._write__seq(io)
            self._io.write_u4le(self.len_json)
            self._io.write_bytes(self.json)


        def _check(self):
            if len(self.json) != self.len_json:
                raise kaitaistruct.ConsistencyError(u"json", self.len_json, len(self.json))
            self._dirty = False



