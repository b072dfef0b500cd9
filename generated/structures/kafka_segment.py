# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import kafka_message
from thawline.generated.structures import kafka_record_batch
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaSegment(ReadWriteKaitaiStruct):
    """Batches and messages back to back, of any mix of versions: length at byte 8
    and magic at byte 16 are common to all of them.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/FileLogInputStream.java
    """
    SEQ_FIELDS = ["entries"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(KafkaSegment, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['entries']['start'] = self._io.pos()
        self._debug['entries']['arr'] = []
        self.entries = []
        i = 0
        while not self._io.is_eof():
            self._debug['entries']['arr'].append({'start': self._io.pos()})
            _t_entries = KafkaSegment.Entry(self._io.pos(), self._io, self, self._root)
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
        super(KafkaSegment, self)._write__seq(io)
        for i in range(len(self.entries)):
            pass
            if self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"entries", 0, self._io.size() - self._io.pos())
            if self.entries[i].ofs_entry != self._io.pos():
                raise kaitaistruct.ConsistencyError(u"entries", self._io.pos(), self.entries[i].ofs_entry)
            self.entries[i]._write__seq(self._io)

        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"entries", 0, self._io.size() - self._io.pos())


    def _check(self):
        for i in range(len(self.entries)):
            pass
            if self.entries[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"entries", self._root, self.entries[i]._root)
            if self.entries[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"entries", self, self.entries[i]._parent)

        self._dirty = False

    class Entry(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["unit"]
        def __init__(self, ofs_entry, _io=None, _parent=None, _root=None):
            super(KafkaSegment.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_entry = ofs_entry
            self._debug = collections.defaultdict(dict)
            self._should_write_magic = False
            self.magic__enabled = True

        def _read(self):
            self._debug['unit']['start'] = self._io.pos()
            _on = self.magic
            if _on == 0:
                pass
                self.unit = kafka_message.KafkaMessage(self._io)
                self.unit._read()
            elif _on == 1:
                pass
                self.unit = kafka_message.KafkaMessage(self._io)
                self.unit._read()
            else:
                pass
                self.unit = kafka_record_batch.KafkaRecordBatch(self._io)
                self.unit._read()
            self._debug['unit']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            _on = self.magic
            if _on == 0:
                pass
                self.unit._fetch_instances()
            elif _on == 1:
                pass
                self.unit._fetch_instances()
            else:
                pass
                self.unit._fetch_instances()
            _ = self.magic
            if hasattr(self, '_m_magic'):
                pass



        def _write__seq(self, io=None):
            super(KafkaSegment.Entry, self)._write__seq(io)
            self._should_write_magic = self.magic__enabled
            _on = self.magic
            if _on == 0:
                pass
                self.unit._write__seq(self._io)
            elif _on == 1:
                pass
                self.unit._write__seq(self._io)
            else:
                pass
                self.unit._write__seq(self._io)


        def _check(self):
            if self.magic__enabled:
                pass

            self._dirty = False

        @property
        def magic(self):
            """The unit's own magic, read ahead of it."""
            if self._should_write_magic:
                self._write_magic()
            if hasattr(self, '_m_magic'):
                return self._m_magic

            if not self.magic__enabled:
                return None

            _pos = self._io.pos()
            self._io.seek(self.ofs_entry + 16)
            self._debug['_m_magic']['start'] = self._io.pos()
            self._m_magic = self._io.read_s1()
            self._debug['_m_magic']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_magic', None)

        @magic.setter
        def magic(self, v):
            self._dirty = True
            self._m_magic = v

        def _write_magic(self):
            self._should_write_magic = False
            _pos = self._io.pos()
            self._io.seek(self.ofs_entry + 16)
            self._io.write_s1(self._m_magic)
            self._io.seek(_pos)



