from __future__ import annotations

from gateway.context.cut import Cut, parted
from gateway.context.memory import Begun, Memory, Remembered
from techniques.core.request import said
from tests.gateway.context.scene import marked, talk, worked

KNOWN = Remembered(Cut(removed=4, note="told"), "summarise", 3)


def begun(turns: int, whose: str = "k1") -> Begun:
    return Begun(whose, parted(talk(turns)))


def test_a_cut_is_known_again_when_the_conversation_has_gone_on() -> None:
    memory = Memory()
    memory.keep(begun(4), 4, KNOWN)

    assert memory.find(begun(9)) == KNOWN


def test_the_cut_that_reaches_furthest_is_the_one() -> None:
    memory = Memory()
    later = Remembered(Cut(removed=6, note="more"), "summarise", 7)
    memory.keep(begun(4), 4, KNOWN)
    memory.keep(begun(5), 6, later)

    assert memory.find(begun(9)) == later
    assert memory.find(begun(2)) == KNOWN


def test_another_callers_conversation_is_another() -> None:
    memory = Memory()
    memory.keep(begun(4), 4, KNOWN)

    assert memory.find(begun(4, "k2")) == Remembered()


def test_a_conversation_that_begins_otherwise_is_another() -> None:
    memory = Memory()
    memory.keep(Begun("k1", worked(4)), 4, KNOWN)

    assert memory.find(Begun("k1", worked(4, letters=801))) == Remembered()


def test_marks_for_a_cache_move_without_making_it_another() -> None:
    memory = Memory()
    memory.keep(begun(4), 4, KNOWN)
    first, *rest = parted(talk(4))

    assert memory.find(Begun("k1", [marked(first), *rest])) == KNOWN


def test_a_text_in_another_message_is_another_conversation() -> None:
    one = Begun("k1", [said("user", "ab"), said("user", "c")])
    other = Begun("k1", [said("user", "a"), said("user", "bc")])

    assert one.keys[-1] != other.keys[-1]


def test_the_least_used_is_forgotten_first() -> None:
    memory = Memory(most=2)
    memory.keep(begun(4, "a"), 4, KNOWN)
    memory.keep(begun(4, "b"), 4, KNOWN)
    memory.find(begun(4, "a"))
    memory.keep(begun(4, "c"), 4, KNOWN)

    assert memory.find(begun(4, "a")) == KNOWN
    assert memory.find(begun(4, "b")) == Remembered()


def test_notes_fill_no_more_than_their_room() -> None:
    memory = Memory(longest=10)
    for whose in "abcd":
        memory.keep(begun(4, whose), 4, KNOWN)

    assert [memory.find(begun(4, whose)) == KNOWN for whose in "abcd"] == [False, False, True, True]
