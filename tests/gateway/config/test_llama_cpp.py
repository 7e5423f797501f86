from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.config import Config
from gateway.config.llama_cpp import KvConfig, LocalPowerConfig
from techniques.core.json import Json

URL = "http://127.0.0.1:8081/v1"


def config(llama_cpp: Json, workers: int = 1, **more: Json) -> Config:
    row: Json = {"dialect": "openai_chat", "base_url": URL, "llama_cpp": llama_cpp, **more}
    return Config.model_validate({"providers": {"llama": row}, "server": {"workers": workers}})


def test_a_server_of_llama_cpp_keeps_nothing_unless_there_is_a_folder() -> None:
    stated = config({}).providers["llama"].llama_cpp

    assert stated is not None
    assert (stated.kv, stated.vram, stated.margin) == (None, None, 256)


def test_sizes_and_times_are_written_with_their_units() -> None:
    kv = KvConfig.model_validate({"folder": "/kv", "min_free": "2GB", "idle_s": "5m"})

    assert (kv.folder, kv.min_free, kv.idle_s) == (Path("/kv"), 2 * 10**9, 300)
    assert KvConfig.model_validate({"folder": "/kv", "min_free": "auto"}).min_free is None


@pytest.mark.parametrize(
    "row",
    [
        {"dialect": "anthropic", "base_url": URL, "llama_cpp": {}},
        {"dialect": "openai_chat", "simulated": {}, "llama_cpp": {}},
    ],
)
def test_only_a_chat_provider_with_an_address_is_one(row: Json) -> None:
    with pytest.raises(ValidationError, match="llama_cpp is for a base_url"):
        Config.model_validate({"providers": {"llama": row}})


@pytest.mark.parametrize("kv", [None, {"folder": "/kv"}])
def test_several_workers_do_not_know_who_sits_where_and_so_keep_nothing(kv: Json) -> None:
    if kv is None:
        assert config({}, workers=2).server.workers == 2
        return
    with pytest.raises(
        ValidationError, match=re.escape("llama.llama_cpp.kv: needs server.workers: 1")
    ):
        config({"kv": kv}, workers=2)


def test_two_servers_do_not_write_into_one_folder() -> None:
    row: Json = {"dialect": "openai_chat", "base_url": URL, "llama_cpp": {"kv": {"folder": "/kv"}}}

    with pytest.raises(ValidationError, match=r"b\.llama_cpp\.kv\.folder: it is that of 'a'"):
        Config.model_validate({"providers": {"a": row, "b": row}})


@pytest.mark.parametrize("bytes_per_token", [None, 0, -1])
def test_a_cards_memory_needs_the_bytes_of_a_token(bytes_per_token: Json) -> None:
    stated = {} if bytes_per_token is None else {"bytes_per_token": bytes_per_token}

    with pytest.raises(ValidationError, match="bytes_per_token"):
        config({"vram": stated})


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({}, "say what an hour costs"),
        ({"watts": 300}, "need each other"),
        ({"usd_per_kwh": 0.3, "hourly_usd": 1}, "need each other"),
        ({"watts": 0, "usd_per_kwh": 0.3}, "watts"),
        ({"watts": -5, "usd_per_kwh": 0.3}, "watts"),
        ({"hourly_usd": -1}, "hourly_usd"),
        ({"hourly_usd": 1, "tokens_per_s": 0}, "tokens_per_s"),
        ({"hourly_usd": 1, "input_tokens_per_s": 0}, "input_tokens_per_s"),
    ],
)
def test_a_price_at_home_needs_to_know_what_an_hour_costs(
    stated: dict[str, Json], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        LocalPowerConfig.model_validate({"tokens_per_s": 50, **stated})


def test_a_model_has_one_price() -> None:
    row: Json = {
        "name": "m",
        "provider": "llama",
        "price": {"input": 0, "output": 0},
        "local_power": {"hourly_usd": 1, "tokens_per_s": 50},
    }

    with pytest.raises(ValidationError, match="either price or local_power"):
        Config.model_validate({"models": [row]})
