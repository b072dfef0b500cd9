"""The text of a reader: one module in Cython's pure Python mode for a spec with its imports."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.declarations import Field, Library, Type
from thawline.compiler.language.failures import Refused
from thawline.compiler.language.kinds import Kind, Label, c_type, default, is_object
from thawline.compiler.language.reading import Places, Reader, has_flag, stored, stream_code
from thawline.compiler.language.storing import Storer
from thawline.compiler.language.values import Scope, comparison
from thawline.compiler.language.writing import Writer
from thawline.ksy.documents import SpecError

FUTURE = "from __future__ import annotations\n"
RUNTIME = ("streams", "values", "columns")
DIRECTIVES = (
    "# cython: language_level=3, boundscheck=True, wraparound=True, nonecheck=True, cdivision=False, "
    "auto_pickle=False, binding=False, infer_types=True, optimize.use_switch=False\n"
)


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of the types of a library, without the runtime, and what its numbers of places mean."""

    text: str
    places: Places
    kept: frozenset[str]


def runtime() -> str:
    """What every reader starts with."""
    folder = resources.files("thawline.compiler.language.runtime")
    texts = [(folder / f"{name}.py").read_text(encoding="utf-8").replace(FUTURE, "") for name in RUNTIME]
    return FUTURE + "\n".join(texts)


def module(*texts: str) -> str:
    """The readers of some libraries as one module."""
    return "\n\n".join((DIRECTIVES + runtime(), *texts))


def emit(analysis: Analysis, library: Library, *, is_traced: bool = False) -> Emitted:
    """The reader of a library; a traced one tells where each field is."""
    writer, places = Writer(), Places()
    emitter = _Emitter(analysis, library, writer, places, is_traced)
    types = analysis.types_used()
    for type_ in types:
        emitter.declare_type(type_)
    for type_ in types:
        emitter.make(type_)
    _refuse(analysis)
    storer = Storer(analysis, writer, places)
    for type_ in types:
        storer.store_type(type_)
    storer.store_unions()
    emitter.name_enums(types)
    emitter.enter_root(storer)
    return Emitted(writer.text, places, frozenset(analysis.reads))


def _argument(kind: Kind) -> str:
    """How a function declares an argument of a kind, which may be None where it is an object."""
    found = c_type(kind)
    return f"{found} | None" if found in ("Structure", "Stream") else found


def _refuse(analysis: Analysis) -> None:
    if analysis.refused:
        raise Refused(sorted(analysis.refused.values(), key=_place))


def _place(error: SpecError) -> tuple[str, int, int]:
    file, line, column = str(error).partition(": ")[0].rsplit(":", 2)
    return file, int(line), int(column)


@dataclass
class _Emitter:
    analysis: Analysis
    library: Library
    writer: Writer
    places: Places
    is_traced: bool

    def declare_type(self, type_: Type) -> None:
        """The class of a type, with its fields and how they are read."""
        writer, defaults = self.writer, {}
        reader = Reader(self.analysis, writer, self.places, self.is_traced)
        writer.add("@cython.final", "@cython.cclass")
        with writer.block(f"class T_{type_.ident}(Structure):"):
            for name, kind, value in self._variables(type_):
                writer.add(f"{name}: {kind}")
                defaults[name] = value
            writer.add("")
            with writer.function("read(self) -> cython.int"):
                writer.add("ctx: Context = self.ctx", "io: Stream = self.io")
                self._choose_order(type_)
                for item in type_.seq:
                    reader.read_field(item)
                writer.add("return 0")
            for item in (*type_.params.values(), *type_.seq):
                self._give_field(item)
            for item in type_.instances.values():
                self._compute(reader, item)
            if type_ is self.library.root:
                self._steps(reader, type_)
        with writer.block("if not cython.compiled:"):
            for name, value in defaults.items():
                writer.add(f"T_{type_.ident}.{name} = {value}")
        writer.add("")

    def _variables(self, type_: Type) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
            kind = self.analysis.kind(item)
            found.append((stored(item), c_type(kind), default(kind)))
            if item.is_instance:
                found.append((f"d_{item.name}", "cython.char", "0"))
            if has_flag(self.analysis, item):
                found.append((f"h_{item.name}", "cython.bint", "False"))
            if "repeat" in item.data and type_ is self.library.root:
                found += [(f"n_{item.name}", "cython.longlong", "0"), (f"c_{item.name}", "cython.longlong", "0")]
        return found

    def _choose_order(self, type_: Type) -> None:
        """The order of bytes of a type where it depends on what is read."""
        switched = type_.switched_by()
        if switched is None:
            return
        if switched is type_:
            self._switch_order(type_, type_.data["meta"]["endian"])
        with self.writer.block("if self.little < 0:"):
            self.writer.add('raise Stop("endian", "no case says which order the bytes have")')

    def _switch_order(self, type_: Type, switch: dict[str, object]) -> None:
        keys = (*type_.keys, "meta", "endian")
        item = Field(type_, keys, "endian", switch)
        cases = switch.get("cases")
        if not isinstance(cases, dict) or "switch-on" not in switch:
            raise item.error("a switch needs switch-on and cases")
        on = self.analysis.value(item, Scope(type_), "switch-on")
        word = "if"
        for key, order in cases.items():
            if order not in ("le", "be"):
                raise item.error("an order of bytes is le or be", "cases", key)
            if key == "_":
                head = "else:" if word == "elif" else "if True:"
            else:
                case = self.analysis.value(item, Scope(type_), "cases", str(key), source=key)
                head = f"{word} {comparison('==', on, case).code}:"
            word = "elif"
            with self.writer.block(head):
                self.writer.add(f"self.little = {int(order == 'le')}")

    def _give_field(self, item: Field) -> None:
        """A field that may not be there, for expressions."""
        kind = self.analysis.kind(item)
        is_switch = isinstance(item.data.get("type"), dict)
        if is_object(kind) or not ("if" in item.data or is_switch):
            return
        self._give(item, kind, f"not self.h_{item.name}" if has_flag(self.analysis, item) else "False")

    def _give(self, item: Field, kind: Kind, is_absent: str) -> None:
        type_ = c_type(kind)
        fails = "" if type_ in ("object", "Structure", "Stream") else "@cython.exceptval(-1, check=True)"
        if type_ == "cython.ulonglong":
            fails = "@cython.exceptval(1, check=True)"
        with self.writer.function(f"g_{item.name}(self) -> {type_}", fails=fails):
            with self.writer.block(f"if {is_absent}:"):
                self.writer.add("return None" if is_object(kind) else f"absent({item.name!r})")
            self.writer.add(f"return self.{stored(item)}")

    def _compute(self, reader: Reader, item: Field) -> None:
        """An instance: computed or read when it is needed, once."""
        writer, name = self.writer, item.name
        with writer.function(f"s_{name}(self) -> cython.int"):
            writer.add(f"if self.d_{name} == 1 or self.d_{name} == 2: return self.d_{name}")
            writer.add("ctx: Context = self.ctx")
            with writer.block(f"if self.d_{name} == 3 or ctx.depth >= MAX_DEPTH:"):
                writer.add(f'raise Stop("depth", "{name} depends on itself, or on too many others")')
            writer.add("was_at: cython.int = ctx.at", "was_began: cython.longlong = ctx.began")
            writer.add(f"ctx.at = {self.places.number(item)}", f"self.d_{name} = 3", "ctx.depth += 1")
            with writer.block("try:"):
                try:
                    self._compute_when_there(reader, item)
                except SpecError as error:
                    self.analysis.refuse(error)
            with writer.block("finally:"):
                writer.add("ctx.depth -= 1")
                with writer.block(f"if self.d_{name} == 3:"):
                    writer.add(f"self.d_{name} = 0")
            writer.add("ctx.at = was_at", "ctx.began = was_began", f"return self.d_{name}")
        self._give(item, self.analysis.kind(item), f"self.s_{name}() != 1")

    def _compute_when_there(self, reader: Reader, item: Field) -> None:
        writer = self.writer
        scope = Scope(item.owner)
        if "if" in item.data:
            condition = self.analysis.expect(item, scope, "true or false", "if")
            with writer.block(f"if {condition.code}:"):
                self._compute_now(reader, item, scope)
            with writer.block("else:"):
                writer.add(f"self.d_{item.name} = 2")
        else:
            self._compute_now(reader, item, scope)

    def _compute_now(self, reader: Reader, item: Field, scope: Scope) -> None:
        writer = self.writer
        if item.is_value:
            value = self.analysis.value(item, scope, "value")
            writer.add(f"self.v_{item.name} = {value.code}")
            if "valid" in item.data:
                kept = type(value)(f"self.v_{item.name}", self.analysis.kind(item))
                reader.check(item, scope, kept)
            is_there = "True" if not is_object(self.analysis.kind(item)) else f"self.v_{item.name} is not None"
            writer.add(f"self.d_{item.name} = 1 if {is_there} else 2")
            return
        writer.add(f"io: Stream = {stream_code(self.analysis, item)}", "pos: cython.longlong = io.pos")
        unconditional = Field(
            item.owner, item.keys, item.name, {k: v for k, v in item.data.items() if k != "if"}, is_instance=True
        )
        self.analysis.kinds[unconditional] = self.analysis.kind(item)
        self.places.numbers[unconditional] = self.places.number(item)
        with writer.block("try:"):
            if "pos" in item.data:
                place = self.analysis.expect(item, scope, "a number", "pos")
                writer.add(f"io.seek({place.code})")
            reader.read_field(unconditional)
        with writer.block("finally:"):
            writer.add("io.seek(pos)")
        state = f"self.d_{item.name} = 1"
        if is_object(self.analysis.kind(item)):
            state += f" if self.v_{item.name} is not None else 2"
        elif has_flag(self.analysis, unconditional):
            state += f" if self.h_{item.name} else 2"
        writer.add(state)

    # Structures from outside

    def make(self, type_: Type) -> None:
        """The functions that make, read and recognise structures of a type."""
        writer, name = self.writer, type_.ident
        params = [(item, self.analysis.kind(item)) for item in type_.params.values()]
        given = "".join(f", p_{item.name}: {_argument(kind)}" for item, kind in params)
        head = f"io: Stream, parent: Structure | None, root: Structure | None, little: cython.int{given}"
        with writer.function(f"new_{name}({head}) -> T_{name}", fails=""):
            writer.add(f"x: T_{name} = T_{name}.__new__(T_{name})")
            writer.add("x.io = io", "x.ctx = io.ctx", "x.little = little")
            if type_ in self.analysis.children:
                writer.add("x.parent = parent")
            writer.add("x.root = x if root is None else root")
            writer.add("x.start = io.pos", "x.end = io.pos")
            for item, _ in params:
                writer.add(f"x.f_{item.name} = p_{item.name}")
            writer.add("return x")
        passed = "".join(f", p_{item.name}" for item, _ in params)
        with writer.function(f"read_{name}({head}) -> Structure", fails=""):
            writer.add(f"x: T_{name} = new_{name}(io, parent, root, little{passed})", "enter(x)", "return x")
        with writer.function(f"as_{name}(x: object) -> T_{name}", fails=""):
            writer.add("return x")

    def name_enums(self, types: list[Type]) -> None:
        """The numbers of every enum."""
        fields = [item for type_ in types for item in (*type_.seq, *type_.instances.values())]
        kinds = [self.analysis.kind(item) if item.is_value else self.analysis.item_kind(item) for item in fields]
        enums = {kind.enum for kind in kinds if isinstance(kind, Label)}
        for enum in sorted(enums, key=lambda enum: enum.ident):
            self.writer.add(f"E_{enum.ident} = frozenset({sorted(enum.labels)!r})")
        self.writer.add("")

    # The root, a step at a time

    def _steps(self, reader: Reader, type_: Type) -> None:
        writer = self.writer
        for index, item in enumerate(type_.seq):
            with writer.function(f"step_{index}(self) -> cython.int"):
                writer.add("ctx: Context = self.ctx", "io: Stream = self.io")
                if index == 0:
                    self._choose_order(type_)
                reader.read_field(item)
                writer.add("return 0")
            if "repeat" in item.data:
                self._some(reader, item)
        with writer.function("release(self)", is_native=False):
            for name, _, value in self._variables(type_):
                if value == "None":
                    writer.add(f"self.{name} = None")
            writer.add("self.root = None")
        with writer.function("step(self, index)", is_native=False):
            for index, _ in enumerate(type_.seq):
                writer.add(f"if index == {index}: self.step_{index}()")
            writer.add("self.end = self.io.pos")

    def _some(self, reader: Reader, item: Field) -> None:
        """Some more items of a repetition; the caller takes them."""
        writer, name = self.writer, item.name
        with writer.function(f"some_{name}(self, count: cython.longlong)", is_native=False):
            writer.add("ctx: Context = self.ctx", "io: Stream = self.io")
            writer.add(f"if self.f_{name} is None: self.f_{name} = []")
            writer.add(f"items_{name}: list = self.f_{name}", f"index_{name}: cython.longlong = self.n_{name}")
            writer.add(f"limit: cython.longlong = index_{name} + count")
            if "if" in item.data:
                condition = self.analysis.expect(item, Scope(item.owner), "true or false", "if")
                writer.add(f"if index_{name} == 0 and not {condition.code}: return True")
            with writer.block("try:"):
                reader.read_field(item, is_resumable=True)
            with writer.block("finally:"):
                writer.add(f"self.n_{name} = index_{name}", "self.end = io.pos")
            writer.add("return True")

    def enter_root(self, storer: Storer) -> None:
        """What Python calls: a reading of the root, and its rows."""
        writer, root = self.writer, self.library.root
        given = "".join(f", {item.name}" for item in root.params.values())
        with writer.function(f"root_{root.ident}(io: Stream{given})", is_native=False):
            writer.add(f"return new_{root.ident}(io, None, None, -1{given})")
        with writer.function(f"put_root_{root.ident}(x: T_{root.ident}, c: Column)", is_native=False):
            writer.add(f"put_{root.ident}(x, c)")
        for item in root.seq:
            if "repeat" in item.data:
                self._put_items(storer, item)
        storer.store_unions()

    def _put_items(self, storer: Storer, item: Field) -> None:
        """The rows of a repetition; its items are dropped, unless an expression may use them."""
        writer, name = self.writer, item.name
        is_kept = name in self.analysis.reads
        given = f"x: T_{self.library.root.ident}, c: Column, first: cython.longlong"
        given = f"x: T_{self.library.root.ident}, c: Column, first: cython.longlong"
        with writer.function(f"put_{name}_rows_of_{self.library.root.ident}({given})", is_native=False):
            writer.add("ctx: Context = x.ctx", f"items: list = x.f_{name} or []")
            with writer.block("for v in items[first:]:"):
                storer.store(self.analysis.item_kind(item), "v", "c", self.places.number(item), 1)
            if is_kept:
                writer.add("return len(items)")
            else:
                writer.add(f"x.f_{name} = []", "return 0")
