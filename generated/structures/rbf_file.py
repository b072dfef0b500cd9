# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import rbf_frame
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbfFile(ReadWriteKaitaiStruct):
    """The genesis fence, then frames, each followed by a fence. A sound file reads
    like this; the reverse scan that the format defines, with its way past damage,
    is handwritten code.
    
    .. seealso::
       Source - https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
    """
    SEQ_FIELDS = ["genesis", "entries"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(RbfFile, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['genesis']['start'] = self._io.pos()
        self.genesis = self._io.read_bytes(4)
        self._debug['genesis']['end'] = self._io.pos()
        if not self.genesis == b"\x52\x42\x46\x31":
            raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x46\x31", self.genesis, self._io, u"/seq/0")
        self._debug['entries']['start'] = self._io.pos()
        self._debug['entries']['arr'] = []
        self.entries = []
        i = 0
        while not self._io.is_eof():
            self._debug['entries']['arr'].append({'start': self._io.pos()})
            _t_entries = RbfFile.Entry(self._io, self, self._root)
            try:
                _t_entries._read()
            finally:
                self.entries.append(_t_entries)
            self._debug['entries']['arr'][len(self.entries) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['entries']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(RbfFile, self)._write__seq(io)
        self._io.write_bytes(self.genesis)
        for i in range(len(self.entries)):
            pass
            if self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"entries", 0, self._io.size() - self._io.pos())
            self.entries[i]._write__seq(self._io)

        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"entries", 0, self._io.size() - self._io.pos())


    def _check(self):
        if len(self.genesis) != 4:
            raise kaitaistruct.ConsistencyError(u"genesis", 4, len(self.genesis))
        if not self.genesis == b"\x52\x42\x46\x31":
            raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x46\x31", self.genesis, None, u"/seq/0")
        for i in range(len(self.entries)):
            pass
            if self.entries[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"entries", self._root, self.entries[i]._root)
            if self.entries[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"entries", self, self.entries[i]._parent)

        self._dirty = False

    class Entry(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["frame", "fence"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(RbfFile.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['frame']['start'] = self._io.pos()
            self.frame = rbf_frame.RbfFrame(self._io)
            self.frame._read()
            self._debug['frame']['end'] = self._io.pos()
            self._debug['fence']['start'] = self._io.pos()
            self.fence = self._io.read_bytes(4)
            self._debug['fence']['end'] = self._io.pos()
            if not self.fence == b"\x52\x42\x46\x31":
                raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x46\x31", self.fence, self._io, u"/types/entry/seq/1")
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.frame._fetch_instances()


        def _write__seq(self, io=None):
            super(RbfFile.Entry, self)._write__seq(io)
            self.frame._write__seq(self._io)
            self._io.write_bytes(self.fence)


        def _check(self):
            if len(self.fence) != 4:
                raise kaitaistruct.ConsistencyError(u"fence", 4, len(self.fence))
            if not self.fence == b"\x52\x42\x46\x31":
                raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x46\x31", self.fence, None, u"/types/entry/seq/1")
            self._dirty = False



