"""Kaitai's whole expression language: text to tree. What the narrow compiler knows, it shares with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from thawline.compiler.expressions import (
    NOT,
    PRECEDENCE,
    Attribute,
    ExpressionError,
    Member,
    Name,
    Number,
    Operation,
)

__all__ = ["Array", "Attribute", "Call", "Cast", "ExpressionError", "Format", "Index", "Member", "Name", "Node",
           "Number", "Operation", "Real", "Size", "Text", "names_in", "parse"]  # fmt: skip

TOKEN = re.compile(
    r"\s*(?:(?P<real>\d[\d_]*(?:\.(?![\w.])|(?:\.\d[\d_]*(?:[eE][-+]?\d+)?|[eE][-+]?\d+)\b))"
    r"|(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*)"
    r"|(?P<text>f?\"(?:[^\"\\]|\\.)*\"|'[^']*')"
    r"|(?P<name>(?:::)?[a-zA-Z_]\w*(?:::[a-zA-Z_]\w*)*)"
    r"|(?P<operator><<|>>|<=|>=|==|!=|[-+*/%&|^~<>?:.,()\[\]]))",
    re.DOTALL,
)
ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
MAX_NESTING = 60


@dataclass(frozen=True, slots=True)
class Real:
    """A number with a fraction."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    value: str


@dataclass(frozen=True, slots=True)
class Format:
    """A string with expressions in it: `f"abc={x}"`."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """An item of an array."""

    target: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A method with arguments."""

    target: Node
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A value taken for another type: `.as<type>`."""

    target: Node
    type: str
    is_array: bool


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a type: `sizeof<type>` or `bitsizeof<type>`."""

    type: str
    in_bits: bool


Node = Number | Real | Text | Format | Name | Member | Attribute | Operation | Array | Index | Call | Cast | Size


def parse(source: object) -> Node:
    """The tree of an expression, which YAML may already have read as a number or a boolean."""
    if isinstance(source, int):
        return Number(int(source), is_bool=isinstance(source, bool))
    if isinstance(source, float):
        return Real(source)
    if not isinstance(source, str):
        raise ExpressionError(f"{source!r} is no expression")
    try:
        return _Parser(source).whole()
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None


def names_in(node: object) -> Iterator[str]:
    """Every name that stands in an expression."""
    if isinstance(node, Name | Attribute | Call):
        yield node.name
    if isinstance(node, tuple):
        for item in node:
            yield from names_in(item)
    elif is_dataclass(node):
        for item in fields(node):
            yield from names_in(getattr(node, item.name))


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = list(_tokens(source))
        self.at = 0
        self.nesting = 0

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
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise ExpressionError("the expression is nested too deeply")
        condition: Any = self.binary(1)
        if self.peek() == "?":
            self.take("?")
            then: Any = self.ternary()
            self.take(":")
            condition = Operation("?", (condition, then, self.ternary()))  # type: ignore[arg-type]
        self.nesting -= 1
        return condition  # type: ignore[no-any-return]

    def binary(self, least: int) -> Node:
        left: Any = self.unary()
        while (operator := self.peek()) in PRECEDENCE and PRECEDENCE[operator] >= least:
            self.take()
            right: Any = self.binary(PRECEDENCE[operator] + 1)
            left = Operation(operator, (left, right))
        return left  # type: ignore[no-any-return]

    def unary(self) -> Node:
        word = self.peek()
        if word in ("-", "~", "+"):
            self.take()
            operand: Any = self.unary()
            return operand if word == "+" else Operation(word, (operand,))
        if word == "not":
            self.take()
            negated: Any = self.binary(NOT)
            return Operation("not", (negated,))
        return self.postfix(self.atom())

    def atom(self) -> Node:
        word = self.take()
        if word == "(":
            inner = self.ternary()
            self.take(")")
            return inner
        if word == "[":
            return Array(self.listed("]"))
        if word[0] in "\"'":
            return Text(_text(word))
        if word[:2] == 'f"':
            return Format(tuple(_parts(word[2:-1])))
        if word[0].isdigit():
            return _number(word)
        if word in ("true", "false"):
            return Number(int(word == "true"), is_bool=True)
        if word in ("sizeof", "bitsizeof"):
            self.take("<")
            name = self.take()
            self.take(">")
            return Size(name, word == "bitsizeof")
        if "::" in word:
            return Member(tuple(word.removeprefix("::").split("::")))
        if word[0].isalpha() or word[0] == "_":
            return Name(word)
        raise ExpressionError(f"{word!r} is not expected in {self.source!r}")

    def listed(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while self.peek() != end:
            items.append(self.ternary())
            if self.peek() != end:
                self.take(",")
        self.take(end)
        return tuple(items)

    def postfix(self, node: Node) -> Node:
        target: Any = node
        while self.peek() in (".", "["):
            if self.take() == "[":
                target = Index(target, self.ternary())
                self.take("]")
            else:
                target = self.member(target, self.take())
        return target  # type: ignore[no-any-return]

    def member(self, target: Any, name: str) -> Node:
        if name == "as" and self.peek() == "<":
            self.take("<")
            type_ = self.take()
            is_array = self.peek() == "["
            if is_array:
                self.take("[")
                self.take("]")
            self.take(">")
            return Cast(target, type_, is_array)
        if self.peek() == "(":
            self.take("(")
            return Call(target, name, self.listed(")"))
        return Attribute(target, name)


def _number(word: str) -> Node:
    plain = word.replace("_", "")
    try:
        if plain[:2].lower() not in ("0x", "0b", "0o"):
            return Real(float(plain)) if any(mark in plain for mark in ".eE") else Number(int(plain, 10))
        return Number(int(plain, 0))
    except ValueError:
        raise ExpressionError(f"{word} is no number") from None


def _text(word: str) -> str:
    return word[1:-1] if word[0] == "'" else _unescaped(word[1:-1])


def _unescaped(text: str) -> str:
    return ESCAPE.sub(lambda found: _character(found.group(1)), text)


def _character(escape: str) -> str:
    if escape[0] == "u" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape[0].isdigit():
        return chr(int(escape, 8))
    return ESCAPES.get(escape, escape)


def _parts(text: str) -> Iterator[Node]:
    """The strings and expressions of a format; an expression cannot hold a brace."""
    for index, part in enumerate(re.split(r"\{([^{}]*)\}", text)):
        if index % 2:
            yield parse(_unescaped(part) if '\\"' in part else part)
        elif part:
            yield Text(_unescaped(part))


def _tokens(source: str) -> Iterator[str]:
    at = 0
    while source[at:].strip():
        found = TOKEN.match(source, at)
        if not found:
            raise ExpressionError(f"cannot read {source[at:].strip()!r}")
        yield found.group().strip()
        at = found.end()
