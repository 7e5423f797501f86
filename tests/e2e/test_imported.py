"""A gateway on a configuration that was a LiteLLM proxy's: its models answer, and fall back."""

from __future__ import annotations

from pathlib import Path

import httpx2
import yaml
from typer.testing import CliRunner

from gateway.cli import main
from techniques.core.json import Json
from tests.e2e.turns import Turn, whole
from tests.fakes import script
from tests.fakes.gateway import Gateway
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import PATIENCE_S

TURNS: Json = [{"role": "user", "content": "hi"}]


def _theirs(port: int) -> Json:
    root = f"http://127.0.0.1:{port}"
    return {
        "model_list": [
            {
                "model_name": "smart",
                "litellm_params": {
                    "model": "openai/real-smart",
                    "api_base": f"{root}/v1",
                    "api_key": "os.environ/THEIR_KEY",
                },
            },
            {
                "model_name": "other",
                "litellm_params": {
                    "model": "anthropic/real-other",
                    "api_base": root,
                    "api_key": "canary-clear",
                },
            },
        ],
        "router_settings": {
            "num_retries": 0,
            "fallbacks": [{"smart": ["other"]}],
            "model_group_alias": {"gpt": "smart"},
        },
    }


def _ask(gateway: Gateway, model: str) -> httpx2.Response:
    url = f"http://127.0.0.1:{gateway.port}/v1/chat/completions"
    return httpx2.post(url, json={"model": model, "messages": TURNS}, timeout=PATIENCE_S)


def test_an_imported_configuration_is_served(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "config.yaml", tmp_path / "ours.yaml"
    variables = {"THEIR_KEY": "sk-their-key", "ANTHROPIC_API_KEY": "sk-clear-key"}
    with ScriptedUpstream() as upstream:
        theirs.write_text(yaml.safe_dump(_theirs(upstream.port)))
        made = CliRunner().invoke(main, ["import", "litellm", str(theirs), "-o", str(ours)])
        assert made.exit_code == 0, made.output
        config = yaml.safe_load(ours.read_text()) | {"server": {"port": 0}}
        with Gateway(tmp_path, config, variables) as gateway:
            upstream.plays(whole("oa-model", Turn(parts=("one",))))
            plain = _ask(gateway, "gpt")
            upstream.plays(script.error(503), whole("an-model", Turn(parts=("two",))))
            fallen = _ask(gateway, "smart")
        sent = [(one.path, one.body["model"]) for one in upstream.asked]

    assert plain.json()["choices"][0]["message"]["content"] == "one"
    assert fallen.json()["choices"][0]["message"]["content"] == "two"
    assert fallen.headers["x-lockgate-model"] == "other"
    assert sent == [
        ("/v1/chat/completions", "real-smart"),
        ("/v1/chat/completions", "real-smart"),
        ("/v1/messages", "real-other"),
    ]
