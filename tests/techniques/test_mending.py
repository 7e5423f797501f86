from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.json import Json
from techniques.parts.critique import Finding
from techniques.parts.mending import patched, worth_mending

ABSENT = Finding("", "missing", "Say when.", "major")
WRONG = Finding("in 1916", "wrong", "in 1917", "critical")
ORDER = '{"id": 12345678901234567890123, "items": [{"name": "pen", "a/b": "43"}], "n": 1}'


def test_phantoms_repeats_and_trifles_are_left_out() -> None:
    text = "It began\nin  1916 there."
    phantom = replace(WRONG, quote="in 1999")
    trifle = Finding("It began", "unclear", "It started", "minor")
    same_quote = replace(WRONG, fix="another year")
    same_words = replace(ABSENT, fix="say WHEN")
    unquoted = replace(WRONG, quote="")
    said = [trifle, ABSENT, phantom, WRONG, same_quote, same_words, unquoted]
    assert worth_mending(said, text, "prose", floor="major") == [WRONG, ABSENT]
    assert worth_mending([WRONG, ABSENT], text, "prose", earlier=[WRONG]) == [ABSENT]
    assert worth_mending([trifle], text, "prose") == [trifle]


def test_a_patch_replaces_the_passage_and_nothing_else() -> None:
    assert patched("It began in 1916.", [WRONG], "prose") == "It began in 1917."


@pytest.mark.parametrize(
    ("text", "finding", "kind"),
    [
        ("It began in 1916.", ABSENT, "prose"),
        ("in 1916, in 1916", WRONG, "prose"),
        ("It began in 1916.", replace(WRONG, fix="x" * 400), "prose"),
        ("It began in 1916.", WRONG, "number"),
        ("It began in 1916.", WRONG, "json"),
    ],
)
def test_what_cannot_be_patched_is_left_to_the_model(
    text: str, finding: Finding, kind: Json
) -> None:
    assert patched(text, [finding], kind) is None


def at(pointer: str, fix: str, kind: Json = "wrong") -> Finding:
    return Finding(pointer, kind, fix, "major")


@pytest.mark.parametrize(
    ("finding", "path", "value"),
    [
        (at("/n", "2"), ("n",), 2),
        (at("/n", '{"of": [1]}'), ("n",), {"of": [1]}),
        (at("/items/0/name", '"ink"'), ("items", 0, "name"), "ink"),
        (at("/items/0/name", "ink"), ("items", 0, "name"), "ink"),
        (at("/items/0/a~1b", "44"), ("items", 0, "a/b"), "44"),
        (at("/items/0/a~1b", "null"), ("items", 0, "a/b"), None),
        (at("/unit", '"kg"', "missing"), ("unit",), "kg"),
        (at("/items/-", "{}", "missing"), ("items", 1), {}),
    ],
)
def test_a_pointer_says_which_value_to_put_in(finding: Finding, path: Json, value: Json) -> None:
    assert worth_mending([finding], ORDER, "json") == [finding]
    text = patched(ORDER, [finding], "json")
    assert text is not None
    mended, before = json.loads(text), json.loads(ORDER)
    found = mended
    for step in path:
        found = found[step]
    assert found == value
    assert mended["id"] == before["id"]


@pytest.mark.parametrize(
    "finding",
    [
        at("", "2"),
        at("n", "2"),
        at("/m", "2"),
        at("/items/7/name", "2"),
        at("/items/x", "2"),
        at("/items/-1", "2"),
        at("/n/deep", "2", "missing"),
        at("/id/0/x", "2"),
    ],
)
def test_a_pointer_to_nowhere_is_no_finding(finding: Finding) -> None:
    assert worth_mending([finding], ORDER, "json") == []
    assert patched(ORDER, [finding], "json") is None


def test_patched_json_keeps_its_order_and_stays_on_one_line_or_on_several() -> None:
    assert patched('{"b": 1, "a": "é"}', [at("/b", "2")], "json") == '{"b": 2, "a": "é"}'
    assert patched('{\n "b": 1\n}', [at("/b", "2")], "json") == '{\n  "b": 2\n}'


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_pointer_and_value_a_critic_gives_the_patch_is_json_or_none(
    pointer: str, value: str
) -> None:
    text = patched(ORDER, [at(f"/{pointer}", value, "missing")], "json")
    assert text is None or json.loads(text)
