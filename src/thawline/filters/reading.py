"""The text of an expression as a tree, with bounds on how long and how deep it may be."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]  # it has them

from thawline.filters import BadFilter
from thawline.wording import printable

LONGEST, MOST_TOKENS, DEEPEST = 100_000, 20_000, 60
SHOWN = 60
SIMPLE = re.compile(r"([^\W\d]\w*)=([^\s'\"]*)")
"""The short form `column=value`: no spaces, no quotes."""
OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}


class Sql(DuckDB):
    """DuckDB's SQL, and bytes and numbers in hexadecimal: `x'00ff'` and `0x100`."""

    class Tokenizer(DuckDB.Tokenizer):
        """How it is cut into tokens."""

        HEX_STRINGS = [("x'", "'"), ("X'", "'"), ("0x", ""), ("0X", "")]  # noqa: RUF012 - as sqlglot declares it

    class Generator(DuckDB.Generator):  # type: ignore[misc, valid-type]  # sqlglot makes it
        """How it is written for DuckDB, which has no hexadecimal literals."""

        def hexstring_sql(self, node: Any, *_more: object) -> str:
            """Bytes in hexadecimal, as DuckDB reads them."""
            return f"from_hex('{node.name}')"


def read(text: str) -> exp.Expression:
    """The tree of an expression; `column=value`, the short form, is the column compared with that text."""
    short = SIMPLE.fullmatch(text.strip())
    if short:
        value = exp.Literal.string(short[2])
        value.meta["short"] = True
        return exp.EQ(this=exp.column(short[1], quoted=True), expression=value)
    trees = [tree for tree in parsed(text) if tree is not None]
    if not trees:
        raise BadFilter("the filter is empty; write it like offset >= 100")
    if len(trees) > 1 or not isinstance(trees[0], exp.Expression):
        raise BadFilter(f"{shown(text)}: is more than one expression")
    return trees[0]


def parsed(text: str) -> list[Any]:
    """The statements of a text; `BadFilter` where it cannot be read, or is too long or too deep to try."""
    if len(text) > LONGEST:
        raise BadFilter(f"{shown(text)}: is longer than {LONGEST} letters")
    try:
        dialect = Sql()
        tokens = dialect.tokenize(text)
        _check_depth(text, tokens)
        return list(dialect.parser().parse(tokens, text))
    except RecursionError:
        raise BadFilter(f"{shown(text)}: is nested too deeply") from None
    except SqlglotError as error:
        raise BadFilter(f"{shown(text)}: cannot be read as SQL{_place(error)}") from None


def _check_depth(text: str, tokens: list[Token]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise BadFilter(f"{shown(text)}: has more than {MOST_TOKENS} words and signs")
    depth = signs = 0
    for token in tokens:
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        signs = signs + 1 if token.token_type in PREFIXES else 0
        if depth + signs > DEEPEST:
            raise BadFilter(f"{shown(text)}: is nested too deeply")


def _place(error: SqlglotError) -> str:
    for fact in getattr(error, "errors", ()):
        if fact.get("highlight"):
            return f", at {shown(fact['highlight'])}"
    return ""


def shown(text: str) -> str:
    """A text in a message: one line, not too long, without control characters."""
    return f"'{cut(text)}'"


def cut(text: str) -> str:
    """The start of a text, without control characters."""
    return printable(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def as_written(node: exp.Expression) -> str:
    """A part of an expression in a message."""
    try:
        return cut(node.sql(dialect=Sql, comments=False))
    except (SqlglotError, RecursionError):
        return "an expression"
