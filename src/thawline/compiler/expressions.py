"""The part of Kaitai's expression language that the columnar backend supports: text to tree."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"\s*(?:(?P<number>0x[0-9a-fA-F_]+|0b[01_]+|\d[\d_]*)"
    r"|(?P<name>[a-z_]\w*(?:::[a-z_]\w*)*)"
    r"|(?P<operator><<|>>|<=|>=|==|!=|[-+*/%&|^~<>?:.,()]))"
)
PRECEDENCE = {
    "or": 1, "and": 2,
    "<": 4, ">": 4, "<=": 4, ">=": 4, "==": 4, "!=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
NOT = 3


class ExpressionError(Exception):
    """An expression that cannot be parsed or that the backend does not support."""


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, or true and false as 1 and 0."""

    value: int
    is_bool: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A field, an instance, a parameter, `_`, `_io` or `_parent`."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """A value of an enum: `compression::none`."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field of something: `body.crc`."""

    target: Node
    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with its operands: one for `-`, `~` and `not`, three for `?`, else two."""

    operator: str
    operands: tuple[Node, ...]


Node = Number | Name | Member | Attribute | Operation


def parse(source: object) -> Node:
    """The tree of an expression, which YAML may already have read as a number or a boolean."""
    if isinstance(source, int):
        return Number(int(source), is_bool=isinstance(source, bool))
    if not isinstance(source, str):
        raise ExpressionError(f"{source!r} is no expression")
    return _Parser(source).whole()


def shown(node: Node) -> str:
    """A name or a dotted path as the spec writes it; any other node in brief."""
    match node:
        case Name(name):
            return name
        case Attribute(target, name):
            return f"{shown(target)}.{name}"
        case Number(value):
            return str(value)
        case Member(path):
            return "::".join(path)
        case Operation(operator):
            return f"(… {operator} …)"


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = list(_tokens(source))
        self.at = 0

    def whole(self) -> Node:
        tree = self.ternary()
        if self.peek() is not None:
            raise ExpressionError(f"{self.peek()!r} is not expected in {self.source!r}")
        return tree

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, wanted: str | None = None) -> str:
        word = self.peek()
        if word is None or (wanted is not None and word != wanted):
            raise ExpressionError(f"{wanted or 'an operand'} is missing in {self.source!r}")
        self.at += 1
        return word

    def ternary(self) -> Node:
        condition = self.binary(1)
        if self.peek() != "?":
            return condition
        self.take("?")
        then = self.ternary()
        self.take(":")
        return Operation("?", (condition, then, self.ternary()))

    def binary(self, least: int) -> Node:
        left = self.unary()
        while (operator := self.peek()) in PRECEDENCE and PRECEDENCE[operator] >= least:
            self.take()
            left = Operation(operator, (left, self.binary(PRECEDENCE[operator] + 1)))
        return left

    def unary(self) -> Node:
        word = self.peek()
        if word in ("-", "~"):
            return Operation(self.take(), (self.unary(),))
        if word == "not":
            self.take()
            return Operation("not", (self.binary(NOT),))
        return self.postfix(self.atom())

    def atom(self) -> Node:
        word = self.take()
        if word == "(":
            inner = self.ternary()
            self.take(")")
            return inner
        if word[0].isdigit():
            return self.number(word)
        if word in ("true", "false"):
            return Number(int(word == "true"), is_bool=True)
        if "::" in word:
            return Member(tuple(word.split("::")))
        if word[0].isalpha() or word[0] == "_":
            return Name(word)
        raise ExpressionError(f"{word!r} is not expected in {self.source!r}")

    def number(self, word: str) -> Number:
        try:
            return Number(int(word.replace("_", ""), 0))
        except ValueError:  # a leading zero, which the versions of YAML read differently
            raise ExpressionError(f"{word} is no number") from None

    def postfix(self, node: Node) -> Node:
        while self.peek() == ".":
            self.take(".")
            node = Attribute(node, self.take())
        return node


def _tokens(source: str) -> list[str]:
    tokens, at = [], 0
    while source[at:].strip():
        found = TOKEN.match(source, at)
        if not found:
            raise ExpressionError(f"cannot read {source[at:].strip()!r}")
        tokens.append(found.group().strip())
        at = found.end()
    return tokens
