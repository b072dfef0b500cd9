# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import aerospike_udf
from thawline.generated.structures import aerospike_meta
from thawline.generated.structures import aerospike_index
from thawline.generated.structures import aerospike_record
from thawline.generated.structures import aerospike_header
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeBackup(ReadWriteKaitaiStruct):
    """A header line, then meta data, secondary indexes, UDF files and records. The
    tools write them in this order and read them in any.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#backup-file-format
    """
    SEQ_FIELDS = ["header", "items"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeBackup, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['header']['start'] = self._io.pos()
        self.header = aerospike_header.AerospikeHeader(self._io)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()
        self._debug['items']['start'] = self._io.pos()
        self._debug['items']['arr'] = []
        self.items = []
        i = 0
        while not self._io.is_eof():
            self._debug['items']['arr'].append({'start': self._io.pos()})
            _t_items = AerospikeBackup.Item(self._io.pos(), self._io, self, self._root)
            try:
                _t_items._read()
            finally:
                self.items.append(_t_items)
            self._debug['items']['arr'][len(self.items) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['items']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        for i in range(len(self.items)):
            pass
            self.items[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(AerospikeBackup, self)._write__seq(io)
        self.header._write__seq(self._io)
        for i in range(len(self.items)):
            pass
            if self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"items", 0, self._io.size() - self._io.pos())
            if self.items[i].ofs_item != self._io.pos():
                raise kaitaistruct.ConsistencyError(u"items", self._io.pos(), self.items[i].ofs_item)
            self.items[i]._write__seq(self._io)

        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"items", 0, self._io.size() - self._io.pos())


    def _check(self):
        for i in range(len(self.items)):
            pass
            if self.items[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"items", self._root, self.items[i]._root)
            if self.items[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"items", self, self.items[i]._parent)

        self._dirty = False

    class Item(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["unit"]
        def __init__(self, ofs_item, _io=None, _parent=None, _root=None):
            super(AerospikeBackup.Item, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_item = ofs_item
            self._debug = collections.defaultdict(dict)
            self._should_write_global_kind = False
            self.global_kind__enabled = True
            self._should_write_section = False
            self.section__enabled = True

        def _read(self):
            self._debug['unit']['start'] = self._io.pos()
            _on = self.kind
            if _on == 101:
                pass
                self.unit = aerospike_index.AerospikeIndex(self._io)
                self.unit._read()
            elif _on == 105:
                pass
                self.unit = aerospike_index.AerospikeIndex(self._io)
                self.unit._read()
            elif _on == 117:
                pass
                self.unit = aerospike_udf.AerospikeUdf(self._io)
                self.unit._read()
            elif _on == 35:
                pass
                self.unit = aerospike_meta.AerospikeMeta(self._io)
                self.unit._read()
            elif _on == 43:
                pass
                self.unit = aerospike_record.AerospikeRecord(self._io)
                self.unit._read()
            else:
                pass
                self.unit = AerospikeBackup.Unknown(self._io, self, self._root)
                self.unit._read()
            self._debug['unit']['end'] = self._io.pos()
            self._dirty = False


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



        def _write__seq(self, io=None):
            super(AerospikeBackup.Item, self)._write__seq(io)
            self._should_write_global_kind = self.global_kind__enabled
            self._should_write_section = self.section__enabled
            _on = self.kind
            if _on == 101:
                pass
                self.unit._write__seq(self._io)
            elif _on == 105:
                pass
                self.unit._write__seq(self._io)
            elif _on == 117:
                pass
                self.unit._write__seq(self._io)
            elif _on == 35:
                pass
                self.unit._write__seq(self._io)
            elif _on == 43:
                pass
                self.unit._write__seq(self._io)
            else:
                pass
                if self.unit._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"unit", self._root, self.unit._root)
                if self.unit._parent != self:
                    raise kaitaistruct.ConsistencyError(u"unit", self, self.unit._parent)
                self.unit._write__seq(self._io)


        def _check(self):
            if self.global_kind__enabled:
                pass

            if self.section__enabled:
                pass

            self._dirty = False

        @property
        def global_kind(self):
            if self._should_write_global_kind:
                self._write_global_kind()
            if hasattr(self, '_m_global_kind'):
                return self._m_global_kind

            if not self.global_kind__enabled:
                return None

            if self.section == 42:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_item + 2)
                self._debug['_m_global_kind']['start'] = self._io.pos()
                self._m_global_kind = self._io.read_u1()
                self._debug['_m_global_kind']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_global_kind', None)

        @global_kind.setter
        def global_kind(self, v):
            self._dirty = True
            self._m_global_kind = v

        def _write_global_kind(self):
            self._should_write_global_kind = False
            if self.section == 42:
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_item + 2)
                self._io.write_u1(self._m_global_kind)
                self._io.seek(_pos)


        @property
        def kind(self):
            """What the line starts with; for global data its third byte."""
            if hasattr(self, '_m_kind'):
                return self._m_kind

            self._m_kind = (self.global_kind if self.section == 42 else self.section)
            return getattr(self, '_m_kind', None)

        def _invalidate_kind(self):
            del self._m_kind
        @property
        def section(self):
            if self._should_write_section:
                self._write_section()
            if hasattr(self, '_m_section'):
                return self._m_section

            if not self.section__enabled:
                return None

            _pos = self._io.pos()
            self._io.seek(self.ofs_item)
            self._debug['_m_section']['start'] = self._io.pos()
            self._m_section = self._io.read_u1()
            self._debug['_m_section']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_section', None)

        @section.setter
        def section(self, v):
            self._dirty = True
            self._m_section = v

        def _write_section(self):
            self._should_write_section = False
            _pos = self._io.pos()
            self._io.seek(self.ofs_item)
            self._io.write_u1(self._m_section)
            self._io.seek(_pos)


    class Unknown(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["lead", "sp", "kind"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeBackup.Unknown, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['lead']['start'] = self._io.pos()
            self.lead = self._io.read_u1()
            self._debug['lead']['end'] = self._io.pos()
            if not  ((self.lead == 35) or (self.lead == 42) or (self.lead == 43)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.lead, self._io, u"/types/unknown/seq/0")
            self._debug['sp']['start'] = self._io.pos()
            self.sp = self._io.read_bytes(1)
            self._debug['sp']['end'] = self._io.pos()
            if not self.sp == b"\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp, self._io, u"/types/unknown/seq/1")
            self._debug['kind']['start'] = self._io.pos()
            self.kind = self._io.read_u1()
            self._debug['kind']['end'] = self._io.pos()
            if not  ((self.kind == 101) or (self.kind == 105) or (self.kind == 117)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.kind, self._io, u"/types/unknown/seq/2")
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(AerospikeBackup.Unknown, self)._write__seq(io)
            self._io.write_u1(self.lead)
            self._io.write_bytes(self.sp)
            self._io.write_u1(self.kind)


        def _check(self):
            if not  ((self.lead == 35) or (self.lead == 42) or (self.lead == 43)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.lead, None, u"/types/unknown/seq/0")
            if len(self.sp) != 1:
                raise kaitaistruct.ConsistencyError(u"sp", 1, len(self.sp))
            if not self.sp == b"\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp, None, u"/types/unknown/seq/1")
            if not  ((self.kind == 101) or (self.kind == 105) or (self.kind == 117)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.kind, None, u"/types/unknown/seq/2")
            self._dirty = False



