from __future__ import annotations

from gateway.context.turns import boundaries, grouped, staying, turn_of
from techniques.core.request import Message, ToolCall, said
from tests.gateway.context.scene import called, gave


def spans(messages: list[Message]) -> list[tuple[int, ...]]:
    return [tuple(group) for group in grouped(messages)]


def test_a_call_and_all_its_results_are_one_group() -> None:
    both = Message("assistant", (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")))

    groups = spans([said("user", "?"), both, gave("a", "1"), gave("b", "2"), said("user", "!")])

    assert groups == [(0,), (1, 2, 3), (4,)]


def test_what_stands_between_a_call_and_its_result_goes_with_them() -> None:
    assert spans([called("a"), said("user", "wait"), gave("a", "1")]) == [(0, 1, 2)]


def test_an_id_that_is_used_again_belongs_to_the_call_before_it() -> None:
    again = [called("a"), gave("a", "1"), called("a"), gave("a", "2")]

    assert spans(again) == [(0, 1), (2, 3)]


def test_a_result_without_a_call_and_a_call_without_a_result_stand_alone() -> None:
    assert spans([gave("lost", "1"), called("open"), said("user", "?")]) == [(0,), (1,), (2,)]


def test_no_messages_have_no_groups() -> None:
    assert spans([]) == []


def test_the_last_turns_are_beyond_every_boundary() -> None:
    talk = [said("user", "1"), called("a"), gave("a", "x"), said("user", "2"), said("user", "3")]

    assert boundaries(talk, 1) == [1, 3, 4]
    assert boundaries(talk, 2) == [1, 3]
    assert boundaries(talk, 4) == []
    assert boundaries(talk, 9) == []


def test_the_last_word_of_the_user_stays() -> None:
    assert staying([said("user", "1"), said("user", "2"), called("a")], ()) == {1}


def test_a_message_with_a_pinned_text_stays_with_its_group() -> None:
    talk = [called("a"), gave("a", "the key is 42"), said("user", "?"), called("b")]

    assert staying(talk, ("key is",)) == {0, 1, 2}


def test_answers_of_several_messages_are_one_turn() -> None:
    assert turn_of([said("user", "?")]) == 1
    assert turn_of([said("user", "?"), called("a"), called("b"), gave("b", "")]) == 2
    assert turn_of([called("a"), gave("a", ""), called("b"), gave("b", "")]) == 3
