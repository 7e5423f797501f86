"""An answer of megabytes keeps nobody waiting: what would take long to read is taken as it stands.

Everything here runs between two events of all other calls, so that the bound is on the time of the
thread. It is several times what the work needs, and a fraction of what it needed to be read whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import pytest

from techniques.core.reply import Reply, replied
from techniques.core.request import ResponseFormat, ToolCall
from techniques.parts.accept import changed
from techniques.parts.agree import closest, elect, medoid
from techniques.parts.answers import expect
from techniques.parts.candidates import Candidate
from techniques.parts.checks import Checks
from techniques.parts.critique import Finding
from techniques.parts.decisions import read_json
from techniques.parts.keys import key_of
from techniques.parts.mending import worth_mending
from techniques.parts.novelty import Known
from techniques.parts.passages import Passages
from techniques.parts.refusals import refuses
from tests.techniques.pace import within
from tests.techniques.scene import asks

T = TypeVar("T")
LENGTH: Final = 2_000_000
SECONDS: Final = 0.4
PROSE: Final = expect(asks("Explain why cats sleep."))
HUGE: Final = {
    "prose": "Cats sleep 12 hours, says the_book of `fooBar` (Smith, 2020); see https://a.b/c. ",
    "words": "a ",
    "lines": "a\n",
    "one word": "x",
    "one sign": "!",
    "blanks": " ",
    "empty lines": "\n",
    "dashes": "- ",
}

texts = pytest.mark.parametrize(
    "text", [part * (LENGTH // len(part)) + "x" for part in HUGE.values()], ids=HUGE
)


def soon(work: Callable[[], T], seconds: float = SECONDS) -> T:
    return within(seconds, work)


@texts
def test_the_key_of_a_huge_text_is_found_soon(text: str) -> None:
    key = soon(lambda: key_of(replied(text), PROSE))
    assert key == key_of(replied(f"{text}\n"), PROSE)
    assert key != key_of(replied(f"{text} y"), PROSE)


@texts
def test_whether_a_huge_text_declines_is_told_soon(text: str) -> None:
    assert not soon(lambda: refuses(replied(text)))


def test_a_refusal_is_one_whatever_blanks_are_before_and_in_it() -> None:
    assert refuses(replied(" \n" * LENGTH + "I cannot help with that."))
    assert key_of(replied("Hard" + " " * LENGTH + "to say."), PROSE) is None


def acting(count: int, fields: int, salt: int) -> Reply:
    spelt = [{f"f{i}": i * salt + place + salt for i in range(fields)} for place in range(count)]
    made = tuple(ToolCall("", "book", json.dumps(arguments)) for arguments in spelt)
    return replace(replied(""), parts=made)


def voting(replies: Sequence[Reply]) -> list[Candidate]:
    return [Candidate(place, one, key_of(one, PROSE)) for place, one in enumerate(replies)]


@pytest.mark.parametrize(("count", "fields"), [(10_000, 1), (1, 100_000), (300, 5), (1, 1_500)])
def test_whose_calls_agree_most_is_found_soon(count: int, fields: int) -> None:
    replies = [acting(count, fields, salt) for salt in range(5)]
    voters = soon(lambda: voting(replies))
    soon(lambda: elect(voters, PROSE))
    assert soon(lambda: medoid([*voters, replace(voters[2], place=9)], {})).place == 2


@pytest.mark.parametrize("fields", [400, 1_400, 8_000, 100_000])
def test_whose_json_agrees_most_is_found_soon(fields: int) -> None:
    spelt = [json.dumps({f"f{i}": i * n for i in range(fields)}) for n in range(5)]
    voters = [Candidate(place, replied(text)) for place, text in enumerate(spelt)]
    assert soon(lambda: closest([*voters, replace(voters[2], place=9)], None)).place == 2


@texts
def test_what_is_new_in_a_huge_text_is_told_soon(text: str) -> None:
    soon(lambda: Known((text[:500_000],)).beyond(text[:90_000]), 3 * SECONDS)
    assert soon(lambda: Known((text,)).beyond("It is 11 km deep.")) == []
    assert soon(lambda: Known(("It is deep.",)).beyond(text)) == []
    assert Known(("x" * 500_000,)).beyond("It is 11 km deep.") == ["11"]


def test_findings_about_a_huge_answer_are_sorted_out_soon() -> None:
    said = [Finding(f"is {n}", "wrong", f"was {n}", "major") for n in range(20)]
    fields = [Finding(f"/f{n}", "wrong", f"{n + 1}", "major") for n in range(20)]
    spelt = json.dumps({f"f{n}": n for n in range(20_000)})
    assert len(soon(lambda: worth_mending(fields, spelt, "json"))) == 20
    assert soon(lambda: worth_mending(said, "a " * 500_000, "prose")) == []


VALUES: Final = {
    "numbers": ("[", "1,", "1]"),
    "empty lists": ("[", "[],", "1]"),
    "objects": ("[", '{"a": 1, "b": "c"},', "1]"),
    "escapes": ("[", '"\\\\",', "1]"),
    "brackets in a text": ('["', "[", '"]'),
    "all the depth": ("[", "[" * 63 + "]" * 63 + ",", "1]"),
    "too deep": ("[", "[" * 65 + "]" * 65 + ",", "1]"),
}


@pytest.mark.parametrize("spelt", VALUES.values(), ids=VALUES)
def test_huge_json_is_read_soon(spelt: tuple[str, str, str]) -> None:
    before, again, after = spelt
    text = before + again * (LENGTH // len(again)) + after

    def read() -> bool:
        try:
            read_json(text)
        except ValueError:
            return False
        return True

    assert soon(read) == (again.count("[") <= 63)


@texts
def test_a_huge_text_is_cut_into_passages_soon(text: str) -> None:
    longer = text * 4
    assert "".join(soon(lambda: Passages().feed(longer))) in longer


@texts
def test_how_much_of_a_huge_text_was_changed_is_told_soon(text: str) -> None:
    assert 0 < soon(lambda: changed(text, f"{text} y")) < 0.01


def test_a_huge_answer_of_the_wrong_form_is_told_soon() -> None:
    form = ResponseFormat("json_schema", {"items": {"type": "integer"}}, strict=True)
    checks, huge = Checks(asks("x", response_format=form)), replied("[" + "[]," * 100_000 + "1]")
    (defect,) = soon(lambda: list(checks.defects(huge)))
    assert len(defect) < 1000
