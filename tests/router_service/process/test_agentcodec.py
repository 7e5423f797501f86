"""A client of AgentCodec, written from what is known of it, against our router."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from router_service.arms import PLAIN
from router_service.contract import ModelSpec, Observation, RouteDecision, Vector
from router_service.process import agentcodec
from router_service.process.config import AgentCodecSettings
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from tests.fakes.router import RouterProcess
from tests.router_service.store.scene import observation

SETTINGS = AgentCodecSettings()
NUMBERS = [0.6, 0.8, *[0.0] * 382]
SENT: Json = {
    "embedding": NUMBERS,
    "lambda": 1.0,
    "k": 20,
    "strict_match": False,
    "user_config": {
        "model_families": ["qwen", "llama"],
        "channel_specs": [
            {"family": "qwen", "params_b": 7, "quant": "q4_k_m", "more": "unknown"},
            {"family": "llama", "params_b": 8.0, "quant": None},
        ],
        "n_distinct_channels": 2,
        "primary_temperature": 0.7,
        "category_temperatures": {"math": 0.2},
        "has_separate_critic": True,
    },
    "client_version": "9.9",
}
POOL = (
    ModelSpec(family="qwen", params_b=7.0, quantization="q4_k_m"),
    ModelSpec(family="llama", params_b=8.0),
)
TOLD = {
    "chosen": str,
    "confidence": float,
    "scores": dict,
    "match_quality": str,
    "match_similarity": float,
    "profile_used": str,
    "estimate": bool,
    "masked_techniques": list,
    "warnings": list,
    "predicted_quality_for_chosen": float | None,
    "predicted_cost_for_chosen": float | None,
}


def learnt(number: int) -> Observation:
    """Return what makes ``self_consistency`` worth its cost where the client's prompt lies."""
    paid = number % 2
    return observation(
        str(number),
        model="",
        arm="self_consistency" if paid else PLAIN.name,
        vector=Vector(encoder=SETTINGS.encoder, values=tuple(NUMBERS)),
        pool=POOL,
        quality=1.0 if paid else 0.2,
        plain_quality=0.2,
        cost=2.0 if paid else 1.0,
    )


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouterProcess]:
    with RouterProcess(tmp_path_factory.mktemp("router")) as running:
        rows = b"\n".join(learnt(number).model_dump_json().encode() for number in range(200))
        assert running.ask("POST", "/v1/observations", rows).status == 200
        assert running.ask("POST", "/v1/fit").json["rows"] == 200
        yield running


def test_what_it_wants_to_know_first(router: RouterProcess) -> None:
    told = router.ask("GET", "/meta").json

    assert told.keys() == {"bge_model", "version", "k_default"}
    assert told["bge_model"] == "BAAI/bge-small-en-v1.5"
    assert isinstance(told["k_default"], int)


def test_it_reads_what_it_expects(router: RouterProcess) -> None:
    reply = router.post("/route", SENT)

    assert reply.status == 200
    assert list(reply.json) == list(TOLD)
    for name, kind in TOLD.items():
        assert isinstance(reply.json[name], kind), name
    assert reply.json["chosen"] == "self_consistency"
    assert reply.json["match_quality"] == "exact"
    assert not reply.json["estimate"]
    assert set(reply.json["scores"]) == set(SETTINGS.techniques)


def test_the_least_that_it_can_send_is_enough(router: RouterProcess) -> None:
    reply = router.post("/route", {"embedding": NUMBERS})

    assert (reply.status, reply.json["chosen"]) == (200, "baseline")
    assert reply.json["estimate"]
    assert reply.json["match_quality"] == "default"


def test_strict_it_gets_no_other_profile(router: RouterProcess) -> None:
    other = {"model_families": ["mistral"]}

    reply = router.post("/route", {**SENT, "strict_match": True, "user_config": other})
    exact = router.post("/route", {**SENT, "strict_match": True})

    assert reply.status == 409
    assert reply.json.keys() == {"error"}
    assert reply.json["error"].keys() == {"code", "profile", "have", "want"}
    assert reply.json["error"]["code"] == "no_exact_profile"
    assert reply.json["error"]["want"] not in reply.json["error"]["have"]
    assert exact.status == 200


@pytest.mark.parametrize(
    ("config", "masked"),
    [
        ({"n_distinct_channels": 1}, {"diversity_sc", "diversity_mrc", "mixture_of_agents"}),
        (
            {"n_distinct_channels": 2, "has_separate_critic": False},
            {"best_of_n", "diversity_sc", "harq_ir", "turbo", "fountain"},
        ),
        ({"model_families": ["a", "b"], "has_separate_critic": True}, set()),
    ],
)
def test_what_cannot_be_done_is_told_and_not_chosen(
    router: RouterProcess, config: Json, masked: set[str]
) -> None:
    told = router.post("/route", {**SENT, "user_config": config}).json

    assert set(told["masked_techniques"]) == masked
    assert set(told["scores"]) == set(SETTINGS.techniques) - masked


@pytest.mark.parametrize(
    ("name", "value"),
    [("lambda", -1), ("embedding", []), ("embedding", "text"), ("embedding", None), ("k", 0)],
)
def test_what_it_sends_wrong_is_refused(router: RouterProcess, name: str, value: Json) -> None:
    reply = router.post("/route", {**SENT, name: value})

    assert reply.status == 400
    assert reply.json["error"]["param"].startswith(name)


def test_numbers_that_are_none_are_refused(router: RouterProcess) -> None:
    body = orjson.dumps(SENT).replace(b"0.6", b"NaN", 1)

    assert router.ask("POST", "/route", body).status == 400


def test_what_it_may_do_is_in_the_catalogue() -> None:
    names = {name for card in load(catalog).values() for name in (card.name, *card.aliases)}

    assert set(SETTINGS.techniques) <= names


def test_several_arms_of_a_technique_are_told_as_one() -> None:
    decision = RouteDecision(
        arm="best_of_n/5", why="", scores={"none": 0.0, "best_of_n/3": -2.0, "best_of_n/5": 1.5}
    )

    told = agentcodec.told(decision)

    assert told["scores"] == {"baseline": 0.0, "best_of_n": 1.5}
    assert told["chosen"] == "best_of_n"
