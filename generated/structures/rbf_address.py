# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbfAddress(ReadWriteKaitaiStruct):
    """File offset of a frame's HeadLen field, as upper layers store it in payloads.
    
    .. seealso::
       Source - https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
    """
    SEQ_FIELDS = ["offset"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(RbfAddress, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['offset']['start'] = self._io.pos()
        self.offset = self._io.read_u8le()
        self._debug['offset']['end'] = self._io.pos()
        _ = self.offset
        if not _ % 4 == 0:
            raise kaitaistruct.ValidationExprError(self.offset, self._io, u"/seq/0")
        self._dirty = False


    def _fetch_instances(self):
        pass


    def _write__seq(self, io=None):
        super(RbfAddress, self)._write__seq(io)
        self._io.write_u8le(self.offset)


    def _check(self):
        _ = self.offset
        if not _ % 4 == 0:
            raise kaitaistruct.ValidationExprError(self.offset, None, u"/seq/0")
        self._dirty = False

    @property
    def is_null(self):
        if hasattr(self, '_m_is_null'):
            return self._m_is_null

        self._m_is_null = self.offset == 0
        return getattr(self, '_m_is_null', None)

    def _invalidate_is_null(self):
        del self._m_is_null

