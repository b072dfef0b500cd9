"""What every field and instance of a library holds, what is around every structure, and how large a type is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thawline.compiler.language import datatypes, grammar
from thawline.compiler.language.datatypes import Bits, DataType, Number, Raw, String, User
from thawline.compiler.language.declarations import Enum, Field, Library, Type
from thawline.compiler.language.kinds import ANY, Bool, Bytes, Int, Kind, Label, List, Struct, Text, either
from thawline.compiler.language.values import FOLLOWS, Scope, Value, evaluated
from thawline.ksy.documents import SpecError

SIZED = {"size", "size-eos", "terminator"}


class Analysis:
    """Answers about one library, each computed once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.kinds: dict[Field, Kind] = {}
        self.open: set[Field] = set()
        self.sizes: set[Type] = set()
        self.refused: dict[str, SpecError] = {}
        """What is refused, by its message."""
        self.broken: set[Field] = set()
        """Fields of unknown kind, since they are refused."""
        self.children: set[Type] = set()
        """Types whose `_parent` an expression uses. Others do not keep it: their structures are freed at once."""
        self.reads: set[str] = set()
        """Names that expressions use."""
        library.root.is_placed = True
        self._place(library.root, set())
        self.kinds.clear()

    # Types

    def types_used(self) -> list[Type]:
        """Every type that a reading can come to, in the order of the specs."""
        found: set[Type] = set()
        waiting = [self.library.root]
        while waiting:
            type_ = waiting.pop()
            if type_ in found:
                continue
            found.add(type_)
            waiting += [type_.top]
            for item in (*type_.params.values(), *type_.seq, *type_.instances.values()):
                waiting += structures(self.kind(item))
            waiting += [user.type for item in parsed(type_) for user in self.users(item)]
        return [type_ for type_ in self.library.types() if type_ in found]

    def data_type(self, item: Field, text: object, *keys: str | int) -> DataType:
        """What a type's name stands for in a field."""
        if not isinstance(text, str):
            raise item.error(f"{text!r} is no type", *keys)
        known = datatypes.primitive(text)
        if known is not None:
            if isinstance(known, Bits) and known.count > datatypes.MAX_BITS:
                raise item.error(f"a bit field of more than {datatypes.MAX_BITS} bits is not supported", *keys)
            return known
        named = datatypes.NAMED.fullmatch(text.strip())
        path = named.group(1).removeprefix("::").split("::") if named else []
        found = self.library.type(item.owner, path) or self.library.opaque(item.owner, path) if named else None
        if found is None:
            is_opaque = item.owner.default("ks-opaque-types")
            reason = ", and no spec of this name beside this one: it is opaque" if is_opaque else ""
            raise item.error(f"there is no type {text}{reason}", *keys)
        given = datatypes.arguments(named.group(2) or "") if named else ()
        if len(given) != len(found.params):
            raise item.error(f"{found.name} has {len(found.params)} parameters, not {len(given)}", *keys)
        return User(found, given)

    def cases(self, item: Field) -> Iterator[tuple[object, DataType]]:
        """The types of a switch, and when they count; `_` for the last."""
        switch = item.data["type"]
        cases = switch.get("cases")
        if not isinstance(cases, dict) or "switch-on" not in switch:
            raise item.error("a switch needs switch-on and cases", "type")
        for key, text in cases.items():
            if key != "_":
                yield key, self.data_type(item, text, "type", "cases", key)
        if "_" in cases:
            yield "_", self.data_type(item, cases["_"], "type", "cases", "_")
        elif item.data.keys() & SIZED:
            yield "_", Raw()

    def users(self, item: Field) -> list[User]:
        """The structures that a field can be."""
        try:
            return self._users(item)
        except SpecError as error:
            self.refuse(error)
            return []

    def _users(self, item: Field) -> list[User]:
        text = item.data.get("type")
        if isinstance(text, dict):
            return [found for _, found in self.cases(item) if isinstance(found, User)]
        found = self.data_type(item, text, "type") if text is not None else None
        return [found] if isinstance(found, User) else []

    # Kinds

    def kind(self, item: Field) -> Kind:
        """What a field, an instance or a parameter holds."""
        if item not in self.kinds:
            if item in self.open:
                return Int()  # an instance that depends on itself: a number, or it cannot be computed
            self.open.add(item)
            try:
                self.kinds[item] = self._kind(item)
            except SpecError as error:
                self.refuse(error)
                self.broken.add(item)
                self.kinds[item] = ANY
            finally:
                self.open.discard(item)
        return self.kinds[item]

    def refuse(self, error: SpecError) -> None:
        """Note a refusal; the compiler goes on to find others, but does not report what follows from one."""
        if not (str(error).endswith(FOLLOWS) and self.refused):
            self.refused.setdefault(str(error), error)

    def _kind(self, item: Field) -> Kind:
        if item.name in item.owner.params and item.owner.params[item.name] is item:
            return self._parameter(item)
        if item.is_value:
            return self._value(item)
        kind = self.item_kind(item)
        return List(kind) if "repeat" in item.data else kind

    def _value(self, item: Field) -> Kind:
        kind = self.value(item, Scope(item.owner), "value").kind
        if "enum" in item.data:
            return Label(self.enum(item), kind if isinstance(kind, Int) else Int())
        return kind

    def _parameter(self, item: Field) -> Kind:
        text = item.data.get("type", "bytes")
        is_list = isinstance(text, str) and text.endswith("[]")
        known = datatypes.parameter(text) if isinstance(text, str) else None
        if known is None:
            user = self.library.type(item.owner, str(text).removesuffix("[]").removeprefix("::").split("::"))
            if user is None:
                raise item.error(f"there is no type {text}", "type")
            known = List(Struct(user)) if is_list else Struct(user)
        if "enum" in item.data and isinstance(known, Int):
            return Label(self.enum(item), known)
        return known

    def item_kind(self, item: Field) -> Kind:
        """What one item of a field is; the field, unless it is repeated."""
        text = item.data.get("type")
        if isinstance(text, dict):
            kinds = [self.kind_of(item, found) for _, found in self.cases(item)]
            if not kinds:
                raise item.error("a switch needs cases", "type")
            return either(kinds)
        return self.kind_of(item, Raw() if text is None else self.data_type(item, text, "type"))

    def kind_of(self, item: Field, found: DataType) -> Kind:
        """What a field of this type holds."""
        match found:
            case User(type_):
                return Struct(type_)
            case String():
                return Text()
            case Number() | Bits():
                if "enum" in item.data:
                    number = found.kind if isinstance(found.kind, Int) else Int(0, 1, 1)
                    return Label(self.enum(item), number)
                return found.kind
        return Bytes()

    def enum(self, item: Field) -> Enum:
        """The enum of a field."""
        name = str(item.data["enum"])
        found = self.library.enum(item.owner, name.split("::"))
        if found is None:
            raise item.error(f"there is no enum {name}", "enum")
        return found

    # Expressions

    def value(self, item: Field, scope: Scope, *keys: str | int, source: object = None) -> Value:
        """The value of an expression under a key of a field."""
        text: Any = source
        if text is None:
            text = item.data
            for key in keys:
                text = text[key]
        try:
            tree = grammar.parse(text)
            self.reads |= set(grammar.names_in(tree))
            return evaluated(self, scope, tree)
        except grammar.ExpressionError as error:
            raise item.error(str(error), *keys) from None
        except RecursionError:
            raise item.error("this is nested too deeply", *keys) from None

    def expect(self, item: Field, scope: Scope, wanted: str, *keys: str | int, source: object = None) -> Value:
        """The value of an expression that must be a number, or true or false."""
        found = self.value(item, scope, *keys, source=source)
        fits = {"a number": Int, "true or false": Bool}[wanted]
        if not isinstance(found.kind, fits):
            raise item.error(f"{source if source is not None else item.data[str(keys[0])]} is not {wanted}", *keys)
        return found

    # What is around

    def _place(self, type_: Type, seen: set[Type]) -> None:
        seen.add(type_)
        for item in parsed(type_):
            for user in self.users(item):
                if user.type.top is type_.top and item.data.get("parent") is not False:
                    self._put(user.type, self._parent(item, type_))
                if user.type not in seen:
                    self._place(user.type, seen)

    def _parent(self, item: Field, type_: Type) -> Type | None:
        if "parent" not in item.data:
            return type_
        try:
            kind = self.value(item, Scope(type_), "parent").kind
        except SpecError:
            return None
        self.kinds.clear()
        return kind.type if isinstance(kind, Struct) else None

    def _put(self, type_: Type, around: Type | None) -> None:
        if type_.is_placed and type_.around is not around:
            type_.is_shared = True
        type_.is_placed, type_.around = True, around

    def parent_kind(self, type_: Type) -> Kind:
        """What `_parent` is in a type."""
        return ANY if type_.is_shared or type_.around is None else Struct(type_.around)

    # Sizes

    def bits(self, item: Field) -> int:
        """How many bits a field always has."""
        if item.data.keys() & {"if", "repeat"} or isinstance(item.data.get("type"), dict):
            raise grammar.ExpressionError(f"the size of {item.name} is not fixed")
        if "contents" in item.data:
            return 8 * len(contents(item))
        if "size" in item.data:
            size = item.data["size"]
            if isinstance(size, int):
                return 8 * size
            raise grammar.ExpressionError(f"the size of {item.name} is not fixed")
        if "type" not in item.data or item.data.keys() & SIZED:
            raise grammar.ExpressionError(f"the size of {item.name} is not fixed")
        return self.bits_of(self.data_type(item, item.data["type"], "type"))

    def bits_of(self, found: DataType) -> int:
        """How many bits a type always has."""
        match found:
            case Number():
                return 8 * found.width
            case Bits(count):
                return count
            case User(type_):
                return self.bits_of_type(type_)
        raise grammar.ExpressionError("its size is not fixed")

    def bits_of_type(self, type_: Type) -> int:
        """How many bits structures of a type always have."""
        if type_ in self.sizes:
            raise grammar.ExpressionError(f"the size of {type_.name} is not fixed")
        self.sizes.add(type_)
        try:
            total = 0
            for item in type_.seq:
                count = self.bits(item)
                is_bits = isinstance(datatypes.primitive(str(item.data.get("type"))), Bits)
                total = total + count if is_bits else (total + 7) // 8 * 8 + count
            return total
        finally:
            self.sizes.discard(type_)


def contents(item: Field) -> bytes:
    """The bytes that a field must have."""
    found = item.data["contents"]
    try:
        if isinstance(found, str):
            return found.encode()
        return b"".join(_content(part) for part in found)
    except (TypeError, ValueError):
        raise item.error("contents are a string, or a list of bytes and strings", "contents") from None


def _content(part: Any) -> bytes:
    if isinstance(part, int):
        return bytes([part])
    if is_number(part):
        return bytes([int(part, 0)])
    return str(part).encode()


def is_number(part: Any) -> bool:
    """Whether a text is a number, which YAML 1.1 does not know as one."""
    return isinstance(part, str) and part[:2].lower() in ("0x", "0o", "0b") and part[2:].isalnum()


def parsed(type_: Type) -> list[Field]:
    """The fields and instances of a type that are read."""
    return [item for item in (*type_.seq, *type_.instances.values()) if not item.is_value]


def structures(kind: Kind) -> list[Type]:
    """The types of the structures in a kind."""
    match kind:
        case Struct(type_):
            return [type_]
        case List(item):
            return structures(item)
    alternatives = getattr(kind, "alternatives", ())
    return [type_ for item in alternatives for type_ in structures(item)]
