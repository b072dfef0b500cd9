# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class EscapedToken(ReadWriteKaitaiStruct):
    """Bytes up to an unescaped terminator. A backslash makes the byte after it
    literal. Writers escape the backslash, the space and the line feed and nothing
    else; both Aerospike readers take any byte after a backslash.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#meta-data-section
    """
    SEQ_FIELDS = ["chars"]
    def __init__(self, terminator, _io=None, _parent=None, _root=None):
        super(EscapedToken, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.terminator = terminator
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['chars']['start'] = self._io.pos()
        self._debug['chars']['arr'] = []
        self.chars = []
        i = 0
        while True:
            self._debug['chars']['arr'].append({'start': self._io.pos()})
            _t_chars = EscapedToken.Char(self._io, self, self._root)
            try:
                _t_chars._read()
            finally:
                _ = _t_chars
                self.chars.append(_)
            self._debug['chars']['arr'][len(self.chars) - 1]['end'] = self._io.pos()
            if  (((not (_.is_escape))) and (_.byte == self.terminator)) :
                break
            i += 1
        self._debug['chars']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.chars)):
            pass
            self.chars[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(EscapedToken, self)._write__seq(io)
        for i in range(len(self.chars)):
            pass
            self.chars[i]._write__seq(self._io)



    def _check(self):
        if len(self.chars) == 0:
            raise kaitaistruct.ConsistencyError(u"chars", 0, len(self.chars))
        for i in range(len(self.chars)):
            pass
            if self.chars[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"chars", self._root, self.chars[i]._root)
            if self.chars[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"chars", self, self.chars[i]._parent)
            _ = self.chars[i]
            if  (((not (_.is_escape))) and (_.byte == self.terminator))  != (i == len(self.chars) - 1):
                raise kaitaistruct.ConsistencyError(u"chars", i == len(self.chars) - 1,  (((not (_.is_escape))) and (_.byte == self.terminator)) )

        self._dirty = False

    class Char(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["byte", "literal"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(EscapedToken.Char, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['byte']['start'] = self._io.pos()
            self.byte = self._io.read_u1()
            self._debug['byte']['end'] = self._io.pos()
            if self.is_escape:
                pass
                self._debug['literal']['start'] = self._io.pos()
                self.literal = self._io.read_u1()
                self._debug['literal']['end'] = self._io.pos()

            self._dirty = False


        def _fetch_instances(self):
            pass
            if self.is_escape:
                pass



        def _write__seq(self, io=None):
            super(EscapedToken.Char, self)._write__seq(io)
            self._io.write_u1(self.byte)
            if self.is_escape:
                pass
                self._io.write_u1(self.literal)



        def _check(self):
            if self.is_escape:
                pass

            self._dirty = False

        @property
        def is_escape(self):
            if hasattr(self, '_m_is_escape'):
                return self._m_is_escape

            self._m_is_escape = self.byte == 92
            return getattr(self, '_m_is_escape', None)

        def _invalidate_is_escape(self):
            del self._m_is_escape


