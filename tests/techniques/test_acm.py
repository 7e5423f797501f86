from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques.catalog.acm import CATEGORY_TABLES, TABLE, ByTable, acm
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected, UpstreamFailed
from techniques.core.registry import COMBINING, Modality
from techniques.core.request import Request, Tool
from tests.techniques.delegation import (
    CARDS,
    HALVES,
    NUMBER,
    PROSE,
    QUARTERS,
    Shop,
    delegated,
    likely,
    named,
    over,
    row,
)
from tests.techniques.scene import (
    Answer,
    Cap,
    Setting,
    asks,
    channels,
    play,
    scripted,
    tokens,
)

SILENT = Capabilities(logprobs=False)


async def test_the_answer_to_an_easy_question_is_the_first_one() -> None:
    played = await delegated(scripted(likely("It is 42.", 0.9)), ByTable())

    assert played.text == "It is 42."
    assert [request.step for request in played.asked] == ["pilot0"]


@pytest.mark.parametrize(
    ("probability", "technique"),
    [(0.76, "baseline"), (0.74, "fair"), (0.45, "hard"), (0.25, "hardest"), (1e-9, "hardest")],
)
async def test_the_table_says_what_is_done_for_which_difficulty(
    probability: float, technique: str
) -> None:
    played = await delegated(scripted(likely("42", probability)), QUARTERS)

    assert played.note("delegation")["technique"] == technique
    assert played.text == {"baseline": "42"}.get(technique, technique)


async def test_the_first_answer_is_the_first_draw_of_a_vote() -> None:
    first = tokens("It is ", 0.6, "42", 0.6)
    others: dict[str, Answer] = {"pilot0": first, "c1": "It is 41", "c2": "It is 42, then."}
    channel = scripted(lambda request: others[request.step])
    played = await play(over(acm, CARDS), channels(channel), NUMBER, Setting(ByTable()))

    assert played.note("votes")["counts"] == [2, 1]
    assert sorted(request.step for request in played.asked) == ["c1", "c2", "pilot0"]
    assert played.text == "It is 42"


async def test_without_probabilities_a_vote_takes_one_call_more_than_it_does_alone() -> None:
    script = {"pilot0": "42", "pilot1": "41", "c1": "43", "c2": "44"}
    table = ByTable(table=(row(0, 1, "self_consistency", params={"num_samples": 3}),))
    channel = scripted(lambda request: script[request.step])
    models = channels(channel, abilities=SILENT)
    played = await play(over(acm, CARDS), models, NUMBER, Setting(table))

    assert sorted(request.step for request in played.asked) == sorted(script)


async def test_the_first_answer_is_the_draft_that_is_refined() -> None:
    table = ByTable(table=(row(0, 1, "self_refine"),))
    stop = json.dumps({"decision": "stop", "issues": []})
    draft = likely("The sea is wide.", 0.6)
    channel = scripted(lambda request: stop if request.role == "critique" else draft(request))
    played = await play(over(acm, CARDS), channels(channel), PROSE, Setting(table))

    assert played.text == "The sea is wide."
    assert [request.step for request in played.asked] == ["pilot0", "k0"]


async def test_the_first_answer_counts_once_against_the_caps() -> None:
    others: dict[str, Answer] = {"pilot0": tokens("4", 0.6, "2", 0.6), "c1": "41", "c2": "43"}
    channel = scripted(lambda request: others[request.step])
    setting = Setting(ByTable(), cap=Cap(channel, 3))
    played = await play(over(acm, CARDS), channels(channel), NUMBER, setting)

    assert played.note("votes")["draws"] == 3
    assert "cap_reached" not in played.warnings


async def test_a_cap_of_one_call_is_a_plain_call() -> None:
    channel = scripted(likely("42", 0.1))
    setting = Setting(ByTable(), cap=Cap(channel, 1))
    played = await play(over(acm, CARDS), channels(channel), NUMBER, setting)

    assert [request.step for request in played.asked] == ["a0"]
    assert "cap_reached" in played.warnings


async def test_where_the_pilot_used_up_the_caps_its_answer_is_given() -> None:
    script = {"pilot0": "42", "pilot1": "41"}
    channel = scripted(lambda request: script[request.step])
    table = ByTable(table=(row(0, 1, "effort_up"),))
    setting = Setting(table, cap=Cap(channel, 2))
    played = await play(over(acm, CARDS), channels(channel, abilities=SILENT), NUMBER, setting)

    assert played.text == "42"
    assert "cap_reached" in played.warnings


async def test_a_question_of_a_category_with_a_table_of_its_own_goes_by_that() -> None:
    options = ByTable(table=(row(0, 1, "fair"),), category_tables={"code": (row(0, 1, "hard"),)})
    code = asks("Write a Python function `def add(a, b)` that adds two numbers.")

    for request, technique in ((code, "hard"), (PROSE, "fair")):
        assert (await delegated(scripted(likely("x" * 9, 0.9)), options, request)).text == technique


def test_an_own_table_is_for_all_categories_unless_some_have_their_own() -> None:
    own = (row(0, 1, "hard"),)

    assert ByTable().of("qa") == TABLE
    assert ByTable().of("code") == CATEGORY_TABLES["code"]
    assert ByTable(table=own).of("code") == own
    assert ByTable(category_tables={"qa": own}).of("code") == TABLE


@pytest.mark.parametrize(
    ("modality", "request_"),
    [
        (COMBINING, replace(NUMBER, sampling=replace(NUMBER.sampling, logprobs=True))),
        (Modality(tools="plain"), replace(NUMBER, tools=(Tool("look"),))),
    ],
)
async def test_a_technique_that_cannot_keep_the_request_gives_way_to_an_easier_one(
    modality: Modality, request_: Request
) -> None:
    shop = Shop()
    cards = shop.cards("baseline", "fair") | {"hard": shop.card("hard", modality)}
    options = ByTable(table=(row(0, 0.2, "baseline"), row(0.2, 0.4, "fair"), row(0.4, 1, "hard")))
    played = await play(
        over(acm, cards), channels(scripted(likely("42", 0.1))), request_, Setting(options)
    )

    assert played.text == "fair"
    assert played.warnings["technique_replaced"].startswith("hard: ")


@pytest.mark.parametrize(("models", "technique"), [(1, "fair"), (2, "hard")])
async def test_a_technique_for_several_models_needs_several(models: int, technique: str) -> None:
    shop = Shop()
    cards = shop.cards("fair") | {"hard": shop.card("hard", needs=("two models",))}
    played = await play(
        over(acm, cards),
        channels(scripted(likely("42", 0.1)), pool=models),
        NUMBER,
        Setting(ByTable(table=(row(0, 0.5, "fair"), row(0.5, 1, "hard")))),
    )

    assert played.text == technique


async def test_what_a_key_may_not_use_is_not_handed_on_to() -> None:
    channel = scripted(likely("42", 0.1))
    played = await delegated(channel, HALVES, techniques={"baseline": {}})

    assert played.text == "42"
    assert played.warnings["technique_replaced"] == "hard: not allowed"
    assert len(played.asked) == 1


async def test_where_nothing_can_be_handed_on_to_the_first_answer_is_given() -> None:
    played = await delegated(
        scripted(likely("42", 0.1)), ByTable(table=(row(0, 1, "hard"),)), techniques={}
    )

    assert played.text == "42"
    assert played.note("delegation")["technique"] == "baseline"


async def test_nothing_is_handed_on_in_a_circle() -> None:
    table = ByTable(table=(row(0, 1, "acm"),))
    channel = scripted(likely("42", 0.1))
    played = await play(over(acm, CARDS), channels(channel), NUMBER, Setting(table))

    assert played.text == "42"
    assert "technique_replaced" in played.warnings


async def test_the_tables_options_go_over_the_operators() -> None:
    shop = Shop()
    sizes = []
    for params in ({}, {"size": 3}):
        options = ByTable(table=(row(0, 1, "hard", params=params),))
        setting = Setting(options, techniques={"hard": {"size": 2}})
        channel = scripted(likely("42", 0.1))
        await play(over(acm, shop.cards("hard")), channels(channel), NUMBER, setting)
        sizes.append(shop.handed["hard"].task.options.size)

    assert sizes == [2, 3]


async def test_an_option_that_the_technique_does_not_take_is_told() -> None:
    table = ByTable(table=(row(0, 1, "hard", params={"length": 2}),))
    with pytest.raises(RequestRejected, match=r"hard .* length") as caught:
        await delegated(scripted(likely("42", 0.1)), table)

    assert caught.value.code == "invalid_option"


async def test_a_row_may_name_the_model_that_is_asked_first() -> None:
    table = (row(0, 0.5, "baseline"), row(0.5, 1, "baseline", model="strong"))
    channel = scripted(likely("42", 0.1))
    models = named(channels(channel, pool=2), "weak", "strong")
    played = await play(over(acm, CARDS), models, NUMBER, Setting(ByTable(table=table)))

    asked = [(request.step, request.model) for request in played.asked]
    assert asked == [("pilot0", "model-0"), ("a0", "model-1")]


async def test_a_model_that_the_request_does_not_bring_is_told_before_any_call() -> None:
    table = ByTable(table=(row(0, 0.5, "baseline"), row(0.5, 1, "baseline", model="strong")))
    channel = scripted(likely("42", 0.9))
    with pytest.raises(RequestRejected, match="strong"):
        await delegated(channel, table)

    assert channel.asked == []


async def test_the_failure_of_the_technique_is_its_own() -> None:
    def answer(request: Request) -> Answer:
        return tokens("4", 0.6, "2", 0.6) if request.step == "pilot0" else UpstreamFailed("down")

    options = ByTable(table=(row(0, 1, "baseline", model="other", params={"failover": False}),))
    models = named(channels(scripted(answer), pool=2), "m", "other")
    with pytest.raises(UpstreamFailed, match="down"):
        await play(over(acm, CARDS), models, NUMBER, Setting(options))


def test_every_technique_of_the_built_in_tables_is_there() -> None:
    tables = (TABLE, *CATEGORY_TABLES.values())

    assert {one.technique for table in tables for one in table} - CARDS.keys() == set()
