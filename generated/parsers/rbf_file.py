# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import rbf_frame


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbfFile(KaitaiStruct):
    """The genesis fence, then frames, each followed by a fence. A sound file reads
    like this; the reverse scan that the format defines, with its way past damage,
    is handwritten code.
    
    .. seealso::
       Source - https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(RbfFile, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.genesis = self._io.read_bytes(4)
        if not self.genesis == b"\x52\x42\x46\x31":
            raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x46\x31", self.genesis, self._io, u"/seq/0")
        self.entries = []
        i = 0
        while not self._io.is_eof():
            self.entries.append(RbfFile.Entry(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()


    class Entry(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(RbfFile.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.frame = rbf_frame.RbfFrame(self._io)
            self.fence = self._io.read_bytes(4)
            if not self.fence == b"\x52\x42\x46\x31":
                raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x46\x31", self.fence, self._io, u"/types/entry/seq/1")


        def _fetch_instances(self):
            pass
            self.frame._fetch_instances()



