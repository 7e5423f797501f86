from __future__ import annotations

from dataclasses import replace

import anyio
import httpx2
import pytest

from gateway.choosing import Choosing
from gateway.config.router import RouterConfig
from gateway.metering.routed import Routed, read, written
from gateway.planning.plan import Defaults
from gateway.policy.keys import Caller
from gateway.routing.asking import Here
from gateway.routing.observing import Observer
from gateway.routing.pace import Pace
from router_service.arms import Arm
from router_service.client import Remote, RouterClient
from router_service.contract import NoExactProfile, RouterGone
from techniques.core.errors import NotLearnt, RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import Relay, Request
from tests.gateway.planning.scene import names
from tests.gateway.routing.scene import (
    DEFAULTS,
    ENCODE_WITHIN_S,
    LAST,
    WITHIN_S,
    Encoding,
    Scene,
    Scripted,
    asked,
    question,
)

VOTE = "self_consistency"


async def test_what_the_router_takes_is_the_plan_and_the_reason_is_told() -> None:
    scene = Scene(Scripted(f"{VOTE}/5", said={"propensity": 0.25, "explored": True}))

    made = await scene.routed()

    assert (made.technique, made.auto) == (VOTE, False)
    assert made.options is not None
    assert made.options.model_dump()["num_samples"] == 5
    assert made.why == f"auto, semknn: {VOTE}/5 +3.2 points for 4.1x"
    assert made.routed == Routed(
        f"{VOTE}/5", f"semknn: {VOTE}/5 +3.2 points for 4.1x", "semknn", 0.25, explored=True
    )
    assert made.request is not None
    assert made.query == scene.query
    assert (scene.told.router, scene.told.technique, scene.told.explored) == ("semknn", VOTE, True)
    assert scene.told.fallback == ""


async def test_the_router_sees_features_and_a_vector_and_no_word_of_the_prompt() -> None:
    scene = Scene()

    await scene.routed(asked(question("How many Zanzibaris are 17 * 23?"), category="sums"))

    query = scene.query
    assert query.vector == LAST
    assert (query.model, query.features.label) == ("fast", "sums")
    assert query.features.kind == "number"
    assert "Zanzibar" not in query.model_dump_json()


@pytest.mark.parametrize(
    ("wishes", "lambda_", "strict", "explore"),
    [
        ({}, 1.0, False, True),
        ({"lambda_": 5.0}, 5.0, False, True),
        ({"lambda_": 0.0, "explore": False}, 0.0, False, False),
        ({"strict": True}, 1.0, True, False),
    ],
)
async def test_wishes_are_told_to_the_router(
    wishes: dict[str, Json],
    lambda_: float,
    strict: bool,  # noqa: FBT001
    explore: bool,  # noqa: FBT001
) -> None:
    scene = Scene()

    await scene.routed(asked(**wishes))

    assert (scene.query.lambda_, scene.query.strict, scene.query.explore) == (
        lambda_,
        strict,
        explore,
    )


async def test_the_first_offer_is_what_happens_without_a_router() -> None:
    scene = Scene(defaults=replace(DEFAULTS, technique=VOTE))
    await scene.routed(asked(technique="auto"))
    assert [one.arm for one in scene.query.offers][:2] == [VOTE, "none"]

    await scene.routed(asked(technique="auto", caller=Caller("k", techniques=frozenset({"auto"}))))
    assert scene.query.offers[0].arm == "none"


@pytest.mark.parametrize(
    ("router", "encoder", "why"),
    [
        (Scripted(RouterGone("no connection")), Encoding(), "gone"),
        (Scripted("none", after_s=10 * WITHIN_S), Encoding(), "slow"),
        (Scripted(ZeroDivisionError()), Encoding(), "failed"),
        (Scripted("telepathy"), Encoding(), "gone"),
        (Scripted("best_of_n/3"), Encoding(), "gone"),  # no judge: it is masked
        (Scripted(VOTE), Encoding(after_s=10 * ENCODE_WITHIN_S), "slow"),
        (Scripted(VOTE), Encoding(fails=OSError("no model")), "failed"),
    ],
)
async def test_whatever_goes_wrong_the_default_is_taken_with_a_warning(
    router: Scripted, encoder: Encoding, why: str
) -> None:
    scene = Scene(router, encoder, defaults=Defaults(technique=VOTE))

    began = anyio.current_time()
    made = await scene.routed(asked(technique="auto"))

    assert made.technique == VOTE
    assert made.warnings == (Warned("router_unavailable", why),)
    assert made.why == f"auto, no router ({why}): the default technique"
    assert made.routed is not None
    assert (made.routed.arm, made.routed.router, made.routed.propensity) == (VOTE, "", 1.0)
    assert scene.told.fallback == why
    assert anyio.current_time() - began <= max(WITHIN_S, ENCODE_WITHIN_S) + 1e-6


async def test_a_slow_router_costs_no_more_than_it_is_given() -> None:
    scene = Scene(Scripted("none", after_s=60), None)

    began = anyio.current_time()
    await scene.routed()

    assert anyio.current_time() - began == pytest.approx(WITHIN_S)


async def test_strict_a_router_that_still_reads_what_was_learnt_does_not_say_it_was_nothing() -> (
    None
):
    loaded = False
    none = NoExactProfile("fast", [], "llama")
    scene = Scene(Here(Scripted(none), lambda: loaded))

    made = await scene.routed(asked(strict=True))

    assert made.warnings == (Warned("router_unavailable", "gone"),)
    loaded = True
    with pytest.raises(NotLearnt):
        await scene.routed(asked(strict=True))


async def test_a_strict_request_of_which_nothing_was_learnt_is_refused() -> None:
    none = NoExactProfile("fast", ["gpt-4o"], "llama")
    scene = Scene(Scripted(none))

    with pytest.raises(NotLearnt, match="gpt-4o") as caught:
        await scene.routed(asked(strict=True))

    assert (caught.value.code, caught.value.param) == ("no_exact_profile", "x-lockgate-strict")


async def test_a_request_that_cannot_be_read_is_passed_on_as_it_is() -> None:
    def unreadable() -> Request:
        raise RequestRejected("?")

    scene = Scene()
    wanted = asked(technique="auto")
    relay = Relay("openai_chat", b"", {}, unreadable)
    broken = replace(wanted, call=replace(wanted.call, relay=relay))

    made = await scene.routed(broken)

    assert (made.technique, made.warnings) == ("none", (Warned("router_unavailable", "unread"),))
    with pytest.raises(RequestRejected):
        await Scene(defaults=Defaults(technique=VOTE)).routed(broken)


async def test_another_model_may_answer_in_place_of_the_one_asked_for() -> None:
    scene = Scene(Scripted("none/-/strong"))

    made = await scene.routed()

    assert names(made.models) == ["strong", "fast"]
    assert made.card is None


async def test_the_arms_of_the_configuration_are_all_there_are_beside_the_plain_call() -> None:
    scene = Scene(arms=(Arm(VOTE, 7),))

    await scene.routed()

    assert [one.arm for one in scene.query.offers] == ["none", f"{VOTE}/7"]


async def test_a_size_that_the_request_states_is_offered_once() -> None:
    scene = Scene(Scripted(f"{VOTE}/7"))

    made = await scene.routed(asked(params={"num_samples": 7}))

    offered = [one.arm for one in scene.query.offers]
    assert offered.count(f"{VOTE}/7") == 1
    assert f"{VOTE}/3" not in offered
    assert made.options is not None
    assert made.options.model_dump()["num_samples"] == 7


async def test_what_the_router_warns_of_the_client_is_told() -> None:
    scene = Scene(Scripted("none", said={"warnings": ["an estimate"]}))

    assert (await scene.routed()).warnings == (Warned("router_note", "an estimate"),)


async def test_what_a_router_calls_itself_is_kept_no_longer_than_a_name() -> None:
    made = await Scene(Scripted("none", said={"router": "r" * 900_000})).routed()

    assert made.routed is not None
    assert len(made.routed.router) <= 200


async def test_a_router_far_away_is_given_the_time_that_is_stated_now() -> None:
    async with httpx2.AsyncClient(base_url="http://router") as http:
        far = RouterClient(http, Remote("http://router", within_s=1.0))
        observer = Observer(None, lambda _result, _number: None, Pace())
        chooses = Choosing(far, None, None, observer, far=far)
        chooses.routing(RouterConfig(url="http://router", timeout_ms=50), Scene().planner)

    assert far.within_s == 0.05


async def test_a_menu_is_kept_for_requests_that_change_nothing_of_it() -> None:
    scene = Scene()
    known = scene.routing.menus.known

    await scene.routed()
    await scene.routed(asked(lambda_=3.0, category="x", session="s"))
    assert len(known) == 1
    await scene.routed(asked(max_calls=2))
    await scene.routed(asked(judge="other"))
    assert len(known) == 1
    await scene.routed(asked(caller=Caller("k")))
    assert len(known) == 2


async def test_menus_that_are_kept_are_bounded() -> None:
    scene = Scene()
    for number in range(600):
        await scene.routed(asked(caller=Caller(f"k{number}")))

    assert len(scene.routing.menus.known) <= 256


def test_a_choice_is_read_as_it_was_written() -> None:
    choice = Routed("none/-/strong", "why", "semknn", 0.5, explored=True, lambda_=2.0)

    assert read(written(choice)) == choice
    for wrong in ("[]", "{}", "null", '{"arm": "/", "why": ""}', "{", '{"arm": 5, "why": ""}'):
        with pytest.raises(ValueError):  # noqa: PT011 - each is worded by another
            read(wrong)


async def test_options_that_come_with_a_choice_hold_where_the_request_states_none() -> None:
    scene = Scene(Scripted(f"{VOTE}/5", said={"params": {"confidence": 0.8}}))

    made = await scene.routed()
    stated = await scene.routed(asked(params={"confidence": 0.7}))

    assert made.options is not None
    assert stated.options is not None
    assert made.options.model_dump()["confidence"] == 0.8
    assert stated.options.model_dump()["confidence"] == 0.7
    assert made.routed is not None
    again = scene.routing.again(asked(), written(made.routed), made)
    assert again is not None
    assert again.options == made.options


async def test_options_that_a_technique_does_not_have_are_no_choice() -> None:
    scene = Scene(Scripted(f"{VOTE}/5", said={"params": {"confidence": 7}}))

    made = await scene.routed()

    assert made.card is None
    assert made.warnings == (Warned("router_unavailable", "failed"),)
