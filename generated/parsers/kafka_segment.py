# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import kafka_message
from thawline.generated.parsers import kafka_record_batch


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaSegment(KaitaiStruct):
    """Batches and messages back to back, of any mix of versions: length at byte 8
    and magic at byte 16 are common to all of them.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/FileLogInputStream.java
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(KafkaSegment, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.entries = []
        i = 0
        while not self._io.is_eof():
            self.entries.append(KafkaSegment.Entry(self._io.pos(), self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()


    class Entry(KaitaiStruct):
        def __init__(self, ofs_entry, _io, _parent=None, _root=None):
            super(KafkaSegment.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_entry = ofs_entry
            self._read()

        def _read(self):
            _on = self.magic
            if _on == 0:
                pass
                self.unit = kafka_message.KafkaMessage(self._io)
            elif _on == 1:
                pass
                self.unit = kafka_message.KafkaMessage(self._io)
            else:
                pass
                self.unit = kafka_record_batch.KafkaRecordBatch(self._io)


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


        @property
        def magic(self):
            """The unit's own magic, read ahead of it."""
            if hasattr(self, '_m_magic'):
                return self._m_magic

            _pos = self._io.pos()
            self._io.seek(self.ofs_entry + 16)
            self._m_magic = self._io.read_s1()
            self._io.seek(_pos)
            return getattr(self, '_m_magic', None)



