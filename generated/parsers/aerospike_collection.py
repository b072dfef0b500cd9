# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeCollection(KaitaiStruct):
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
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeCollection, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.lead = self._io.read_u1()
        _on = self.form
        if _on == AerospikeCollection.Msgpack.array_16:
            pass
            self.body = AerospikeCollection.List2(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.array_32:
            pass
            self.body = AerospikeCollection.List4(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.bin_16:
            pass
            self.body = AerospikeCollection.Particle2(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.bin_32:
            pass
            self.body = AerospikeCollection.Particle4(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.bin_8:
            pass
            self.body = AerospikeCollection.Particle1(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.ext_16:
            pass
            self.body = AerospikeCollection.Extension2(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.ext_32:
            pass
            self.body = AerospikeCollection.Extension4(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.ext_8:
            pass
            self.body = AerospikeCollection.Extension1(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixarray:
            pass
            self.body = AerospikeCollection.List(self.lead - 144, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixext_1:
            pass
            self.body = AerospikeCollection.Extension(1, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixext_16:
            pass
            self.body = AerospikeCollection.Extension(16, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixext_2:
            pass
            self.body = AerospikeCollection.Extension(2, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixext_4:
            pass
            self.body = AerospikeCollection.Extension(4, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixext_8:
            pass
            self.body = AerospikeCollection.Extension(8, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixmap:
            pass
            self.body = AerospikeCollection.Map(self.lead - 128, self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.fixstr:
            pass
            self.body = AerospikeCollection.Particle(self.lead - 160, self._io, self, self._root)
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
        elif _on == AerospikeCollection.Msgpack.map_32:
            pass
            self.body = AerospikeCollection.Map4(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.str_16:
            pass
            self.body = AerospikeCollection.Particle2(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.str_32:
            pass
            self.body = AerospikeCollection.Particle4(self._io, self, self._root)
        elif _on == AerospikeCollection.Msgpack.str_8:
            pass
            self.body = AerospikeCollection.Particle1(self._io, self, self._root)
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

    class Entry(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key = AerospikeCollection(self._io, self, self._root)
            self.value = AerospikeCollection(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value._fetch_instances()


    class Extension(KaitaiStruct):
        def __init__(self, len_data, _io, _parent=None, _root=None):
            super(AerospikeCollection.Extension, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_data = len_data
            self._read()

        def _read(self):
            self.extension_type = KaitaiStream.resolve_enum(AerospikeCollection.ExtensionType, self._io.read_u1())
            self.data = self._io.read_bytes(self.len_data)


        def _fetch_instances(self):
            pass


    class Extension1(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Extension1, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_data = self._io.read_u1()
            self.extension = AerospikeCollection.Extension(self.len_data, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.extension._fetch_instances()


    class Extension2(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Extension2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_data = self._io.read_u2be()
            self.extension = AerospikeCollection.Extension(self.len_data, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.extension._fetch_instances()


    class Extension4(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Extension4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_data = self._io.read_u4be()
            self.extension = AerospikeCollection.Extension(self.len_data, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.extension._fetch_instances()


    class List(KaitaiStruct):
        def __init__(self, num_items, _io, _parent=None, _root=None):
            super(AerospikeCollection.List, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_items = num_items
            self._read()

        def _read(self):
            self.items = []
            for i in range(self.num_items):
                self.items.append(AerospikeCollection(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            for i in range(len(self.items)):
                pass
                self.items[i]._fetch_instances()



    class List2(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.List2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_items = self._io.read_u2be()
            self.list = AerospikeCollection.List(self.num_items, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.list._fetch_instances()


    class List4(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.List4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_items = self._io.read_u4be()
            self.list = AerospikeCollection.List(self.num_items, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.list._fetch_instances()


    class Map(KaitaiStruct):
        def __init__(self, num_entries, _io, _parent=None, _root=None):
            super(AerospikeCollection.Map, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_entries = num_entries
            self._read()

        def _read(self):
            self.entries = []
            for i in range(self.num_entries):
                self.entries.append(AerospikeCollection.Entry(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()



    class Map2(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Map2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_entries = self._io.read_u2be()
            self.map = AerospikeCollection.Map(self.num_entries, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.map._fetch_instances()


    class Map4(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Map4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_entries = self._io.read_u4be()
            self.map = AerospikeCollection.Map(self.num_entries, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.map._fetch_instances()


    class Particle(KaitaiStruct):
        def __init__(self, len_particle, _io, _parent=None, _root=None):
            super(AerospikeCollection.Particle, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.len_particle = len_particle
            self._read()

        def _read(self):
            if self.len_particle > 0:
                pass
                self.particle_type = KaitaiStream.resolve_enum(AerospikeCollection.ParticleType, self._io.read_u1())

            if self.len_particle > 0:
                pass
                self.content = self._io.read_bytes(self.len_particle - 1)



        def _fetch_instances(self):
            pass
            if self.len_particle > 0:
                pass

            if self.len_particle > 0:
                pass



    class Particle1(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Particle1, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_particle = self._io.read_u1()
            self.particle = AerospikeCollection.Particle(self.len_particle, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.particle._fetch_instances()


    class Particle2(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Particle2, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_particle = self._io.read_u2be()
            self.particle = AerospikeCollection.Particle(self.len_particle, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.particle._fetch_instances()


    class Particle4(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeCollection.Particle4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_particle = self._io.read_u4be()
            self.particle = AerospikeCollection.Particle(self.len_particle, self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.particle._fetch_instances()


    @property
    def form(self):
        """What the first byte says that the value is."""
        if hasattr(self, '_m_form'):
            return self._m_form

        self._m_form = KaitaiStream.resolve_enum(AerospikeCollection.Msgpack, (0 if self.lead < 128 else (128 if self.lead < 144 else (144 if self.lead < 160 else (160 if self.lead < 192 else (self.lead if self.lead < 224 else 224))))))
        return getattr(self, '_m_form', None)


