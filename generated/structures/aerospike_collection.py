# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeCollection(ReadWriteKaitaiStruct):
    """A msgpack value as Aerospike's server stores it: what the base-64 of a list or
    map bin holds, and each value inside. Text and bytes are one kind to the
    server, whichever of str and bin msgpack has for them: their first byte is the
    particle type. Numbers of 8 bytes are signed, however they are marked.
    
    .. seealso::
       Source - https://github.com/msgpack/msgpack/blob/master/spec.md
    """

    class ExtensionType(IntEnum):
        request = 255

    class Msgpack(IntEnum):
        fixint = 0
        fixmap = 128
        fixarray = 144
        fixstr = 160
        nil = 192
        unused = 193
        false = 194
        true = 195
        bin_8 = 196
        bin_16 = 197
        bin_32 = 198
        ext_8 = 199
        ext_16 = 200
        ext_32 = 201
        float_32 = 202
        float_64 = 203
        uint_8 = 204
        uint_16 = 205
        uint_32 = 206
        uint_64 = 207
        int_8 = 208
        int_16 = 209
        int_32 = 210
        int_64 = 211
        fixext_1 = 212
        fixext_2 = 213
        fixext_4 = 214
        fixext_8 = 215
        fixext_16 = 216
        str_8 = 217
        str_16 = 218
        str_32 = 219
        array_16 = 220
        array_32 = 221
        map_16 = 222
        map_32 = 223
        negative_fixint = 224

    class ParticleType(IntEnum):
        integer = 1
        double = 2
        string = 3
        bytes = 4
        java = 7
        csharp = 8
        python = 9
        ruby = 10
        php = 11
        erlang = 12
        vector = 16
        hll = 18
        geojson = 23
    SEQ_FIELDS = ["lead", "body"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeCollection, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['lead']['start'] = self._io.pos()
        self.lead = self._io.read_u1()
        self._debug['lead']['end'] = self._io.pos()
        self._debug['body']['start'] = self._io.pos()
        _on = self.form
        if _on == AerospikeCollection.Msgpack.array_16:
            pass
            self.body = AerospikeCollection.List2(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.array_32:
            pass
            self.body = AerospikeCollection.List4(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.bin_16:
            pass
            self.body = AerospikeCollection.Particle2(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.bin_32:
            pass
            self.body = AerospikeCollection.Particle4(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.bin_8:
            pass
            self.body = AerospikeCollection.Particle1(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.ext_16:
            pass
            self.body = AerospikeCollection.Extension2(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.ext_32:
            pass
            self.body = AerospikeCollection.Extension4(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.ext_8:
            pass
            self.body = AerospikeCollection.Extension1(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixarray:
            pass
            self.body = AerospikeCollection.List(self.lead - 144, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixext_1:
            pass
            self.body = AerospikeCollection.Extension(1, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixext_16:
            pass
            self.body = AerospikeCollection.Extension(16, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixext_2:
            pass
            self.body = AerospikeCollection.Extension(2, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixext_4:
            pass
            self.body = AerospikeCollection.Extension(4, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixext_8:
            pass
            self.body = AerospikeCollection.Extension(8, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixmap:
            pass
            self.body = AerospikeCollection.Map(self.lead - 128, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.fixstr:
            pass
            self.body = AerospikeCollection.Particle(self.lead - 160, self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.float_32:
            pass
            self.body = self._io.read_f4be()
        elif _on == AerospikeCollection.Msgpack.float_64:
            pass
            self.body = self._io.read_f8be()
        elif _on == AerospikeCollection.Msgpack.int_16:
            pass
            self.body = self._io.read_s2be()
        elif _on == AerospikeCollection.Msgpack.int_32:
            pass
            self.body = self._io.read_s4be()
        elif _on == AerospikeCollection.Msgpack.int_64:
            pass
            self.body = self._io.read_s8be()
        elif _on == AerospikeCollection.Msgpack.int_8:
            pass
            self.body = self._io.read_s1()
        elif _on == AerospikeCollection.Msgpack.map_16:
            pass
            self.body = AerospikeCollection.Map2(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.map_32:
            pass
            self.body = AerospikeCollection.Map4(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.str_16:
            pass
            self.body = AerospikeCollection.Particle2(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.str_32:
            pass
            self.body = AerospikeCollection.Particle4(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.str_8:
            pass
            self.body = AerospikeCollection.Particle1(self._io, self, self._root)
            self.body._read()
        elif _on == AerospikeCollection.Msgpack.uint_16:
            pass
            self.body = self._io.read_u2be()
        elif _on == AerospikeCollection.Msgpack.uint_32:
            pass
            self.body = self._io.read_u4be()
        elif _on == AerospikeCollection.Msgpack.uint_64:
            pass
            self.body = self._io.read_s8be()
        elif _on == AerospikeCollection.Msgpack.uint_8:
            pass
            self.body = self._io.read_u1()
        self._debug['body']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        _on = self.form
        if _on == AerospikeCollection.Msgpack.array_16:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.array_32:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.bin_16:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.bin_32:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.bin_8:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.ext_16:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.ext_32:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.ext_8:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixarray:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixext_1:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixext_16:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixext_2:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixext_4:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixext_8:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixmap:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.fixstr:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.float_32:
            pass
        elif _on == AerospikeCollection.Msgpack.float_64:
            pass
        elif _on == AerospikeCollection.Msgpack.int_16:
            pass
        elif _on == AerospikeCollection.Msgpack.int_32:
            pass
        elif _on == AerospikeCollection.Msgpack.int_64:
            pass
        elif _on == AerospikeCollection.Msgpack.int_8:
            pass
        elif _on == AerospikeCollection.Msgpack.map_16:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.map_32:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.str_16:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.str_32:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.str_8:
            pass
            self.body._fetch_instances()
        elif _on == AerospikeCollection.Msgpack.uint_16:
            pass
        elif _on == AerospikeCollection.Msgpack.uint_32:
            pass
        elif _on == AerospikeCollection.Msgpack.uint_64:
            pass
        elif _on == AerospikeCollection.Msgpack.uint_8:
            pass


    def _write__seq(self, io=None):
        super(AerospikeCollection, self)._write__seq(io)
        self._io.write_u1(self.lead)
        _on = self.form
        if _on == AerospikeCollection.Msgpack.array_16:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.array_32:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.bin_16:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.bin_32:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.bin_8:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.ext_16:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.ext_32:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.ext_8:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixarray:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixext_1:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixext_16:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixext_2:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixext_4:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixext_8:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixmap:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.fixstr:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.float_32:
            pass
            self._io.write_f4be(self.body)
        elif _on == AerospikeCollection.Msgpack.float_64:
            pass
            self._io.write_f8be(self.body)
        elif _on == AerospikeCollection.Msgpack.int_16:
            pass
            self._io.write_s2be(self.body)
        elif _on == AerospikeCollection.Msgpack.int_32:
            pass
            self._io.write_s4be(self.body)
        elif _on == AerospikeCollection.Msgpack.int_64:
            pass
            self._io.write_s8be(self.body)
        elif _on == AerospikeCollection.Msgpack.int_8:
            pass
            self._io.write_s1(self.body)
        elif _on == AerospikeCollection.Msgpack.map_16:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.map_32:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.str_16:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.str_32:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.str_8:
            pass
            self.body._write__seq(self._io)
        elif _on == AerospikeCollection.Msgpack.uint_16:
            pass
            self._io.write_u2be(self.body)
        elif _on == AerospikeCollection.Msgpack.uint_32:
            pass
            self._io.write_u4be(self.body)
        elif _on == AerospikeCollection.Msgpack.uint_64:
            pass
            self._io.write_s8be(self.body)
        elif _on == AerospikeCollection.Msgpack.uint_8:
            pass
            self._io.write_u1(self.body)


    def _check(self):
        _on = self.form
        if _on == AerospikeCollection.Msgpack.array_16:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.array_32:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.bin_16:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.bin_32:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.bin_8:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.ext_16:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.ext_32:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.ext_8:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.fixarray:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.num_items != self.lead - 144:
                raise kaitaistruct.ConsistencyError(u"body", self.lead - 144, self.body.num_items)
        elif _on == AerospikeCollection.Msgpack.fixext_1:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.len_data != 1:
                raise kaitaistruct.ConsistencyError(u"body", 1, self.body.len_data)
        elif _on == AerospikeCollection.Msgpack.fixext_16:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.len_data != 16:
                raise kaitaistruct.ConsistencyError(u"body", 16, self.body.len_data)
        elif _on == AerospikeCollection.Msgpack.fixext_2:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.len_data != 2:
                raise kaitaistruct.ConsistencyError(u"body", 2, self.body.len_data)
        elif _on == AerospikeCollection.Msgpack.fixext_4:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.len_data != 4:
                raise kaitaistruct.ConsistencyError(u"body", 4, self.body.len_data)
        elif _on == AerospikeCollection.Msgpack.fixext_8:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.len_data != 8:
                raise kaitaistruct.ConsistencyError(u"body", 8, self.body.len_data)
        elif _on == AerospikeCollection.Msgpack.fixmap:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.num_entries != self.lead - 128:
                raise kaitaistruct.ConsistencyError(u"body", self.lead - 128, self.body.num_entries)
        elif _on == AerospikeCollection.Msgpack.fixstr:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            if self.body.len_particle != self.lead - 160:
                raise kaitaistruct.ConsistencyError(u"body", self.lead - 160, self.body.len_particle)
        elif _on == AerospikeCollection.Msgpack.float_32:
            pass
        elif _on == AerospikeCollection.Msgpack.float_64:
            pass
        elif _on == AerospikeCollection.Msgpack.int_16:
            pass
        elif _on == AerospikeCollection.Msgpack.int_32:
            pass
        elif _on == AerospikeCollection.Msgpack.int_64:
            pass
        elif _on == AerospikeCollection.Msgpack.int_8:
            pass
        elif _on == AerospikeCollection.Msgpack.map_16:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.map_32:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.str_16:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.str_32:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.str_8:
            pass
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
        elif _on == AerospikeCollection.Msgpack.uint_16:
            pass
        elif _on == AerospikeCollection.Msgpack.uint_32:
            pass
        elif _on == AerospikeCollection.Msgpack.uint_64:
            pass
        elif _on == AerospikeCollection.Msgpack.uint_8:
            pass
        self._dirty = False

    class Entry(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["key", "value"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = AerospikeCollection(self._io, self, self._root)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = AerospikeCollection(self._io, self, self._root)
            self.value._read()
            self._debug['value']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Entry, self)._write__seq(io)
            self.key._write__seq(self._io)
            self.value._write__seq(self._io)


        def _check(self):
            if self.key._root != self._root:
                raise kaitaistruct.ConsistencyError(u"key", self._root, self.key._root)
            if self.key._parent != self:
                raise kaitaistruct.ConsistencyError(u"key", self, self.key._parent)
            if self.value._root != self._root:
                raise kaitaistruct.ConsistencyError(u"value", self._root, self.value._root)
            if self.value._parent != self:
                raise kaitaistruct.ConsistencyError(u"value", self, self.value._parent)
            self._dirty = False


    class Extension(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["extension_type", "data"]
        def __init__(self, len_data, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Extension, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_data = len_data
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['extension_type']['start'] = self._io.pos()
            self.extension_type = KaitaiStream.resolve_enum(AerospikeCollection.ExtensionType, self._io.read_u1())
            self._debug['extension_type']['end'] = self._io.pos()
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.len_data)
            self._debug['data']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(AerospikeCollection.Extension, self)._write__seq(io)
            self._io.write_u1(int(self.extension_type))
            self._io.write_bytes(self.data)


        def _check(self):
            if len(self.data) != self.len_data:
                raise kaitaistruct.ConsistencyError(u"data", self.len_data, len(self.data))
            self._dirty = False


    class Extension1(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_data", "extension"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Extension1, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = self._io.read_u1()
            self._debug['len_data']['end'] = self._io.pos()
            self._debug['extension']['start'] = self._io.pos()
            self.extension = AerospikeCollection.Extension(self.len_data, self._io, self, self._root)
            self.extension._read()
            self._debug['extension']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.extension._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Extension1, self)._write__seq(io)
            self._io.write_u1(self.len_data)
            self.extension._write__seq(self._io)


        def _check(self):
            if self.extension._root != self._root:
                raise kaitaistruct.ConsistencyError(u"extension", self._root, self.extension._root)
            if self.extension._parent != self:
                raise kaitaistruct.ConsistencyError(u"extension", self, self.extension._parent)
            if self.extension.len_data != self.len_data:
                raise kaitaistruct.ConsistencyError(u"extension", self.len_data, self.extension.len_data)
            self._dirty = False


    class Extension2(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_data", "extension"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Extension2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = self._io.read_u2be()
            self._debug['len_data']['end'] = self._io.pos()
            self._debug['extension']['start'] = self._io.pos()
            self.extension = AerospikeCollection.Extension(self.len_data, self._io, self, self._root)
            self.extension._read()
            self._debug['extension']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.extension._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Extension2, self)._write__seq(io)
            self._io.write_u2be(self.len_data)
            self.extension._write__seq(self._io)


        def _check(self):
            if self.extension._root != self._root:
                raise kaitaistruct.ConsistencyError(u"extension", self._root, self.extension._root)
            if self.extension._parent != self:
                raise kaitaistruct.ConsistencyError(u"extension", self, self.extension._parent)
            if self.extension.len_data != self.len_data:
                raise kaitaistruct.ConsistencyError(u"extension", self.len_data, self.extension.len_data)
            self._dirty = False


    class Extension4(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_data", "extension"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Extension4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = self._io.read_u4be()
            self._debug['len_data']['end'] = self._io.pos()
            self._debug['extension']['start'] = self._io.pos()
            self.extension = AerospikeCollection.Extension(self.len_data, self._io, self, self._root)
            self.extension._read()
            self._debug['extension']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.extension._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Extension4, self)._write__seq(io)
            self._io.write_u4be(self.len_data)
            self.extension._write__seq(self._io)


        def _check(self):
            if self.extension._root != self._root:
                raise kaitaistruct.ConsistencyError(u"extension", self._root, self.extension._root)
            if self.extension._parent != self:
                raise kaitaistruct.ConsistencyError(u"extension", self, self.extension._parent)
            if self.extension.len_data != self.len_data:
                raise kaitaistruct.ConsistencyError(u"extension", self.len_data, self.extension.len_data)
            self._dirty = False


    class List(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["items"]
        def __init__(self, num_items, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.List, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_items = num_items
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['items']['start'] = self._io.pos()
            self._debug['items']['arr'] = []
            self.items = []
            for i in range(self.num_items):
                self._debug['items']['arr'].append({'start': self._io.pos()})
                _t_items = AerospikeCollection(self._io, self, self._root)
                try:
                    _t_items._read()
                finally:
                    self.items.append(_t_items)
                self._debug['items']['arr'][i]['end'] = self._io.pos()

            self._debug['items']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            for i in range(len(self.items)):
                pass
                self.items[i]._fetch_instances()



        def _write__seq(self, io=None):
            super(AerospikeCollection.List, self)._write__seq(io)
            for i in range(len(self.items)):
                pass
                self.items[i]._write__seq(self._io)



        def _check(self):
            if len(self.items) != self.num_items:
                raise kaitaistruct.ConsistencyError(u"items", self.num_items, len(self.items))
            for i in range(len(self.items)):
                pass
                if self.items[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"items", self._root, self.items[i]._root)
                if self.items[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"items", self, self.items[i]._parent)

            self._dirty = False


    class List2(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["num_items", "list"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.List2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_items']['start'] = self._io.pos()
            self.num_items = self._io.read_u2be()
            self._debug['num_items']['end'] = self._io.pos()
            self._debug['list']['start'] = self._io.pos()
            self.list = AerospikeCollection.List(self.num_items, self._io, self, self._root)
            self.list._read()
            self._debug['list']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.list._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.List2, self)._write__seq(io)
            self._io.write_u2be(self.num_items)
            self.list._write__seq(self._io)


        def _check(self):
            if self.list._root != self._root:
                raise kaitaistruct.ConsistencyError(u"list", self._root, self.list._root)
            if self.list._parent != self:
                raise kaitaistruct.ConsistencyError(u"list", self, self.list._parent)
            if self.list.num_items != self.num_items:
                raise kaitaistruct.ConsistencyError(u"list", self.num_items, self.list.num_items)
            self._dirty = False


    class List4(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["num_items", "list"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.List4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_items']['start'] = self._io.pos()
            self.num_items = self._io.read_u4be()
            self._debug['num_items']['end'] = self._io.pos()
            self._debug['list']['start'] = self._io.pos()
            self.list = AerospikeCollection.List(self.num_items, self._io, self, self._root)
            self.list._read()
            self._debug['list']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.list._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.List4, self)._write__seq(io)
            self._io.write_u4be(self.num_items)
            self.list._write__seq(self._io)


        def _check(self):
            if self.list._root != self._root:
                raise kaitaistruct.ConsistencyError(u"list", self._root, self.list._root)
            if self.list._parent != self:
                raise kaitaistruct.ConsistencyError(u"list", self, self.list._parent)
            if self.list.num_items != self.num_items:
                raise kaitaistruct.ConsistencyError(u"list", self.num_items, self.list.num_items)
            self._dirty = False


    class Map(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["entries"]
        def __init__(self, num_entries, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Map, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_entries = num_entries
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            for i in range(self.num_entries):
                self._debug['entries']['arr'].append({'start': self._io.pos()})
                _t_entries = AerospikeCollection.Entry(self._io, self, self._root)
                try:
                    _t_entries._read()
                finally:
                    self.entries.append(_t_entries)
                self._debug['entries']['arr'][i]['end'] = self._io.pos()

            self._debug['entries']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()



        def _write__seq(self, io=None):
            super(AerospikeCollection.Map, self)._write__seq(io)
            for i in range(len(self.entries)):
                pass
                self.entries[i]._write__seq(self._io)



        def _check(self):
            if len(self.entries) != self.num_entries:
                raise kaitaistruct.ConsistencyError(u"entries", self.num_entries, len(self.entries))
            for i in range(len(self.entries)):
                pass
                if self.entries[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"entries", self._root, self.entries[i]._root)
                if self.entries[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"entries", self, self.entries[i]._parent)

            self._dirty = False


    class Map2(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["num_entries", "map"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Map2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_entries']['start'] = self._io.pos()
            self.num_entries = self._io.read_u2be()
            self._debug['num_entries']['end'] = self._io.pos()
            self._debug['map']['start'] = self._io.pos()
            self.map = AerospikeCollection.Map(self.num_entries, self._io, self, self._root)
            self.map._read()
            self._debug['map']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.map._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Map2, self)._write__seq(io)
            self._io.write_u2be(self.num_entries)
            self.map._write__seq(self._io)


        def _check(self):
            if self.map._root != self._root:
                raise kaitaistruct.ConsistencyError(u"map", self._root, self.map._root)
            if self.map._parent != self:
                raise kaitaistruct.ConsistencyError(u"map", self, self.map._parent)
            if self.map.num_entries != self.num_entries:
                raise kaitaistruct.ConsistencyError(u"map", self.num_entries, self.map.num_entries)
            self._dirty = False


    class Map4(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["num_entries", "map"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Map4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['num_entries']['start'] = self._io.pos()
            self.num_entries = self._io.read_u4be()
            self._debug['num_entries']['end'] = self._io.pos()
            self._debug['map']['start'] = self._io.pos()
            self.map = AerospikeCollection.Map(self.num_entries, self._io, self, self._root)
            self.map._read()
            self._debug['map']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.map._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Map4, self)._write__seq(io)
            self._io.write_u4be(self.num_entries)
            self.map._write__seq(self._io)


        def _check(self):
            if self.map._root != self._root:
                raise kaitaistruct.ConsistencyError(u"map", self._root, self.map._root)
            if self.map._parent != self:
                raise kaitaistruct.ConsistencyError(u"map", self, self.map._parent)
            if self.map.num_entries != self.num_entries:
                raise kaitaistruct.ConsistencyError(u"map", self.num_entries, self.map.num_entries)
            self._dirty = False


    class Particle(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["particle_type", "content"]
        def __init__(self, len_particle, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Particle, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_particle = len_particle
            self._debug = collections.defaultdict(dict)

        def _read(self):
            if self.len_particle > 0:
                pass
                self._debug['particle_type']['start'] = self._io.pos()
                self.particle_type = KaitaiStream.resolve_enum(AerospikeCollection.ParticleType, self._io.read_u1())
                self._debug['particle_type']['end'] = self._io.pos()

            if self.len_particle > 0:
                pass
                self._debug['content']['start'] = self._io.pos()
                self.content = self._io.read_bytes(self.len_particle - 1)
                self._debug['content']['end'] = self._io.pos()

            self._dirty = False


        def _fetch_instances(self):
            pass
            if self.len_particle > 0:
                pass

            if self.len_particle > 0:
                pass



        def _write__seq(self, io=None):
            super(AerospikeCollection.Particle, self)._write__seq(io)
            if self.len_particle > 0:
                pass
                self._io.write_u1(int(self.particle_type))

            if self.len_particle > 0:
                pass
                self._io.write_bytes(self.content)



        def _check(self):
            if self.len_particle > 0:
                pass

            if self.len_particle > 0:
                pass
                if len(self.content) != self.len_particle - 1:
                    raise kaitaistruct.ConsistencyError(u"content", self.len_particle - 1, len(self.content))

            self._dirty = False


    class Particle1(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_particle", "particle"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Particle1, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_particle']['start'] = self._io.pos()
            self.len_particle = self._io.read_u1()
            self._debug['len_particle']['end'] = self._io.pos()
            self._debug['particle']['start'] = self._io.pos()
            self.particle = AerospikeCollection.Particle(self.len_particle, self._io, self, self._root)
            self.particle._read()
            self._debug['particle']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.particle._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Particle1, self)._write__seq(io)
            self._io.write_u1(self.len_particle)
            self.particle._write__seq(self._io)


        def _check(self):
            if self.particle._root != self._root:
                raise kaitaistruct.ConsistencyError(u"particle", self._root, self.particle._root)
            if self.particle._parent != self:
                raise kaitaistruct.ConsistencyError(u"particle", self, self.particle._parent)
            if self.particle.len_particle != self.len_particle:
                raise kaitaistruct.ConsistencyError(u"particle", self.len_particle, self.particle.len_particle)
            self._dirty = False


    class Particle2(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_particle", "particle"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Particle2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_particle']['start'] = self._io.pos()
            self.len_particle = self._io.read_u2be()
            self._debug['len_particle']['end'] = self._io.pos()
            self._debug['particle']['start'] = self._io.pos()
            self.particle = AerospikeCollection.Particle(self.len_particle, self._io, self, self._root)
            self.particle._read()
            self._debug['particle']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.particle._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Particle2, self)._write__seq(io)
            self._io.write_u2be(self.len_particle)
            self.particle._write__seq(self._io)


        def _check(self):
            if self.particle._root != self._root:
                raise kaitaistruct.ConsistencyError(u"particle", self._root, self.particle._root)
            if self.particle._parent != self:
                raise kaitaistruct.ConsistencyError(u"particle", self, self.particle._parent)
            if self.particle.len_particle != self.len_particle:
                raise kaitaistruct.ConsistencyError(u"particle", self.len_particle, self.particle.len_particle)
            self._dirty = False


    class Particle4(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_particle", "particle"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeCollection.Particle4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_particle']['start'] = self._io.pos()
            self.len_particle = self._io.read_u4be()
            self._debug['len_particle']['end'] = self._io.pos()
            self._debug['particle']['start'] = self._io.pos()
            self.particle = AerospikeCollection.Particle(self.len_particle, self._io, self, self._root)
            self.particle._read()
            self._debug['particle']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.particle._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeCollection.Particle4, self)._write__seq(io)
            self._io.write_u4be(self.len_particle)
            self.particle._write__seq(self._io)


        def _check(self):
            if self.particle._root != self._root:
                raise kaitaistruct.ConsistencyError(u"particle", self._root, self.particle._root)
            if self.particle._parent != self:
                raise kaitaistruct.ConsistencyError(u"particle", self, self.particle._parent)
            if self.particle.len_particle != self.len_particle:
                raise kaitaistruct.ConsistencyError(u"particle", self.len_particle, self.particle.len_particle)
            self._dirty = False


    @property
    def form(self):
        """What the first byte says that the value is."""
        if hasattr(self, '_m_form'):
            return self._m_form

        self._m_form = KaitaiStream.resolve_enum(AerospikeCollection.Msgpack, (0 if self.lead < 128 else (128 if self.lead < 144 else (144 if self.lead < 160 else (160 if self.lead < 192 else (self.lead if self.lead < 224 else 224))))))
        return getattr(self, '_m_form', None)

    def _invalidate_form(self):
        del self._m_form

