from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policy.wishes import NOTHING, PREFIX, TABLE, Wishes, read
from techniques.core.errors import RequestRejected
from techniques.core.json import Json

GOOD: dict[str, tuple[str, Json, Json]] = {
    "technique": ("self_refine", "self_refine", "self_refine"),
    "params": ('{"num_samples": 7}', {"num_samples": 7}, {"num_samples": 7}),
    "channels": ("a, b", ["a", "b"], ("a", "b")),
    "judge": ("smart", "smart", "smart"),
    "critic": ("smart", "smart", "smart"),
    "max-cost-usd": ("0.10", 0.1, Decimal("0.1")),
    "max-calls": ("7", 7, 7),
    "deadline-ms": ("1500", 1500, 1500),
    "on-error": ("raise", "raise", "raise"),
    "fallbacks": ("a,b", ["a", "b"], ("a", "b")),
    "strict": ("1", True, True),
    "session": ("s-1", "s-1", "s-1"),
    "run": ("r-1", "r-1", "r-1"),
    "tags": ("x y", "x y", "x y"),
    "expose": ("trace", "trace", "trace"),
    "usage-mode": ("total", "total", "total"),
    "n-policy": ("rank", "rank", "rank"),
    "on-limit": ("reject", "reject", "reject"),
    "max-wait-ms": ("0", 0, 0),
    "retries": ("1", 1, 1),
    "priority": ("3", 3, 3),
    "lambda": ("0.5", 0.5, 0.5),
    "category": ("tax law", "tax law", "tax law"),
    "explore": ("0", False, False),
    "pin": ('["x, y", "z"]', ["x, y", "z"], ("x, y", "z")),
}
"""For each wish in effect: a header's value, a body's value and what both mean."""

IGNORED: dict[str, tuple[str, Json]] = {
    "reuse": ("off", "on"),
    "reuse-ttl": ("1h", "1h"),
    "reuse-namespace": ("n", "n"),
}

BAD: dict[str, list[Json]] = {
    "technique": ["", "x" * 257, 5, None, ["none"]],
    "params": ["", "{", "[1]", "7", 7, None, ["a"]],
    "channels": ["", " , ", "a,,b", [], [1], ["a", ""], {"a": 1}, 7, None],
    "judge": ["", None, 1],
    "critic": ["", None, 1],
    "max-cost-usd": ["-1", "much", "nan", "inf", "1e900000", "", True, None, [1], "sNaN", -0.01],
    "max-calls": ["0", "-1", "1.5", "ten", "10001", "9" * 30, True, 1.0, None, [1], "²", "1_0"],
    "deadline-ms": ["0", "86400001", "soon", False, None],
    "on-error": ["", "shrug", None, ["raise"], {"raise": 1}],
    "fallbacks": ["", [], "a,", [None]],
    "strict": ["2", "yes", "", None, [], 2],
    "session": ["", "x" * 257, 1, "a\0b"],
    "run": ["", "x" * 257, 1],
    "tags": ["", ["a"], "\0"],
    "expose": ["", "everything", None, ["trace"]],
    "usage-mode": ["", "sum", True, None],
    "n-policy": ["", "passthrough", 2, None],
    "lambda": ["-1", "x", None, "inf"],
    "category": ["", "x" * 65, "a\nb", 1, None],
    "explore": ["2", "", None],
    "on-limit": ["wait", 1],
    "max-wait-ms": ["-1", "x"],
    "retries": ["-1", "101", "x", None, True],
    "priority": ["10", "-1", "x"],
    "pin": ["", "[", "[1]", "[]", [], [""], ["x" * 257], ["x"] * 33, 5, None, {"a": 1}],
    "reuse": ["maybe", True],
    "reuse-ttl": ["", 5],
    "reuse-namespace": ["", 5],
}


def field(name: str) -> str:
    return name.replace("-", "_")


def own(name: str) -> str:
    return "lambda_" if name == "lambda" else field(name)


def test_every_wish_of_the_table_is_tried_here() -> None:
    assert GOOD.keys() | IGNORED.keys() == TABLE.keys()
    assert BAD.keys() == TABLE.keys()


def test_who_wishes_nothing_gets_the_one_empty_wish() -> None:
    assert read({}, {}) is NOTHING
    assert read({"content-type": "application/json"}, {}) is NOTHING


@pytest.mark.parametrize("name", GOOD)
def test_a_header_and_the_body_mean_the_same(name: str) -> None:
    header, body, meant = GOOD[name]

    assert read({PREFIX + name: header}, {}) == Wishes(**{own(name): meant})
    assert read({}, {field(name): body}) == Wishes(**{own(name): meant})


def test_a_session_may_be_named_as_other_gateways_name_it() -> None:
    assert read({"x-lockgate-session-id": "s-1"}, {}) == Wishes(session="s-1")


@pytest.mark.parametrize("name", GOOD)
def test_a_header_wins_over_the_body(name: str) -> None:
    other = {"params": {}, "channels": ["z"], "fallbacks": ["z"], "strict": False, "explore": True}
    words = {
        "on-error": "fallback_baseline",
        "expose": "final",
        "usage-mode": "answer",
        "n-policy": "native",
    }
    beneath = other.get(name, words.get(name, "9"))

    wishes = read({PREFIX + name: GOOD[name][0]}, {field(name): beneath})

    assert getattr(wishes, own(name)) == GOOD[name][2]


@pytest.mark.parametrize(
    ("said", "meant"),
    [("1", True), ("true", True), (1, True), ("0", False), ("false", False), (False, False)],
)
def test_strictness_is_said_in_several_ways(*, said: Json, meant: bool) -> None:
    assert read({}, {"strict": said}).strict is meant


def test_headers_and_the_body_add_up() -> None:
    wishes = read({f"{PREFIX}judge": "a"}, {"critic": "b", "max_calls": 3})

    assert wishes == Wishes(judge="a", critic="b", max_calls=3)


@pytest.mark.parametrize("name", IGNORED)
def test_what_has_no_effect_yet_is_read_and_named(name: str) -> None:
    header, body = IGNORED[name]

    assert read({PREFIX + name: header}, {}) == Wishes(ignored=(name,))
    assert read({}, {field(name): body}) == Wishes(ignored=(name,))


@pytest.mark.parametrize("view", ["final", "trace", "optimistic"])
def test_each_view_of_a_technique_may_be_asked_for(view: str) -> None:
    assert read({f"{PREFIX}expose": view}, {}).expose == view


CASES = [(name, value) for name, values in BAD.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{n}={v!r:.20}" for n, v in CASES])
def test_a_bad_value_names_the_header_or_the_field_it_came_in(name: str, value: Json) -> None:
    ways: list[tuple[str, dict[str, str], dict[str, Json]]] = [
        (f"reliability.{field(name)}", {}, {field(name): value})
    ]
    if isinstance(value, str):
        ways.append((PREFIX + name, {PREFIX + name: value}, {}))
    for at, headers, body in ways:
        with pytest.raises(RequestRejected, match=f"^{at} must be ") as caught:
            read(headers, body)

        assert (caught.value.code, caught.value.param) == ("invalid_wish", at)


def test_where_a_wish_was_said_is_remembered() -> None:
    headers = {f"{PREFIX}judge": "a", "idempotency-key": "k"}
    wishes = read(headers, {"judge": "b", "max_calls": 3})

    assert wishes.at("judge") == f"{PREFIX}judge"
    assert wishes.at("max-calls") == "reliability.max_calls"
    assert wishes.at("run") == "idempotency-key"
    assert wishes.at("critic") == f"{PREFIX}critic"


@pytest.mark.parametrize(
    ("at", "headers", "body", "meant"),
    [
        (f"{PREFIX}tecnique", {f"{PREFIX}tecnique": "none"}, {}, "technique"),
        ("reliability.max_call", {}, {"max_call": 3}, "max_calls"),
        (f"{PREFIX}max-call", {f"{PREFIX}max-call": "3"}, {}, "max-calls"),
    ],
)
def test_an_unknown_name_is_named_with_those_that_exist_as_it_was_said(
    at: str, headers: dict[str, str], body: dict[str, Json], meant: str
) -> None:
    with pytest.raises(RequestRejected, match=rf"Did you mean {meant}\?$") as caught:
        read(headers, body)

    assert (caught.value.code, caught.value.param) == ("unknown_wish", at)
    assert caught.value.message.startswith(f"There is no {at}; there are technique, ")


@pytest.mark.parametrize("name", ["ignored", "", "technique ", "x" * 500])
def test_no_other_name_is_known_in_the_body(name: str) -> None:
    with pytest.raises(RequestRejected) as caught:
        read({}, {name: "x"})

    assert caught.value.code == "unknown_wish"
    assert len(caught.value.message) < 600


def test_a_dry_run_is_refused_and_not_made_for_real() -> None:
    with pytest.raises(RequestRejected, match="not available"):
        read({f"{PREFIX}dry-run": "1"}, {})


def test_an_idempotency_key_names_the_run_unless_one_is_named() -> None:
    assert read({"idempotency-key": "k"}, {}) == Wishes(run="k")
    assert read({"idempotency-key": "k", f"{PREFIX}run": "r"}, {}).run == "r"
    assert read({"idempotency-key": "k"}, {"run": "r"}).run == "r"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(TABLE)), VALUES)
def test_any_value_is_read_or_refused_and_nothing_else(name: str, value: Json) -> None:
    try:
        read({}, {field(name): value})
    except RequestRejected as error:
        named = error.param
    else:
        named = f"reliability.{field(name)}"

    assert named == f"reliability.{field(name)}"


def test_a_pin_may_be_one_text_as_it_is() -> None:
    assert read({"x-lockgate-pin": "order 7, by May"}, {}).pin == ("order 7, by May",)


@pytest.mark.parametrize("header", [f"{PREFIX}run", "idempotency-key"])
@pytest.mark.parametrize(
    "name",
    ["", "a\tb", "\x85\xa0", "x" * 257, "import"]
    + [f"a/b/{word}" for word in ("events", "resume", "cancel", "fork", "export")],
)
def test_a_run_has_a_name_that_fits_a_header_and_an_address_of_its_own(
    header: str, name: str
) -> None:
    with pytest.raises(RequestRejected) as caught:
        read({header: name}, {})
    assert (caught.value.code, caught.value.param) == ("invalid_wish", header)


@pytest.mark.parametrize("name", ["a/b", "a_b", "été 1", "events", "x" * 256])
def test_other_names_of_runs_are_kept_as_they_are(name: str) -> None:
    assert read({"idempotency-key": name}, {}).run == name
