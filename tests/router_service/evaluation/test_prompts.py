from __future__ import annotations

import json

import pytest

from router_service.evaluation.prompts import UnusablePrompts, limited, read_prompts


def _text(*rows: object) -> str:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)


def test_a_prompt_is_a_text_or_a_conversation() -> None:
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two?"}]
    found = read_prompts(_text({"id": 7, "prompt": "One?"}, {"id": "b", "messages": turns}))
    assert [one.id for one in found.usable] == ["7", "b"]
    assert found.usable[0].sent() == {"messages": [{"role": "user", "content": "One?"}]}
    assert found.usable[1].sent() == {"messages": turns}
    assert found.problems == ()


def test_each_line_that_cannot_be_used_is_named_and_the_others_are() -> None:
    found = read_prompts(
        _text(
            {"prompt": "One?"},
            "{not json",
            "",
            "[1]",
            {"reference": "4"},
            {"prompt": "x", "messages": [{}]},
            {"prompt": "  "},
            {"prompt": "Two?", "score_mode": "guess"},
            {"prompt": "Three?", "reference": ["4"]},
            {"prompt": "Four?", "reference": 4.5, "whatever": True},
        )
    )
    assert [one.id for one in found.usable] == ["line 1", "line 10"]
    assert found.usable[1].reference == "4.5"
    assert [line.partition(":")[0] for line in found.problems] == [
        *(f"line {number}" for number in (2, 4, 5, 6, 7, 8, 9)),
        "'whatever', in 1 line",
    ]
    assert "exact_letter" in found.problems[5]


def test_a_field_that_nothing_reads_is_named_once_with_the_one_that_may_be_meant() -> None:
    rows = [{"prompt": f"{number}?", "referense": "4", "source": "me"} for number in range(30)]

    found = read_prompts(_text(*rows))

    assert len(found.usable) == 30
    assert found.problems == (
        "'referense', in 30 lines: nothing reads it; is reference meant?",
        "'source', in 30 lines: nothing reads it",
    )


def test_the_same_question_is_asked_once_and_a_name_is_one_prompts() -> None:
    found = read_prompts(
        _text(
            {"id": "a", "prompt": "One?"},
            {"id": "b", "prompt": "One?"},
            {"id": "a", "prompt": "2?"},
        )
    )
    assert [one.id for one in found.usable] == ["a", "a (line 3)"]
    assert found.problems == (
        "line 2: it asks the same as a",
        "line 3: its id is taken, and it is called 'a (line 3)'",
    )


def test_a_separator_inside_a_text_is_no_line_end() -> None:
    assert len(read_prompts('{"prompt": "a\u2028b"}').usable) == 1


def test_no_prompt_at_all_is_an_error_that_names_the_lines() -> None:
    with pytest.raises(UnusablePrompts, match="line 1: it is no JSON"):
        read_prompts("nothing")
    with pytest.raises(UnusablePrompts, match="there is no prompt"):
        read_prompts("\n\n")


def test_what_is_sent_is_what_a_prompt_is_known_by() -> None:
    rows = [
        {"prompt": "One?"},
        {"prompt": "One?", "reference": "4", "category": "c", "metadata": {"x": 1}, "id": "z"},
        {"prompt": "One?", "tools": [{"type": "function"}]},
    ]
    hashes = [read_prompts(_text(row)).usable[0].hash for row in rows]
    assert hashes[0] == hashes[1] != hashes[2]


def test_of_very_many_problems_the_first_are_told() -> None:
    found = read_prompts(_text({"prompt": "One?"}, *["x"] * 30))
    assert len(found.told()) == 21
    assert found.told()[-1] == "and 10 more lines like that"


def test_only_so_many_may_be_wanted() -> None:
    found = read_prompts(_text(*({"prompt": f"{n}?"} for n in range(5))))
    assert len(limited(found, 2).usable) == 2
    assert limited(found, None) is found
