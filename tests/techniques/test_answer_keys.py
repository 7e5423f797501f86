from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.reply import replied
from techniques.core.request import ResponseFormat, Tool, ToolChoice, said
from techniques.parts.answers import expect, last_ask
from techniques.parts.cue import uncued
from techniques.parts.keys import key_of, letter, number, plain, short, yes_no
from techniques.parts.numbers import quantities, stated
from techniques.parts.refusals import refuses
from tests.techniques.scene import asks

CITIES = expect(asks("Which is the capital?\nA) London\nB) Paris\nC) Rome\nD) A village"))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is 6*7?", "number"),
        ("Tom has 3 apples and buys 5 pears. How many fruits does he have?", "number"),
        ("If a train goes 60 miles in 2 hours, what is its speed?", "number"),
        ("Is 7 prime?", "yes_no"),
        ("True or false: water boils at 50 C.", "yes_no"),
        ("Who wrote Hamlet?", "short"),
        ("What is the capital of France?", "short"),
        ("Yesterday was April 30, 2021. What is the date tomorrow?", "short"),
        ("Which is best?\nA) tea\nB) milk", "letter"),
        ("Pick one: A. red B. blue C. green", "letter"),
        ("Write a poem about 3 cats.", "prose"),
        ("How do I bake bread?", "prose"),
        ("Explain how rain forms.", "prose"),
        ("Write a Python function that adds 2 numbers.", "code"),
        ("Why does this fail?\n```\nx = 1\n```", "code"),
        ("hi", "prose"),
        ("", "prose"),
    ],
)
def test_the_question_tells_the_kind_of_answer(question: str, kind: str) -> None:
    assert expect(asks(question)).kind == kind


def test_tools_make_it_a_tool_task_unless_none_may_be_called() -> None:
    tools = (Tool("time"),)
    assert expect(asks(tools=tools)).kind == "tool"
    assert expect(asks(tools=tools)).text == "number"
    assert expect(asks(tools=tools, tool_choice=ToolChoice("none"))).kind == "number"


def test_a_response_format_makes_it_json() -> None:
    assert expect(asks(response_format=ResponseFormat("json_object"))).kind == "json"


def test_letters_that_do_not_start_at_a_are_no_options() -> None:
    assert expect(asks("Choose\nC) tea\nD) milk")).options == {}


def test_the_last_user_turn_is_what_is_asked() -> None:
    request = asks("first").with_turns(said("assistant", "x"), said("user", "last"))
    assert last_ask(request) == "last"
    assert last_ask(asks(messages=())) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("The answer is 42.", 42),
        ("so 12 of the 36", 12),
        ("12 out of 36 in all", 12),
        ("10% of 1300 is 130, so it is 1430", 1430),
        ("2/3 of the 9 hours are 6.\nShe slept 3", 3),
        ("3 + 4 = 7", 7),
        ("#### 1,000", 1000),
        ("It was **17** apples in 2020", 17),
        ("Answer: 3 + 4 = 7", 7),
        ("\\boxed{\\frac{1}{2}}", Fraction(1, 2)),
        ("I counted 9.\n\nSo it is 8.", 8),
        ("\u22123", -3),
        ("$-5", -5),
        ("-$5", -5),
        ("2 1/2", Fraction(5, 2)),
        ("3/4", Fraction(3, 4)),
        ("1.5e3", 1500),
        ("3 \u00d7 10^8", 300_000_000),
        ("2 x 10^{-2}", Fraction(1, 50)),
        ("1{,}234", 1234),
        ("1 234 567", 1_234_567),
        ("1.234,5", Fraction(2469, 2)),
        (".5", Fraction(1, 2)),
        ("\\boxed{7} and then 9", 7),
    ],
)
def test_numbers_are_read_as_they_are_written(text: str, value: Fraction) -> None:
    assert number(text) == f"{Fraction(value)}|" or number(text) == f"{Fraction(value)}|usd"


@pytest.mark.parametrize(
    "text",
    ["", "none", "04/29/2021", "2023-05-01", "10:30", "v1.2.3", "1e999999", "1/0", "9" * 80],
)
def test_what_is_no_number_gives_none(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 dollars", "usd"),
        ("€5", "eur"),
        ("50%", "%"),
        ("50 percent", "%"),
        ("3 km", "km"),
        ("5 apples", ""),
    ],
)
def test_units_are_brought_to_one_form(text: str, unit: str) -> None:
    quantity = stated(text)
    assert quantity is not None
    assert quantity.unit == unit


@given(st.integers(-(10**12), 10**12))
def test_an_integer_has_one_key_however_it_is_grouped(value: int) -> None:
    forms = [str(value), f"{value:,}", f"{value:_}", f"{value}.0", f"The answer is {value:,}."]
    assert {number(form) for form in forms} == {f"{value}|"}


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=4, min_value=-(10**6), max_value=10**6
    )
)
def test_a_decimal_is_exact(value: Fraction) -> None:
    assert number(f"Final answer: {value:f}") == f"{Fraction(value)}|"


@given(st.text(max_size=300))
def test_no_text_breaks_the_reading_of_keys(text: str) -> None:
    for question in (
        "What is 1+1?",
        "Is it so?",
        "Who is it?",
        "A) x\nB) y",
        "def f(x): ...",
        "hi",
    ):
        key_of(replied(text), expect(asks(question)))
    quantities(text)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("B", "B"),
        ("b.", "B"),
        ("option c", "C"),
        ("The answer is (B).", "B"),
        ("Final answer: b) Paris", "B"),
        ("**B** is it", "B"),
        ("\\boxed{C}", "C"),
        ("I think A is wrong, so C", "C"),
        ("Paris", "B"),
        ("The correct answer is Paris.", "B"),
        ("A village it is", None),
        ("I do not know", None),
        ("Answer: unsure", None),
        ("The answer is option C, as A is wrong", "C"),
        ("E", None),
    ],
)
def test_letters_are_found_where_they_are_meant(text: str, chosen: str | None) -> None:
    assert letter(text, CITIES) == chosen


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Yes.", "true"),
        ("No, it is not.", "false"),
        ("The statement is not true.", "false"),
        ("It isn't true", "false"),
        ("This is false.", "false"),
        ("It is not false", "true"),
        ("Seven has two divisors. So yes, it is prime.", "true"),
        ("Let us see. There is no reason to doubt it.", None),
        ("Final answer: no", "false"),
        ("The right side is incorrect about it. Hm.", "false"),
        ("\\boxed{Yes}", "true"),
        ("", None),
    ],
)
def test_yes_and_no_are_read_with_their_negations(text: str, verdict: str | None) -> None:
    assert yes_no(text) == verdict


@pytest.mark.parametrize(
    ("text", "said_so"),
    [
        ("The Paris!", "paris"),
        ("A", "a"),
        ("Answer: twelve", "12"),
        ("04/29/2021", "04/29/2021"),
        ("4/29/2021.", "04/29/2021"),
        ("2021-4-9", "2021-04-09"),
        ("version 1.2", "version 1.2"),
        ("**Rome**", "rome"),
        ("well, hard to say", None),
        ("I don't know.", None),
        ("one two three four five six seven eight nine ten eleven twelve thirteen", None),
        ("two\nlines", None),
        ("?!", None),
    ],
)
def test_short_answers_are_what_is_left_without_dress(text: str, said_so: str | None) -> None:
    assert short(text) == said_so


def test_long_prose_is_alike_only_to_its_own_words() -> None:
    prose = expect(asks("hi"))
    text = "It is a long story.\n\n" + "word " * 30
    assert key_of(replied(text), prose) == f"text|{plain(text)}"
    assert key_of(replied("Hard to say."), prose) is None


def test_code_is_alike_only_to_the_same_code() -> None:
    code = expect(asks("Write a Python function f."))
    assert key_of(replied("def f(): return A"), code) != key_of(replied("def f(): return a"), code)


HOSTILE = [
    " ", ".", "1 ", "\n", ">\n", "'", "\\boxed{", "{", "answer is ", "Final answer:\n", "SELECT ",
    "what is the ", "A) x B) ", "1 x 10^", "**a", "- ", "a\n\n", "is not ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_takes_no_time_that_is_felt(piece: str) -> None:
    text = piece * 20_000
    for question in ("What is 1+1?", "Is it so?", "A) x\nB) y", "hi", text):
        expected = expect(asks(question))
        key_of(replied(text), expected)
    uncued(replied(text))
    refuses(replied(text))
