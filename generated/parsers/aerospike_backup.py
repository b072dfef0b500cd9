# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import aerospike_udf
from thawline.generated.parsers import aerospike_meta
from thawline.generated.parsers import aerospike_index
from thawline.generated.parsers import aerospike_record
from thawline.generated.parsers import aerospike_header


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeBackup(KaitaiStruct):
    """A header line, then meta data, secondary indexes, UDF files and records. The
    tools write them in this order and read them in any.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#backup-file-format
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeBackup, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = aerospike_header.AerospikeHeader(self._io)
        self.items = []
        i = 0
        while not self._io.is_eof():
            self.items.append(AerospikeBackup.Item(self._io.pos(), self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        for i in range(len(self.items)):
            pass
            self.items[i]._fetch_instances()


    class Item(KaitaiStruct):
        def __init__(self, ofs_item, _io, _parent=None, _root=None):
            super(AerospikeBackup.Item, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_item = ofs_item
            self._read()

        def _read(self):
            _on = self.kind
            if _on == 101:
                pass
                self.unit = aerospike_index.AerospikeIndex(self._io)
            elif _on == 105:
                pass
                self.unit = aerospike_index.AerospikeIndex(self._io)
            elif _on == 117:
                pass
                self.unit = aerospike_udf.AerospikeUdf(self._io)
            elif _on == 35:
                pass
                self.unit = aerospike_meta.AerospikeMeta(self._io)
            elif _on == 43:
                pass
                self.unit = aerospike_record.AerospikeRecord(self._io)
            else:
                pass
                self.unit = AerospikeBackup.Unknown(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            _on = self.kind
            if _on == 101:
                pass
                self.unit._fetch_instances()
            elif _on == 105:
                pass
                self.unit._fetch_instances()
            elif _on == 117:
                pass
                self.unit._fetch_instances()
            elif _on == 35:
                pass
                self.unit._fetch_instances()
            elif _on == 43:
                pass
                self.unit._fetch_instances()
            else:
                pass
                self.unit._fetch_instances()
            _ = self.global_kind
            if hasattr(self, '_m_global_kind'):
                pass

            _ = self.section
            if hasattr(self, '_m_section'):
                pass


        @property
        def global_kind(self):
            if hasattr(self, '_m_global_kind'):
                return self._m_global_kind

            if self.section == 42:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_item + 2)
                self._m_global_kind = self._io.read_u1()
                self._io.seek(_pos)

            return getattr(self, '_m_global_kind', None)

        @property
        def kind(self):
            """What the line starts with; for global data its third byte."""
            if hasattr(self, '_m_kind'):
                return self._m_kind

            self._m_kind = (self.global_kind if self.section == 42 else self.section)
            return getattr(self, '_m_kind', None)

        @property
        def section(self):
            if hasattr(self, '_m_section'):
                return self._m_section

            _pos = self._io.pos()
            self._io.seek(self.ofs_item)
            self._m_section = self._io.read_u1()
            self._io.seek(_pos)
            return getattr(self, '_m_section', None)


    class Unknown(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeBackup.Unknown, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.lead = self._io.read_u1()
            if not  ((self.lead == 35) or (self.lead == 42) or (self.lead == 43)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.lead, self._io, u"/types/unknown/seq/0")
            self.sp = self._io.read_bytes(1)
            if not self.sp == b"\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp, self._io, u"/types/unknown/seq/1")
            self.kind = self._io.read_u1()
            if not  ((self.kind == 101) or (self.kind == 105) or (self.kind == 117)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.kind, self._io, u"/types/unknown/seq/2")


        def _fetch_instances(self):
            pass



