from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.parts import passages
from techniques.parts.passages import Passages


def cut(text: str, size: int = 10**6) -> tuple[list[str], str]:
    passages = Passages()
    found = [
        passage
        for start in range(0, len(text), size)
        for passage in passages.feed(text[start : start + size])
    ]
    return found, passages.rest


@pytest.mark.parametrize(
    ("text", "passages", "rest"),
    [
        ("One thing. Another one! And", ["One thing.", " Another one!"], " And"),
        ("It ends here.", [], "It ends here."),
        ('He said "no." Then he left. ', ['He said "no."', " Then he left."], " "),
        ("# Title\n\nA line\n- item\n", ["# Title", "\n\nA line", "\n- item"], "\n"),
        ("1. First\n2. Second", ["1. First"], "\n2. Second"),
        ("A line \t\nAnother\n", ["A line", " \t\nAnother"], "\n"),
        ("Pi is 3.14 or so. It", ["Pi is 3.14 or so."], " It"),
        ("It rose (by a third). Then", ["It rose (by a third)."], " Then"),
        ("海很深。它很咸。", ["海很深。", "它很咸。"], ""),
        ("\n\n  ", [], "\n\n  "),
        ("", [], ""),
    ],
)
def test_text_is_cut_at_the_ends_of_sentences_and_lines(
    text: str, passages: list[str], rest: str
) -> None:
    assert cut(text) == (passages, rest)


@given(st.text(alphabet='aB1.!?)"\n *。', max_size=60), st.integers(1, 7))
def test_where_it_is_cut_does_not_depend_on_the_pieces(text: str, size: int) -> None:
    assert cut(text, size) == cut(text)
    found, rest = cut(text, size)
    assert "".join(found) + rest == text


@pytest.mark.parametrize("end", ["", " end. ", ".  \nx"])
@pytest.mark.parametrize("length", [1_990, 2_000, 2_003, 2_030, 9_000])
@pytest.mark.parametrize("word", ["word ", "x"])
def test_a_passage_without_an_end_is_ended_after_a_while(word: str, length: int, end: str) -> None:
    text = (word * length)[:length] + end
    found, rest = cut(text, 7)
    assert (found, rest) == cut(text, 100) == cut(text)
    assert "".join(found) + rest == text
    assert all(len(passage) <= 2_000 for passage in found)
    assert len(rest) <= 2_024


@given(st.text(alphabet='aB1.!?)"\n *。', max_size=900), st.integers(1, 70))
def test_far_from_the_beginning_all_passages_are_long_wherever_the_pieces_end(
    text: str, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passages, "_MOST_READ", 300)
        patch.setattr(passages, "_LONGEST", 100)
        found, rest = cut(text, size)
        assert (found, rest) == cut(text)
    assert "".join(found) + rest == text
    begins = list(accumulate(map(len, found), initial=0))
    assert all(
        begin <= 300 or len(passage) > 1 for begin, passage in zip(begins, found, strict=False)
    )


def test_the_rest_can_be_taken_as_a_passage_of_its_own() -> None:
    passages = Passages()
    passages.feed("An end")
    assert passages.take_rest() == "An end"
    assert passages.rest == ""
