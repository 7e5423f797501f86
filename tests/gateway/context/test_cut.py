from __future__ import annotations

from gateway.context.cut import Cut, applied, cleared
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Text,
    ToolResult,
    said,
)
from tests.gateway.context.scene import SYSTEM, called, gave, talk, worked


def test_no_cut_leaves_all() -> None:
    assert applied(Cut(), talk(3)) == talk(3)


def test_a_note_stands_in_the_place_of_what_was_removed() -> None:
    left = applied(Cut(removed=4, note="told"), talk(3))

    assert left == (SYSTEM, said("user", "told"), *talk(3)[5:])


def test_what_nothing_is_left_of_is_counted() -> None:
    told = applied(Cut(removed=4, note="told", lost=2), talk(3))[1].text

    assert told.startswith("told\n\n[2 earlier messages")


def test_the_rules_of_the_operator_stay_wherever_they_stand() -> None:
    later = said("developer", "Be brief.")
    left = applied(Cut(removed=2, note="told"), (*talk(1)[:2], later, *talk(1)[2:]))

    assert left == (SYSTEM, said("user", "told"), later, talk(1)[-1])


def test_the_question_that_is_answered_stays_where_an_agent_has_worked_on_it_for_long() -> None:
    left = applied(Cut(removed=7, note="told"), worked(4))

    assert left[1].text == "Find the cheapest offer for order A-77."
    assert left[2] == said("user", "told")
    assert left[3:] == worked(4)[8:]


def test_a_tool_result_is_dropped_and_its_call_and_place_stay() -> None:
    left = applied(Cut(cleared=3), worked(2))

    assert [message.role for message in left] == [message.role for message in worked(2)]
    assert left[2] == called("look_0")
    (result,) = left[3].parts
    assert isinstance(result, ToolResult)
    assert result.call_id == "look_0"
    assert result.parts == (Text("[result left out: the conversation has grown too long]"),)
    assert left[4:] == worked(2)[4:]


def test_a_result_that_is_short_stays() -> None:
    assert cleared(gave("a", "ok")) == gave("a", "ok")


def test_pictures_sounds_and_documents_go_whole_and_leave_a_word() -> None:
    many = Message("user", (Image(url="u"), Text("see"), Document(text="t"), Audio("d", "wav")))

    assert cleared(many).text == (
        "[image left out: the conversation has grown too long]see"
        "[document left out: the conversation has grown too long]"
        "[audio left out: the conversation has grown too long]"
    )


def test_a_result_with_a_picture_goes_whole() -> None:
    shot = Message("tool", (ToolResult("a", (Text("here"), Image(data="aa"))),))

    (result,) = cleared(shot).parts
    assert isinstance(result, ToolResult)
    assert len(result.parts) == 1
