# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbfFrame(KaitaiStruct):
    """FrameBytes: one record with its length at both ends, so that a reader can walk
    the file in either direction. The fences around it are not part of it
    (`rbf_file`).
    
    .. seealso::
       Source - https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(RbfFrame, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.len_frame = self._io.read_u4le()
        _ = self.len_frame
        if not  ((_ >= 20) and (_ % 4 == 0)) :
            raise kaitaistruct.ValidationExprError(self.len_frame, self._io, u"/seq/0")
        self._raw_body = self._io.read_bytes(self.len_frame - 4)
        _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
        self.body = RbfFrame.Body(_io__raw_body, self, self._root)


    def _fetch_instances(self):
        pass
        self.body._fetch_instances()

    class Body(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(RbfFrame.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.frame_tag = self._io.read_u4le()
            self.payload = self._io.read_bytes(self.len_payload)
            self.status = []
            for i in range(self.num_status):
                self.status.append(RbfFrame.FrameStatus(self._io, self, self._root))
                _ = self.status[i]
                if not  ((_.is_tombstone == self.last_status.is_tombstone) and (_.num_status_minus_1 == self.last_status.num_status_minus_1)) :
                    raise kaitaistruct.ValidationExprError(self.status[i], self._io, u"/types/body/seq/2")

            self.len_tail = self._io.read_u4le()
            if not self.len_tail == self._parent.len_frame:
                raise kaitaistruct.ValidationNotEqualError(self._parent.len_frame, self.len_tail, self._io, u"/types/body/seq/3")
            self.crc32c = self._io.read_u4le()


        def _fetch_instances(self):
            pass
            for i in range(len(self.status)):
                pass
                self.status[i]._fetch_instances()

            _ = self.crc32c_input
            if hasattr(self, '_m_crc32c_input'):
                pass

            _ = self.last_status
            if hasattr(self, '_m_last_status'):
                pass
                self._m_last_status._fetch_instances()


        @property
        def crc32c_input(self):
            """FrameTag, Payload, FrameStatus and TailLen [F-CRC32C-COVERAGE]."""
            if hasattr(self, '_m_crc32c_input'):
                return self._m_crc32c_input

            _pos = self._io.pos()
            self._io.seek(0)
            self._m_crc32c_input = self._io.read_bytes(self._io.size() - 4)
            self._io.seek(_pos)
            return getattr(self, '_m_crc32c_input', None)

        @property
        def last_status(self):
            """Last byte of FrameStatus. It tells how long the status is and so where
            the payload ends [F-STATUSLEN-REVERSE-FORMULA].
            """
            if hasattr(self, '_m_last_status'):
                return self._m_last_status

            _pos = self._io.pos()
            self._io.seek(self._io.size() - 9)
            self._m_last_status = RbfFrame.FrameStatus(self._io, self, self._root)
            self._io.seek(_pos)
            return getattr(self, '_m_last_status', None)

        @property
        def len_payload(self):
            if hasattr(self, '_m_len_payload'):
                return self._m_len_payload

            self._m_len_payload = (self._io.size() - 12) - self.num_status
            return getattr(self, '_m_len_payload', None)

        @property
        def num_status(self):
            if hasattr(self, '_m_num_status'):
                return self._m_num_status

            self._m_num_status = self.last_status.num_status_minus_1 + 1
            return getattr(self, '_m_num_status', None)


    class FrameStatus(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(RbfFrame.FrameStatus, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.is_tombstone = self._io.read_bits_int_be(1) != 0
            self.reserved = self._io.read_bits_int_be(5)
            if not self.reserved == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.reserved, self._io, u"/types/frame_status/seq/1")
            self.num_status_minus_1 = self._io.read_bits_int_be(2)


        def _fetch_instances(self):
            pass



