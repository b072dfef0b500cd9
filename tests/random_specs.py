"""Random specs of Kaitai Struct that are valid, and bytes for them. What they mean is for two readers to agree on."""

from __future__ import annotations

import random
import struct
import zlib
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

INTEGERS = [f"{sign}{width}{order}" for sign in "us" for width in (1, 2, 4, 8) for order in ("le", "be")]
INTEGERS = sorted({name[:2] if name[1] == "1" else name for name in INTEGERS})
FLOATS = ["f4le", "f4be", "f8le", "f8be"]
ENCODINGS = ["ASCII", "UTF-8", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "windows-1252", "IBM437", "Shift_JIS"]
RULES = [{"max": 250}, {"min": -100}, {"expr": "_ != 77"}, {"any-of": [0, 1, 2, 3, 10, 32, 65, 97, 120]}]
ENDS = ["_ == 0 or _index > 3", "_index >= 2", "_io.eof"]
ENUM = {0: "zero", 1: "one", 2: "two", 7: "seven", 200: "many"}


@dataclass
class Names:
    """What expressions of a type can name, by kind."""

    ints: list[str] = field(default_factory=list)
    reals: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    blobs: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    """Of integers."""
    labels: list[str] = field(default_factory=list)


class Maker:
    """Makes one spec."""

    def __init__(self, chance: random.Random, name: str) -> None:
        self.chance, self.name = chance, name
        self.types: dict[str, Any] = {}
        self.count = 0

    def spec(self) -> dict[str, Any]:
        """The spec."""
        meta: dict[str, Any] = {"id": self.name, "endian": self.chance.choice(["le", "be"])}
        meta["bit-endian"] = self.chance.choice(["le", "be"])
        meta["encoding"] = "UTF-8"
        root = self.structure(2, may_end=True)
        return {"meta": meta, **root, "types": self.types, "enums": {"sorts": ENUM}}

    def structure(self, depth: int, *, may_end: bool) -> dict[str, Any]:
        """The fields and instances of a type."""
        names = Names()
        fields = [self.attribute(names, depth) for _ in range(self.chance.randint(1, 6))]
        if may_end and self.chance.random() < 0.5:
            fields.append(self.last(depth))
        instances = {}
        for _ in range(self.chance.randint(0, 4)):
            instances[self.name_of("i")] = self.instance(names, depth)
        return {"seq": fields, **({"instances": instances} if instances else {})}

    def name_of(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def type_of(self, depth: int, *, may_end: bool) -> str:
        name = self.name_of("t")
        self.types[name] = {}
        self.types[name] = self.structure(depth - 1, may_end=may_end)
        return name

    # Fields

    def attribute(self, names: Names, depth: int) -> dict[str, Any]:
        """A field, which expressions after it can name."""
        name = self.name_of("a")
        kinds = [self.number, self.number, self.real, self.bits, self.text, self.blob, self.switch, self.label]
        kinds.append(self.numbers)
        if depth:
            kinds += [self.nested, self.nested]
        made, target = self.chance.choice(kinds)(names, depth)
        made = {"id": name, **made}
        if "repeat" not in made and self.chance.random() < 0.15:
            made["if"] = self.truth(names)
        elif target is not None:
            target.append(name)
        return made

    def number(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        made: dict[str, Any] = {"type": self.chance.choice([*INTEGERS, "u1", "u1"])}
        if self.chance.random() < 0.1:
            made["valid"] = deepcopy(self.chance.choice(RULES))
        return made, names.ints

    def real(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        return {"type": self.chance.choice(FLOATS)}, names.reals

    def label(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        made: dict[str, Any] = {"type": self.chance.choice(["u1", "u2", "s4", "b3"]), "enum": "sorts"}
        if self.chance.random() < 0.1:
            made["valid"] = {"in-enum": True}
        return made, names.labels

    def bits(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        count = self.chance.choice([1, 1, 2, 3, 5, 8, 9, 13, 31, 33, 63, 64])
        order = self.chance.choice(["", "", "", "le", "be"])
        return {"type": f"b{count}{order}"}, names.bools if count == 1 else names.ints

    def text(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        encoding = self.chance.choice(ENCODINGS)
        return {"type": "str", "encoding": encoding, **self.sized(names, wide="16" in encoding)}, names.texts

    def blob(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        made = self.sized(names, wide=False)
        if self.chance.random() < 0.3:
            made["process"] = self.chance.choice(["xor(0x5a)", "xor([1, 2, 3])", "rol(3)", "ror(1)"])
        return made, names.blobs

    def sized(self, names: Names, *, wide: bool) -> dict[str, Any]:
        """How long text or bytes are."""
        made: dict[str, Any] = {}
        if self.chance.random() < 0.35 and not wide:
            made = {"terminator": self.chance.choice([0, 10, 0x20]), "eos-error": self.chance.random() < 0.3}
            made |= {key: self.chance.random() < 0.5 for key in ("include", "consume") if self.chance.random() < 0.4}
            if self.chance.random() < 0.6:
                return made
            made = {key: made[key] for key in ("terminator", "include") if key in made}
        made["size"] = self.small(names)
        if self.chance.random() < 0.3 and not wide:
            made["pad-right"] = self.chance.choice([0, 0x20, 0x41])
        return made

    def small(self, names: Names) -> int | str:
        """A length or a count."""
        if names.ints and self.chance.random() < 0.4:
            return f"{self.chance.choice(names.ints)} & {self.chance.choice([1, 3, 7])}"
        return self.chance.randint(0, 5)

    def numbers(self, names: Names, _depth: int) -> tuple[dict[str, Any], list[str] | None]:
        made: dict[str, Any] = {"type": self.chance.choice([*INTEGERS, *FLOATS[:2]]), **self.repeat(names)}
        return made, names.lists if made["type"][0] != "f" else None

    def repeat(self, names: Names) -> dict[str, Any]:
        if self.chance.random() < 0.3:
            return {"repeat": "until", "repeat-until": self.chance.choice(ENDS)}
        return {"repeat": "expr", "repeat-expr": self.small(names)}

    def switch(self, names: Names, depth: int) -> tuple[dict[str, Any], list[str] | None]:
        on = f"{self.chance.choice(names.ints)} & 3" if names.ints else "3"
        kinds: list[str] = [self.chance.choice([*INTEGERS, *FLOATS]) for _ in range(self.chance.randint(1, 3))]
        cases: dict[Any, str] = dict(enumerate(kinds))
        if depth and self.chance.random() < 0.6:
            cases[2] = self.type_of(depth, may_end=False)
        if self.chance.random() < 0.4:
            cases["_"] = self.chance.choice(["u1", "s4be", "f8le"])
        made: dict[str, Any] = {"type": {"switch-on": on, "cases": cases}}
        if self.chance.random() < 0.2:
            made["size"] = 8
        elif self.chance.random() < 0.2:
            made |= {"repeat": "expr", "repeat-expr": self.chance.randint(0, 3)}
        return made, None

    def nested(self, names: Names, depth: int) -> tuple[dict[str, Any], list[str] | None]:
        made: dict[str, Any] = {}
        if self.chance.random() < 0.4:
            made["size"] = self.chance.randint(4, 40)
            if self.chance.random() < 0.3:
                made["process"] = self.chance.choice(["xor(0xff)", "rol(5)"])
        made["type"] = self.type_of(depth, may_end="size" in made)
        if self.chance.random() < 0.4:
            made |= {"repeat": "expr", "repeat-expr": self.small(names)}
        return made, None

    def last(self, depth: int) -> dict[str, Any]:
        """A field that takes the rest."""
        name = self.name_of("z")
        match self.chance.randrange(4):
            case 0:
                return {"id": name, "size-eos": True}
            case 1:
                return {"id": name, "type": "str", "encoding": "ISO-8859-1", "size-eos": True}
            case 2 if depth:
                return {"id": name, "type": self.type_of(depth, may_end=False), "repeat": "eos"}
        return {"id": name, "type": self.chance.choice(["u1", "s2le", "u4be"]), "repeat": "eos"}

    # Instances and expressions

    def instance(self, names: Names, depth: int) -> dict[str, Any]:
        kind = self.chance.randrange(10)
        if kind < 6:
            make = self.chance.choice([self.integer, self.integer, self.truth, self.float, self.string])
            return {"value": make(names)}
        made: dict[str, Any] = {"pos": self.small(names)}
        if self.chance.random() < 0.3:
            made["io"] = "_root._io"
        if kind < 8:
            return made | {"type": self.chance.choice(INTEGERS)}
        if kind < 9 and depth:
            return made | {"type": self.type_of(depth, may_end=False)}
        return made | {"size": self.small(names)}

    def integer(self, names: Names, depth: int = 3) -> str:
        """An expression that gives an integer."""
        deeper = depth - 1
        leaves = [str(self.chance.choice([0, 1, 2, 3, 7, 8, 255, 256, 65535, 4294967296]))]
        leaves += names.ints * 3 + [f"{name}.to_i" for name in names.labels]
        leaves += ["_io.pos"] if self.chance.randrange(3) == 0 else []
        leaves += [f"{name}.length" for name in names.texts + names.blobs] + [f"{name}.size" for name in names.lists]
        leaves += [f"{name}.{self.chance.choice(['first', 'last', 'min', 'max'])}" for name in names.lists]
        leaves += [f"{name}[{self.chance.randrange(3)}]" for name in names.lists + names.blobs]
        if depth == 0 or self.chance.random() < 0.3:
            return self.chance.choice(leaves)
        pick = self.chance.choice
        match self.chance.randrange(9):
            case 0 | 1 | 2:
                return f"({self.integer(names, deeper)} {pick('+-*&|^')} {self.integer(names, deeper)})"
            case 3:
                return f"({self.integer(names, deeper)} {pick(['/', '%'])} {pick([1, 3, 7, 1000])})"
            case 4:
                return f"({self.integer(names, deeper)} {pick(['<<', '>>'])} {pick([0, 1, 5, 31, 33])})"
            case 5:
                return f"({self.truth(names, deeper)} ? {self.integer(names, deeper)} : {self.integer(names, deeper)})"
            case 6:
                return f"(-{self.integer(names, deeper)})"
            case 7:
                return f"(~{self.integer(names, deeper)})"
        return f"{self.integer(names, 0)}.to_s.length" if names.ints else "0"

    def truth(self, names: Names, depth: int = 2) -> str:
        """An expression that is true or false."""
        deeper = max(0, depth - 1)
        sign = self.chance.choice(["==", "!=", "<", ">", "<=", ">="])
        if names.bools and self.chance.random() < 0.3:
            return self.chance.choice(names.bools)
        if names.labels and self.chance.random() < 0.3:
            return f"({self.chance.choice(names.labels)} {sign[:2] if sign in ('==', '!=') else '=='} sorts::two)"
        if names.texts and self.chance.random() < 0.2:
            return f'({self.chance.choice(names.texts)} {sign} "ab")'
        if names.reals and self.chance.random() < 0.2:
            return f"({self.chance.choice(names.reals)} {sign} {self.float(names, 0)})"
        if depth and self.chance.random() < 0.3:
            return f"({self.truth(names, deeper)} {self.chance.choice(['and', 'or'])} not {self.truth(names, deeper)})"
        return f"({self.integer(names, deeper)} {sign} {self.integer(names, deeper)})"

    def float(self, names: Names, depth: int = 2) -> str:
        """An expression that gives a float."""
        leaves = ["0.5", "2.0", "1e3", *names.reals, *names.reals]
        if depth == 0 or self.chance.random() < 0.4:
            return self.chance.choice(leaves)
        return f"({self.float(names, depth - 1)} {self.chance.choice('+-*')} {self.float(names, depth - 1)})"

    def string(self, names: Names, depth: int = 2) -> str:
        """An expression that gives a text."""
        leaves = ['"some text"', *names.texts, *names.texts, f"{self.integer(names, 1)}.to_s"]
        if depth == 0 or self.chance.random() < 0.4:
            return self.chance.choice(leaves)
        match self.chance.randrange(3):
            case 0:
                return f"({self.string(names, depth - 1)} + {self.string(names, depth - 1)})"
            case 1:
                return f"{self.string(names, 0)}.reverse"
        return f"({self.truth(names)} ? {self.string(names, depth - 1)} : {self.string(names, depth - 1)})"


def random_data(chance: random.Random) -> bytes:
    """Bytes with small numbers, text and ends of strings in them."""
    made = bytearray()
    while len(made) < chance.choice([3, 20, 60, 150]):
        match chance.randrange(6):
            case 0:
                made += bytes([chance.choice([0, 0, 1, 2, 3, 10, 32, 65])])
            case 1:
                made += chance.choice(["ab\0", "grün\n", "x ", "zwei\0"]).encode()
            case 2:
                made += struct.pack(chance.choice("<>") + "f", chance.choice([0.0, 1.5, -2.25, 1e20]))
            case 3:
                made += chance.randbytes(chance.randint(1, 6))
            case 4:
                made += struct.pack(chance.choice("<>") + "H", chance.randrange(6))
            case _:
                made += zlib.compress(b"zip")[: chance.randint(1, 4)] if chance.random() < 0.1 else bytes(2)
    return bytes(made)
