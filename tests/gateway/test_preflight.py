from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config import Config, Secrets
from gateway.preflight import faults, remarks
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from tests.techniques.scene import needed

SECRETS = Secrets("key-secret", "admin-token")
KEY = {"name": "k", "hash": "hmac-sha256:" + "0" * 64}
PRICE = {"input": 1, "output": 2}
ROW: dict[str, Json] = {"name": "all", "difficulty_range": [0, 1], "technique": "baseline"}


def config(base_url: str = "https://api.example/v1", **sections: Json) -> Config:
    provider: dict[str, Json] = {"dialect": "openai_chat", "base_url": base_url}
    for name in {"allow_private", "dialect"} & sections.keys():
        provider[name] = sections.pop(name)
    usual = {
        "providers": {"oa": provider},
        "models": [{"name": "m", "provider": "oa", "price": PRICE}],
    }
    return Config.model_validate({**usual, **sections})


def test_a_configuration_that_works_has_no_faults() -> None:
    assert faults(config(), SECRETS) == []
    assert remarks(config(), SECRETS) == []


def test_without_models_there_is_nothing_to_serve() -> None:
    (line,) = faults(config(models=[]), SECRETS)

    assert line.startswith("models: there is none; add one")


def test_tokens_of_people_need_the_secret_they_were_hashed_with() -> None:
    (line,) = faults(config(attention={"persons": [KEY]}), Secrets(None, "admin-token"))

    assert line.startswith("attention.persons: set LOCKGATE_KEY_SECRET")


def test_it_is_told_that_questions_end_with_the_process() -> None:
    sections: dict[str, Json] = {"attention": {"persons": [KEY]}, "database": {"url": "none"}}

    (line,) = remarks(config(**sections), SECRETS)

    assert line.startswith("attention: without a database")


def test_keys_need_the_secret_they_were_hashed_with() -> None:
    made = config(keys=[KEY])

    assert faults(made, SECRETS) == []
    (line,) = faults(made, Secrets(None, None))
    assert line.startswith("keys: set LOCKGATE_KEY_SECRET")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "::1", "[::1]"])
def test_without_keys_a_loopback_address_may_be_open(host: str) -> None:
    assert faults(config(server={"host": host}), SECRETS) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "gateway.example", ""])
def test_without_keys_any_other_address_does_not_start(host: str) -> None:
    (line,) = faults(config(server={"host": host}), SECRETS)

    assert line.startswith("server.host: without keys")
    assert faults(config(server={"host": host}, keys=[KEY]), SECRETS) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://[::1]:11434",
        "http://10.1.2.3",
        "http://192.168.0.1",
        "http://169.254.169.254/latest",
        "http://[fd00::1]/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://0.0.0.0",
        "http://100.64.0.1",
    ],
)
def test_a_private_address_must_be_meant(url: str) -> None:
    (line,) = faults(config(url), SECRETS)

    assert line == "providers.oa.base_url: a private address; set allow_private to mean it"
    assert faults(config(url, allow_private=True), SECRETS) == []


@pytest.mark.parametrize(
    ("url", "dialect", "told"),
    [
        ("https://a.example/v1/chat/completions", "openai_chat", "ends with /chat/completions"),
        ("https://a.example/v1/chat/completions/", "openai_chat", "ends with /chat/completions"),
        ("https://a.example/v1/responses", "openai_responses", "ends with /responses"),
        ("https://a.example/v1/messages", "anthropic", "ends with /messages"),
        ("https://a.example/v1", "anthropic", "leave /v1 out"),
        ("https://a.example/x/v1/", "anthropic", "leave /v1 out"),
    ],
)
def test_what_is_added_to_an_address_does_not_stand_in_it(
    url: str, dialect: str, told: str
) -> None:
    (line,) = faults(config(url, dialect=dialect), SECRETS)

    assert line.startswith("providers.oa.base_url: ")
    assert told in line


@pytest.mark.parametrize(
    ("url", "dialect", "noted"),
    [
        ("https://a.example", "openai_chat", True),
        ("https://a.example/", "openai_responses", True),
        ("https://a.example/v1", "openai_chat", False),
        ("https://a.example/models", "openai_chat", False),
        ("https://a.example", "anthropic", False),
        ("https://a.example/anthropic", "anthropic", False),
    ],
)
def test_an_address_where_most_hosts_have_nothing_is_noted(
    url: str, dialect: str, *, noted: bool
) -> None:
    made = config(url, dialect=dialect)

    assert faults(made, SECRETS) == []
    assert any("no path" in line for line in remarks(made, SECRETS)) is noted


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "a.example/v1",
        "https://",
        "file:///etc/passwd",
        "https://[::1",
        "https://a.example:port",
        "https://a.example:99999/v1",
    ],
)
def test_what_is_no_http_address_is_a_fault_and_no_crash(url: str) -> None:
    (line,) = faults(config(url, allow_private=True), SECRETS)

    assert line == f"providers.oa.base_url: {url!r} is no http or https address"


def test_a_simulated_provider_has_no_address() -> None:
    made = config(providers={"oa": {"dialect": "openai_chat", "simulated": {}}})

    assert faults(made, SECRETS) == []


@pytest.mark.parametrize(
    ("sections", "line"),
    [
        (
            {"reliability": {"default": "magic"}},
            "reliability.default: there is no technique 'magic'",
        ),
        (
            {"reliability": {"techniques": {"magic": {}}}},
            "reliability.techniques: there is no technique 'magic'",
        ),
        (
            {"keys": [{**KEY, "techniques": ["none", "magic"]}]},
            "keys.k.techniques: there is no technique 'magic'",
        ),
    ],
)
def test_techniques_must_exist(sections: dict[str, Json], line: str) -> None:
    assert faults(config(**sections), SECRETS) == [line]


def test_none_and_auto_are_techniques_to_configure_with() -> None:
    made = config(
        reliability={"default": "auto"}, keys=[{**KEY, "techniques": ["none", "self_refine"]}]
    )

    assert faults(made, SECRETS) == []


@pytest.mark.parametrize(
    ("router", "path"),
    [
        ({"arms": ["telepathy/3"]}, "router.arms"),
        (
            {"acm_table": {"rows": [{"name": "a", "technique": "telepathy"}]}},
            "router.acm_table.rows",
        ),
        (
            {
                "acm_table": {
                    "rows": [
                        {"name": "a", "technique": "self_consistency", "params": {"colour": 1}}
                    ]
                }
            },
            "router.acm_table.rows.a.params.colour",
        ),
        ({"acm_linear": {"file": "/nowhere/weights.json"}}, "router.acm_linear.file"),
    ],
)
def test_what_a_router_may_choose_is_checked(router: Json, path: str) -> None:
    lines = faults(config(router={"type": "acm_table", **router}), SECRETS)

    assert [line.partition(": ")[0] for line in lines] == [path]


def test_options_of_techniques_are_checked_with_their_path() -> None:
    options = {"self_consistency": {"num_samples": "some", "colour": 1}}

    lines = faults(config(reliability={"techniques": options}), SECRETS)

    assert sorted(line.partition(": ")[0] for line in lines) == [
        "reliability.techniques.self_consistency.colour",
        "reliability.techniques.self_consistency.num_samples",
    ]


@pytest.mark.parametrize(
    ("reliability", "path", "fault"),
    [
        ({"default": "acm_learned"}, "acm_learned.weights", "is missing"),
        (
            {"techniques": {"acm_learned": {"cost_weight": 2}}},
            "acm_learned.weights",
            "is missing",
        ),
        ({"default": "acm", "techniques": {"acm": {"table": []}}}, "acm.table", "needs a row"),
        (
            {"techniques": {"acm": {"table": [{**ROW, "technique": "telepathy"}]}}},
            "acm.table.0",
            "there is no technique 'telepathy'",
        ),
        (
            {"techniques": {"acm": {"table": [{**ROW, "technique": "soft_acm"}]}}},
            "acm.table.0",
            "soft_acm chooses a technique itself",
        ),
        (
            {"techniques": {"soft_acm": {"category_shifts": {"code": -0.25, "qa": 0.3}}}},
            "acm_soft.category_shifts.qa",
            "less than or equal to 0.25",
        ),
    ],
)
def test_what_a_technique_hands_on_to_is_checked(
    reliability: dict[str, Json], path: str, fault: str
) -> None:
    (line,) = faults(config(reliability=reliability), SECRETS)

    assert line.startswith(f"reliability.techniques.{path}: ")
    assert fault in line


def test_a_default_that_has_what_it_needs_starts() -> None:
    options = {"acm_learned": needed(load(catalog)["acm_learned"]), "acm": {"table": [ROW]}}
    reliability = {"default": "acm_learned", "techniques": options}

    assert faults(config(reliability=reliability), SECRETS) == []


def test_what_an_operator_should_know_is_told() -> None:
    made = config(models=[{"name": "m", "provider": "oa"}], reuse={"enabled": True})

    lines = remarks(made, Secrets(None, None))

    assert [line.partition(": ")[0] for line in lines] == [
        "reuse",
        "models.m",
        "LOCKGATE_ADMIN_TOKEN is not set",
    ]


def test_the_price_of_a_simulated_model_is_known() -> None:
    providers = {"oa": {"dialect": "openai_chat", "simulated": {}}}
    made = config(providers=providers, models=[{"name": "sim-small", "provider": "oa"}])

    assert remarks(made, SECRETS) == []


def test_a_window_that_is_not_known_is_remarked_on_where_conversations_are_cut_to_fit() -> None:
    row = {"name": "m", "provider": "oa", "price": PRICE}
    known = {**row, "capabilities": {"context": 8000}}
    rules = {"on_wall": "truncate"}

    (line,) = remarks(config(context=rules), SECRETS)
    assert line.startswith("models.m.capabilities.context: not known")
    (line,) = remarks(config(keys=[{**KEY, "context": rules}]), SECRETS)
    assert line.startswith("models.m.capabilities.context: not known")
    assert remarks(config(context=rules, models=[known]), SECRETS) == []
    assert remarks(config(context={"on_wall": False}), SECRETS) == []


def test_programs_without_walls_are_remarked_on() -> None:
    trusting = {"sandbox": {"kind": "process", "trusted": True}}
    (line,) = remarks(config(reliability=trusting), SECRETS)

    assert line.startswith("reliability.sandbox.trusted: ")
    assert remarks(config(reliability={"sandbox": "process"}), SECRETS) == []


BOTH: dict[str, Json] = {
    "providers": {
        "oa": {"dialect": "openai_chat", "base_url": "https://api.example/v1"},
        "sim": {"dialect": "openai_chat", "simulated": {}},
    },
    "models": [
        {"name": "a", "provider": "oa", "price": PRICE},
        {"name": "sim-*", "provider": "sim"},
        {"name": "sim-real*", "provider": "oa", "price": PRICE},
    ],
}


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ([], None),
        (["a"], None),
        (["a", "sim-real-1"], None),
        (["sim-1", "sim-2"], None),
        (["a", "a", "a"], "'a' stands 3 times, and draws so"),
        (["a", "sim-1"], "some are simulated"),
    ],
)
def test_an_odd_pool_is_remarked_on(pool: list[str], said: str | None) -> None:
    lines = remarks(config(**BOTH, reliability={"channels": pool}), SECRETS)

    assert len(lines) == (said is not None)
    assert all(line.startswith(f"reliability.channels: {said}") for line in lines)


def test_a_pool_of_the_only_model_is_remarked_on() -> None:
    (line,) = remarks(config(reliability={"channels": ["m"]}), SECRETS)

    assert line == "reliability.channels: there is one model, and no second one to draw with it"


def thinking(model: str, **row: Json) -> list[str]:
    """Return what is remarked of thinking, with *model* as the only one."""
    models = [{"name": "m", "provider": "oa", "price": PRICE, "model": model, **row}]
    return [line for line in remarks(config(models=models), SECRETS) if "think" in line]


def test_it_is_said_once_which_models_do_not_think_where_nobody_asks_for_it() -> None:
    names = ("gpt-5.2", "o3", "gpt-4o", "my-own-model")
    models = [{"name": name, "provider": "oa", "price": PRICE} for name in names]
    stated = {"name": "steered", "provider": "oa", "price": PRICE, "model": "gpt-5.2"}
    lines = remarks(config(models=[*models, {**stated, "thinking": "off"}]), SECRETS)

    assert len(lines) == 1
    assert lines[0].startswith("thinking is off for gpt-5.2 in calls that the gateway writes")


@pytest.mark.parametrize("stated", ["on", "auto", "off", "low"])
def test_of_a_model_whose_operator_decided_nothing_is_said(stated: str) -> None:
    assert thinking("gpt-5.2", thinking=stated) == []


def test_a_model_that_does_not_think_is_not_set_to_without_a_remark() -> None:
    assert thinking("gpt-4o", thinking="on") == ["models.m.thinking: this model does not think"]
    assert thinking("gpt-4o", thinking="off") == []
    assert thinking("my-own-model", thinking="on") == []


def test_a_model_that_is_priced_by_its_power_is_not_without_a_price() -> None:
    power: Json = {"hourly_usd": 1, "tokens_per_s": 50}
    made = config(models=[{"name": "m", "provider": "oa", "local_power": power}])

    assert remarks(made, SECRETS) == []


def test_the_folder_of_a_servers_slots_must_be_there(tmp_path: Path) -> None:
    def line(folder: Path) -> list[str]:
        row: Json = {
            "dialect": "openai_chat",
            "base_url": "https://api.example/v1",
            "llama_cpp": {"kv": {"folder": str(folder)}},
        }
        return faults(config(providers={"oa": row}), SECRETS)

    assert line(tmp_path) == []
    (told,) = line(tmp_path / "gone")
    assert told.startswith("providers.oa.llama_cpp.kv.folder: there is no folder")
