# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbfFrame(ReadWriteKaitaiStruct):
    """FrameBytes: one record with its length at both ends, so that a reader can walk
    the file in either direction. The fences around it are not part of it
    (`rbf_file`).
    
    .. seealso::
       Source - https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
    """
    SEQ_FIELDS = ["len_frame", "body"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(RbfFrame, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['len_frame']['start'] = self._io.pos()
        self.len_frame = self._io.read_u4le()
        self._debug['len_frame']['end'] = self._io.pos()
        _ = self.len_frame
        if not  ((_ >= 20) and (_ % 4 == 0)) :
            raise kaitaistruct.ValidationExprError(self.len_frame, self._io, u"/seq/0")
        self._debug['body']['start'] = self._io.pos()
        self._raw_body = self._io.read_bytes(self.len_frame - 4)
        _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
        self.body = RbfFrame.Body(_io__raw_body, self, self._root)
        self.body._read()
        self._debug['body']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.body._fetch_instances()


    def _write__seq(self, io=None):
        super(RbfFrame, self)._write__seq(io)
        self._io.write_u4le(self.len_frame)
        _io__raw_body = KaitaiStream(BytesIO(bytearray(self.len_frame - 4)))
        self._io.add_child_stream(_io__raw_body)
        _pos2 = self._io.pos()
        self._io.seek(self._io.pos() + (self.len_frame - 4))
        def handler(parent, _io__raw_body=_io__raw_body):
            self._raw_body = _io__raw_body.to_byte_array()
            if len(self._raw_body) != self.len_frame - 4:
                raise kaitaistruct.ConsistencyError(u"raw(body)", self.len_frame - 4, len(self._raw_body))
            parent.write_bytes(self._raw_body)
        _io__raw_body.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
        self.body._write__seq(_io__raw_body)


    def _check(self):
        _ = self.len_frame
        if not  ((_ >= 20) and (_ % 4 == 0)) :
            raise kaitaistruct.ValidationExprError(self.len_frame, None, u"/seq/0")
        if self.body._root != self._root:
            raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
        if self.body._parent != self:
            raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        self._dirty = False

    class Body(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["frame_tag", "payload", "status", "len_tail", "crc32c"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(RbfFrame.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)
            self._should_write_last_status = False
            self.last_status__enabled = True

        def _read(self):
            self._debug['frame_tag']['start'] = self._io.pos()
            self.frame_tag = self._io.read_u4le()
            self._debug['frame_tag']['end'] = self._io.pos()
            self._debug['payload']['start'] = self._io.pos()
            self.payload = self._io.read_bytes(self.len_payload)
            self._debug['payload']['end'] = self._io.pos()
            self._debug['status']['start'] = self._io.pos()
            self._debug['status']['arr'] = []
            self.status = []
            for i in range(self.num_status):
                self._debug['status']['arr'].append({'start': self._io.pos()})
                _t_status = RbfFrame.FrameStatus(self._io, self, self._root)
                try:
                    _t_status._read()
                finally:
                    self.status.append(_t_status)
                self._debug['status']['arr'][i]['end'] = self._io.pos()
                _ = self.status[i]
                if not  ((_.is_tombstone == self.last_status.is_tombstone) and (_.num_status_minus_1 == self.last_status.num_status_minus_1)) :
                    raise kaitaistruct.ValidationExprError(self.status[i], self._io, u"/types/body/seq/2")

            self._debug['status']['end'] = self._io.pos()
            self._debug['len_tail']['start'] = self._io.pos()
            self.len_tail = self._io.read_u4le()
            self._debug['len_tail']['end'] = self._io.pos()
            if not self.len_tail == self._parent.len_frame:
                raise kaitaistruct.ValidationNotEqualError(self._parent.len_frame, self.len_tail, self._io, u"/types/body/seq/3")
            self._debug['crc32c']['start'] = self._io.pos()
            self.crc32c = self._io.read_u4le()
            self._debug['crc32c']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            for i in range(len(self.status)):
                pass
                self.status[i]._fetch_instances()

            _ = self.last_status
            if hasattr(self, '_m_last_status'):
                pass
                self._m_last_status._fetch_instances()



        def _write__seq(self, io=None):
            super(RbfFrame.Body, self)._write__seq(io)
            self._should_write_last_status = self.last_status__enabled
            self._io.write_u4le(self.frame_tag)
            if len(self.payload) != self.len_payload:
                raise kaitaistruct.ConsistencyError(u"payload", self.len_payload, len(self.payload))
            self._io.write_bytes(self.payload)
            if len(self.status) != self.num_status:
                raise kaitaistruct.ConsistencyError(u"status", self.num_status, len(self.status))
            for i in range(len(self.status)):
                pass
                self.status[i]._write__seq(self._io)

            self._io.write_u4le(self.len_tail)
            self._io.write_u4le(self.crc32c)


        def _check(self):
            for i in range(len(self.status)):
                pass
                if self.status[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"status", self._root, self.status[i]._root)
                if self.status[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"status", self, self.status[i]._parent)

            if not self.len_tail == self._parent.len_frame:
                raise kaitaistruct.ValidationNotEqualError(self._parent.len_frame, self.len_tail, None, u"/types/body/seq/3")
            if self.last_status__enabled:
                pass
                if self._m_last_status._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"last_status", self._root, self._m_last_status._root)
                if self._m_last_status._parent != self:
                    raise kaitaistruct.ConsistencyError(u"last_status", self, self._m_last_status._parent)

            self._dirty = False

        @property
        def last_status(self):
            """Last byte of FrameStatus. It tells how long the status is and so where
            the payload ends [F-STATUSLEN-REVERSE-FORMULA].
            """
            if self._should_write_last_status:
                self._write_last_status()
            if hasattr(self, '_m_last_status'):
                return self._m_last_status

            if not self.last_status__enabled:
                return None

            _pos = self._io.pos()
            self._io.seek(self._io.size() - 9)
            self._debug['_m_last_status']['start'] = self._io.pos()
            self._m_last_status = RbfFrame.FrameStatus(self._io, self, self._root)
            self._m_last_status._read()
            self._debug['_m_last_status']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_last_status', None)

        @last_status.setter
        def last_status(self, v):
            self._dirty = True
            self._m_last_status = v

        def _write_last_status(self):
            self._should_write_last_status = False
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 9)
            self._m_last_status._write__seq(self._io)
            self._io.seek(_pos)

        @property
        def len_payload(self):
            if hasattr(self, '_m_len_payload'):
                return self._m_len_payload

            self._m_len_payload = (self._io.size() - 12) - self.num_status
            return getattr(self, '_m_len_payload', None)

        def _invalidate_len_payload(self):
            del self._m_len_payload
        @property
        def num_status(self):
            if hasattr(self, '_m_num_status'):
                return self._m_num_status

            self._m_num_status = self.last_status.num_status_minus_1 + 1
            return getattr(self, '_m_num_status', None)

        def _invalidate_num_status(self):
            del self._m_num_status

    class FrameStatus(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["is_tombstone", "reserved", "num_status_minus_1"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(RbfFrame.FrameStatus, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['is_tombstone']['start'] = self._io.pos()
            self.is_tombstone = self._io.read_bits_int_be(1) != 0
            self._debug['is_tombstone']['end'] = self._io.pos()
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_bits_int_be(5)
            self._debug['reserved']['end'] = self._io.pos()
            if not self.reserved == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.reserved, self._io, u"/types/frame_status/seq/1")
            self._debug['num_status_minus_1']['start'] = self._io.pos()
            self.num_status_minus_1 = self._io.read_bits_int_be(2)
            self._debug['num_status_minus_1']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(RbfFrame.FrameStatus, self)._write__seq(io)
            self._io.write_bits_int_be(1, int(self.is_tombstone))
            self._io.write_bits_int_be(5, self.reserved)
            self._io.write_bits_int_be(2, self.num_status_minus_1)


        def _check(self):
            if not self.reserved == 0:
                raise kaitaistruct.ValidationNotEqualError(0, self.reserved, None, u"/types/frame_status/seq/1")
            self._dirty = False



