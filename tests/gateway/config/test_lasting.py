"""What a reload can change, what waits for a restart, and by what a configuration is known."""

from __future__ import annotations

import pytest

from gateway.config import Config
from gateway.config.lasting import differences, digest, kept
from techniques.core.json import Json

USUAL: dict[str, Json] = {
    "providers": {
        "a": {"dialect": "openai_chat", "base_url": "https://a.example/v1", "api_key": "sk-1"},
        "own": {"dialect": "openai_chat", "base_url": "http://127.0.0.1:1/v1", "llama_cpp": {}},
    },
    "models": [
        {"name": "fast", "provider": "a", "price": {"input": 1, "output": 2}},
        {"name": "local", "provider": "own"},
    ],
    "keys": [{"name": "k", "hash": "hmac-sha256:" + "0" * 64}],
}
PERSON = {"name": "ann", "hash": "hmac-sha256:" + "1" * 64}


def config(**sections: Json) -> Config:
    return Config.model_validate({**USUAL, **sections})


@pytest.mark.parametrize(
    ("sections", "waiting"),
    [
        ({"server": {"host": "::1"}}, ["server.host"]),
        ({"server": {"port": 1, "workers": 3}}, ["server.port", "server.workers"]),
        ({"server": {"drain_s": 1}}, ["server.drain_s"]),
        ({"server": {"idle_s": 5}}, ["server.idle_s"]),
        ({"store": {"redis": "redis://r:6379"}}, ["store.redis"]),
        ({"store": {"on_loss": {"budgets": "local"}}}, ["store.on_loss.budgets"]),
        ({"database": {"url": "none"}}, ["database.url"]),
        ({"journal": {"durability": "off"}}, ["journal.durability"]),
        ({"pacing": {"predictor": "legacy"}}, ["pacing.predictor"]),
        ({"pacing": {"queue": {"depth": 3}}}, ["pacing.queue.depth"]),
        ({"attention": {"persons": [PERSON]}}, ["attention.persons.ann"]),
    ],
)
def test_what_is_opened_once_waits_for_a_restart_and_is_as_it_was(
    sections: dict[str, Json], waiting: list[str]
) -> None:
    served = config()

    assert kept(config(**sections), served) == (served, waiting)


@pytest.mark.parametrize(
    ("sections", "changed"),
    [
        ({"server": {"max_body": 5, "keepalive_s": 1}}, ["server.max_body", "server.keepalive_s"]),
        ({"models": USUAL["models"][:1]}, ["models.local"]),
        ({"keys": []}, ["keys.k"]),
        ({"teams": [{"name": "t"}]}, ["teams.t"]),
        ({"upstream": {"retries": 0}}, ["upstream.retries"]),
        ({"pacing": {"mode": "off"}}, ["pacing.mode"]),
        ({"pacing": {"patience": {"json_s": 1}}}, ["pacing.patience.json_s"]),
        ({"metrics": {"token": "t"}}, ["metrics.token"]),
        ({"router": {"lambda": 5}}, ["router.lambda"]),
        ({"reliability": {"techniques": {"x": {"n": 1}}}}, ["reliability.techniques.x"]),
        ({"tool_quota": {"tools": {"web": {"calls": 1}}}}, ["tool_quota.tools.web"]),
    ],
)
def test_all_else_can_change_and_is_told_by_its_path(
    sections: dict[str, Json], changed: list[str]
) -> None:
    stated, served = config(**sections), config()

    assert kept(stated, served) == (stated, [])
    assert list(differences(served, stated)) == changed


def test_the_paths_of_a_change_are_told_and_not_what_stands_there() -> None:
    row = {**USUAL["providers"]["a"], "api_key": "sk-other"}
    stated = config(
        providers={**USUAL["providers"], "a": row},
        models=[{**USUAL["models"][0], "price": {"input": 9, "output": 2}}, USUAL["models"][1]],
    )

    assert list(differences(config(), stated)) == [
        "providers.a.api_key",
        "models.fast.price.input",
    ]


@pytest.mark.parametrize(
    "own",
    [
        None,
        {**USUAL["providers"]["own"], "base_url": "http://127.0.0.1:2/v1"},
        {**USUAL["providers"]["own"], "llama_cpp": {"margin": 1}},
    ],
)
def test_a_server_whose_slots_are_looked_after_stays_as_it_was(own: Json) -> None:
    served = config()
    rows = {"a": USUAL["providers"]["a"]} | ({"own": own} if own else {})
    models = USUAL["models"] if own else USUAL["models"][:1]

    merged, waiting = kept(config(providers=rows, models=models), served)

    assert waiting == ["providers.own"]
    assert merged.providers["own"] == served.providers["own"]


def test_persons_may_change_where_people_are_asked_already() -> None:
    served = config(attention={"persons": [PERSON]})
    stated = config(attention={"persons": [{**PERSON, "asks": 9}], "expires": 60})

    merged, waiting = kept(stated, served)

    assert waiting == ["attention.expires"]
    assert merged.attention.persons[0].asks == 9


def test_a_configuration_is_known_by_what_it_says_wherever_it_listens() -> None:
    here = digest(config())

    assert digest(config()) == here
    assert digest(config(server={"host": "::1", "port": 7})) == here
    assert digest(config(database={"url": "postgresql://u:secret@h/x"})) == here
    assert digest(config(upstream={"retries": 0})) != here
    assert digest(config(), b"measured") != here


def test_what_it_is_known_by_tells_nothing_of_secrets() -> None:
    row = USUAL["providers"]["a"]

    def known(**changes: Json) -> str:
        return digest(config(providers={**USUAL["providers"], "a": {**row, **changes}}))

    assert known(api_key="sk-other") == known()
    assert known(headers={"x-token": "one"}) == known(headers={"x-token": "two"})
    assert known(headers={"x-token": "one"}) != known()
