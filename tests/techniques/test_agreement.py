from __future__ import annotations

from dataclasses import replace

from techniques.core.reply import Reply, replied
from techniques.core.request import Tool
from techniques.parts.agree import (
    Election,
    closest,
    clusters,
    contenders,
    elect,
    labelled,
    lead,
    medoid,
    representative,
    unanimous,
    unsorted,
)
from techniques.parts.answers import expect
from techniques.parts.candidates import Candidate
from techniques.parts.keys import key_of
from techniques.parts.stopping import Lead
from tests.techniques.scene import asks, calls

NUMBER = expect(asks())
TOOLS = expect(asks(tools=(Tool("book"), Tool("time"))))
WORDY = "It is a long matter. " * 5


def given(*answers: str | Reply, tools: bool = False) -> list[Candidate]:
    expected = TOOLS if tools else NUMBER
    replies = [replied(one) if isinstance(one, str) else one for one in answers]
    return [Candidate(place, one, key_of(one, expected)) for place, one in enumerate(replies)]


def held(*answers: str | Reply, tools: bool = False) -> Election:
    voters = contenders(given(*answers, tools=tools))
    return elect(voters, TOOLS if tools else NUMBER)


def test_most_votes_win_and_the_shortest_is_shown() -> None:
    held_one = held("41", "It is 42.", "42", "so 42")
    assert (held_one.chosen.reply.text, held_one.votes, held_one.agreed) == ("42", 3, True)
    assert held_one.counts == (3, 1)


def test_a_tie_goes_to_the_cluster_of_the_first_draw_and_is_no_agreement() -> None:
    held_one = held("41", "42", "42", "41")
    assert (held_one.chosen.place, held_one.agreed) == (0, False)


def test_without_any_key_the_first_is_chosen() -> None:
    held_one = held("well", "no idea")
    assert (held_one.chosen.place, held_one.votes, held_one.agreed) == (0, 0, False)


def test_a_number_without_unit_votes_with_the_unit_of_most() -> None:
    found = clusters(given("$42", "42", "42 km", "42 dollars", "7"))
    assert [len(cluster.members) for cluster in found] == [3, 1, 1]
    assert [len(cluster.members) for cluster in clusters(given("42", "7"))] == [1, 1]


def test_refusals_are_a_cluster_of_their_own() -> None:
    refusing = [replace(one, refusal=True, key=None) for one in given("no", "never")]
    assert clusters(refusing)[0].key == "refusal"


def test_a_score_then_sureness_decides_who_is_shown() -> None:
    plain, unsure, sure = given("42", "so it is 42", "I think it is 42")
    unsure = replace(unsure, reply=replace(unsure.reply, logprobs=logprobs(-2.0)))
    sure = replace(sure, reply=replace(sure.reply, logprobs=logprobs(-0.1)))
    assert representative([plain, unsure, sure]) is sure
    scored = replace(plain, score=0.2)
    assert representative([scored, sure]) is scored


def logprobs(value: float) -> dict[str, list[dict[str, object]]]:
    return {"content": [{"token": "x", "logprob": value}, {"token": "y"}]}


def test_acting_and_answering_are_voted_on_first() -> None:
    one, two = calls("time", '{"n": 1}'), calls("time", '{"n": 2}')
    assert held("42", "42", one, two, calls("time", '{"n": 3}'), tools=True).chosen.reply.tool_calls
    assert held("42", "42", one, tools=True).chosen.reply.text == "42"
    assert held("42", one, tools=True).chosen.reply.text == "42"
    assert held(one, "42", tools=True).chosen.reply == one


def test_the_tools_are_voted_on_before_their_arguments() -> None:
    book = calls("book", '{"x": 1}')
    times = [calls("time", f'{{"n": {n}}}') for n in (1, 2, 3)]
    assert held(book, book, *times, tools=True).chosen.reply.tool_calls[0].name == "time"


def test_split_arguments_give_way_to_the_call_most_like_the_others() -> None:
    near = [
        calls("book", '{"from": "Rome", "to": "Oslo", "seats": 1}'),
        calls("book", '{"from": "Rome", "to": "Bonn", "seats": 2}'),
        calls("book", '{"from": "Rome", "to": "Oslo", "seats": 2}'),
    ]
    chosen = held(*near, tools=True)
    assert chosen.chosen.reply == near[2]
    assert not chosen.agreed


def test_the_id_and_words_of_a_call_come_from_the_chosen_reply() -> None:
    same = [calls("time", '{"n": 1}', id=f"call_{place}") for place in range(3)]
    assert held(*same, tools=True).chosen.reply is same[0]


def test_a_lone_call_is_its_own_medoid() -> None:
    (only,) = given(calls("time", "{}"), tools=True)
    assert medoid([only], {}) is only
    broken = given(calls("time", "{x"), calls("time", "{x"), tools=True)
    assert medoid(broken, {}) is broken[0]


def test_in_levels_only_more_than_all_the_rest_is_ahead() -> None:
    votes = given("1", "1", "2", "3")
    assert lead(votes, 5, levels=False) == Lead(2, 1, 5, 1, others=1)
    assert lead(votes, 5, levels=True) == Lead(2, 2, 5, 0)
    assert lead([], 5, levels=True) == Lead(0, 0, 5, 0)


def test_a_voter_is_only_wanted_where_it_could_change_who_wins() -> None:
    prose = expect(asks("hi"))

    def keyed(*texts: str) -> list[Candidate]:
        return [
            Candidate(n, replied(text), key_of(replied(text), prose))
            for n, text in enumerate(texts)
        ]

    assert unsorted(keyed(WORDY, WORDY + "So."))
    assert not unsorted(keyed(WORDY, WORDY, WORDY + "So."))
    assert not unsorted(keyed("yes", "no"))
    assert not unsorted([])


def test_labels_take_the_place_of_keys() -> None:
    first, second = given("1", "2")
    assert [one.key for one in labelled([first, second], {0: 5})] == ["group|5", "number|2|"]


def test_the_json_that_agrees_most_with_all_others_is_the_closest() -> None:
    texts = ('{"a": 1, "b": 1}', '{"a": 2, "b": 2}', '{"a": 1, "b": 2, "why": "so"}')
    candidates = [Candidate(place, replied(text)) for place, text in enumerate(texts)]
    assert closest(candidates, None).place == 2


def test_of_two_that_agree_as_much_the_weightier_is_the_closest() -> None:
    light, heavy = (Candidate(place, replied(f'{{"a": {place}}}')) for place in (0, 1))
    assert closest([light, heavy], None).place == 0
    assert closest([replace(light, weight=0.5), heavy], None).place == 1
    assert closest([light, replace(heavy, reply=replied("no JSON"))], None).place == 0


def test_all_of_one_key_are_unanimous() -> None:
    assert unanimous(given("42", "It is 42."))
    assert not unanimous(given("42", "41"))
    assert not unanimous(given("42", "no idea"))
    assert not unanimous([Candidate(0, replied("No."), "short|no", refusal=True)] * 2)
