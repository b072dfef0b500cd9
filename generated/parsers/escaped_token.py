# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class EscapedToken(KaitaiStruct):
    """Bytes up to an unescaped terminator. A backslash makes the byte after it
    literal. Writers escape the backslash, the space and the line feed and nothing
    else; both Aerospike readers take any byte after a backslash.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#meta-data-section
    """
    def __init__(self, terminator, _io, _parent=None, _root=None):
        super(EscapedToken, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.terminator = terminator
        self._read()

    def _read(self):
        self.chars = []
        i = 0
        while True:
            _ = EscapedToken.Char(self._io, self, self._root)
            self.chars.append(_)
            if  (((not (_.is_escape))) and (_.byte == self.terminator)) :
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.chars)):
            pass
            self.chars[i]._fetch_instances()


    class Char(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(EscapedToken.Char, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.byte = self._io.read_u1()
            if self.is_escape:
                pass
                self.literal = self._io.read_u1()



        def _fetch_instances(self):
            pass
            if self.is_escape:
                pass


        @property
        def is_escape(self):
            if hasattr(self, '_m_is_escape'):
                return self._m_is_escape

            self._m_is_escape = self.byte == 92
            return getattr(self, '_m_is_escape', None)



