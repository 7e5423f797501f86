from __future__ import annotations

import pytest

from gateway.context.pins import MOST_VALUES, Pins, pinned, values_in
from techniques.core.request import said
from tests.gateway.context.scene import called, gave


def found(text: str) -> set[str]:
    return set(values_in(text).values())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It costs $1,250.50, not 99%.", {"$1,250.50", "99%"}),
        ("Order A-77 of mia_li_3668 at 10:30.", {"A-77", "mia_li_3668", "10:30"}),
        ("On 2024-05-15, or 2024-05-16.", {"2024-05-15", "2024-05-16"}),
        ("Write to a.b@c.de or see https://x.de/a?b=1.", {"a.b@c.de", "https://x.de/a?b=1"}),
        ('{"price":120,"ids":[12,13]}', {"120", "12", "13"}),
        ("1. first\n2) second\n(3) third", set()),
        ("No numbers, no_ids.", set()),
    ],
)  # fmt: skip
def test_numbers_ids_and_addresses_are_values(text: str, values: set[str]) -> None:
    assert found(text) == values


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("$1,250.50", "for 1250.5 dollars"),
        ("3", "three of them"),
        ("HAT023", "flights hat023/HAT045"),
        ("99%", "99 percent"),
        ("2024-05-15", "(2024-05-15)"),
        ("120.00", "120"),
    ],
)
def test_a_value_reappears_in_other_spelling(value: str, told: str) -> None:
    assert Pins(values=(value,)).lost(told) == []


@pytest.mark.parametrize(
    ("value", "told"), [("12", "112 and 120"), ("A-77", "A-7"), ("3", "thirty"), ("5.0", "50")]
)
def test_another_value_is_not_it(value: str, told: str) -> None:
    assert Pins(values=(value,)).lost(told) == [value]


def test_what_is_said_is_pinned_and_what_tools_give_only_where_somebody_needs_it() -> None:
    old = [said("user", "Take order A-77."), called("f"), gave("f", "seat 14C, gate 22, row 9")]
    later = [said("assistant", "Seat 14C is yours, in 9 minutes.")]

    assert set(pinned(old, later).values) == {"A-77", "14C"}


def test_what_is_mentioned_most_comes_first_where_not_all_can_be_kept() -> None:
    many = " ".join(f"n{number}x" for number in range(200))
    pins = pinned([said("user", f"{many} n7x n7x")], [said("user", "n9x n9x n9x")])

    assert len(pins.values) == MOST_VALUES
    assert pins.values[:2] == ("n9x", "n7x")


def test_decisions_limits_and_names_are_pinned_as_they_were_said() -> None:
    text = "Hello there. We agreed to meet Anna Weber. It must not cost more. The sun shines."

    assert pinned([said("user", text)], []).sentences == (
        "We agreed to meet Anna Weber.",
        "It must not cost more.",
    )


def test_two_sentences_of_the_assistant_tell_how_it_speaks() -> None:
    talk = [
        said("assistant", f"Well, as my old uncle used to say, {word} is never late.")
        for word in ("love", "help", "rain")
    ]

    assert pinned(talk, []).voice == (
        "Well, as my old uncle used to say, help is never late.",
        "Well, as my old uncle used to say, rain is never late.",
    )


def test_no_more_is_pinned_than_there_is_room_to_tell() -> None:
    text = " ".join(f"We agreed on n{number:03}x." for number in range(20))
    pins = pinned([said("user", text)], [], 200)

    assert len("  ".join(pins.sentences)) <= 100
    assert len(", ".join(pins.values)) <= 100
    assert len(pins.sentences) > 2
    assert len(pins.values) > 9
