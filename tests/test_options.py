from __future__ import annotations

import pytest

from thawline import formats, options
from thawline.options import BadOption, Option

CATALOGUE = (
    Option("since", ("kafka", "rbak"), "time", ""),
    Option("isolation", ("kafka",), "choice", "", ("read_uncommitted", "read_committed")),
)


@pytest.mark.parametrize(
    "kind, text, value",
    [
        ("flag", "yes", True),
        ("switch", "false", False),
        ("time", "1500", 1500),
        ("time", "1970-01-01T00:00:01.5", 1500),
        ("time", "1970-01-01T01:00:00+01:00", 0),
        ("time", "1969-12-31T23:59:59.999Z", -1),
        ("size", "4096", 4096),
        ("size", "256MiB", 256 << 20),
        ("size", "2 g", 2 << 30),
        ("span", "5..9", (5, 9)),
        ("span", "5..", (5, None)),
        ("span", "..9", (None, 9)),
        ("span", "5", (5, 5)),
        ("text", "anything", "anything"),
    ],
)
def test_a_value_is_read_the_way_a_person_writes_it(kind: options.Kind, text: str, value: object) -> None:
    assert Option("x", (), kind, "").value(text) == value


@pytest.mark.parametrize(
    "kind, text",
    [("flag", "maybe"), ("time", "noon"), ("size", "big"), ("size", "-1"), ("span", ".."), ("span", "a..b")],
)
def test_a_value_that_cannot_be_is_refused_with_its_name(kind: options.Kind, text: str) -> None:
    with pytest.raises(BadOption, match="x is"):
        Option("x", (), kind, "").value(text)


def test_an_unknown_option_is_refused_with_the_nearest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "OPTIONS", CATALOGUE)
    assert options.check("kafka", {"since": "5", "isolation": "read_committed"}) == {
        "since": 5,
        "isolation": "read_committed",
    }
    with pytest.raises(BadOption, match="did you mean isolation"):
        options.check("kafka", {"isolaton": "read_committed"})
    with pytest.raises(BadOption, match="rbf has no option since; it is for kafka and rbak"):
        options.check("rbf", {"since": 5})
    with pytest.raises(BadOption, match="one of read_uncommitted, read_committed"):
        options.check("kafka", {"isolation": "dirty"})


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda option: option.name)
def test_every_option_of_the_catalogue_is_a_field_of_its_formats(option: Option) -> None:
    for name in option.formats:
        assert hasattr(formats.get(name), option.name)
