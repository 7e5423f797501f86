from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from router_service.evaluation.configurations import (
    Configuration,
    UnusableConfiguration,
    configuration,
    family_of,
)

URL = "http://127.0.0.1:9/v1"
FILES: Mapping[str, Any] = {
    "base.yaml": {
        "base_url": URL,
        "model": "small",
        "api_key": "${SOME_KEY}",
        "headers": {"X-Team": "a"},
        "technique": "best_of_n",
        "params": {"n": 4},
    },
    "list.yaml": [1],
}
ENVIRONMENT = {"SOME_KEY": "canary-1", "OTHER": "canary-2"}


def _read(name: str) -> Any:
    if name not in FILES:
        raise ValueError(f"{name}: it is not there")
    return FILES[name]


def _of(text: str) -> Configuration:
    return configuration(text, ENVIRONMENT.get, _read)


def test_an_address_and_fields_make_one() -> None:
    found = _of(
        f"a={URL}/ model=m technique=cisc params='{{\"n\": 3}}' lambda=2 body.temperature=0 "
        "headers.x-number=3 body.user=me"
    )
    assert (found.name, found.base_url, found.model) == ("a", URL, "m")
    assert found.body == {"temperature": 0, "user": "me"}
    assert found.wishes() == {
        "x-lockgate-technique": "cisc",
        "x-lockgate-params": '{"n":3}',
        "x-lockgate-lambda": "2",
        "x-number": "3",
    }


def test_fields_win_over_the_file() -> None:
    found = _of("b=base.yaml model=large params.n=8")
    assert (found.model, found.params, found.technique) == ("large", {"n": 8}, "best_of_n")
    assert found.api_key == "canary-1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nothing", "NAME=FILE"),
        ("a=", "NAME=FILE"),
        ("a=gone.yaml", "it is not there"),
        ("a=list.yaml", "must have fields"),
        (f"a={URL}", "model: Field required"),
        (f"a={URL} model=m colour=red", "colour: Extra inputs"),
        (f"a={URL} model=m loose", "is not field=value"),
        ("a=ftp://x model=m", "must begin with http"),
        ("a=http://me:secret@host model=m", "not in the address"),
        (f"a={URL} model=m api_key=sk-1", "write secrets as"),
        (f"a={URL} model=m headers.x-auth-token=sk-1", "write secrets as"),
        (f"a={URL} model=m api_key=${{GONE}}", "GONE is not set"),
        (f"a={URL} model=m body.model=x", "said elsewhere"),
        (f"a b={URL} model=m", "make a name"),
        (f"a={URL} model=m lambda=-1", "lambda"),
        (f"a={URL} model='m", "No closing quotation"),
    ],
)
def test_what_is_wrong_is_named(text: str, told: str) -> None:
    with pytest.raises(UnusableConfiguration) as failed:
        _of(text)
    assert told in str(failed.value)


def test_a_name_and_a_key_are_no_part_of_what_it_is_known_by() -> None:
    one, other = _of("a=base.yaml"), _of("b=base.yaml api_key='${OTHER}'")
    assert one.hash == other.hash
    changes = ("model=x", "params.n=5", "headers.x-team=b", "body.seed=1", "technique=cisc")
    assert len({one.hash, *(_of(f"a=base.yaml {change}").hash for change in changes)}) == 6


def test_an_address_may_be_in_the_environment() -> None:
    read = {"f.yaml": {"base_url": "http://${HOST}/v1", "model": "m"}}
    found = configuration("a=f.yaml", {"HOST": "there:8080"}.get, read.__getitem__)
    assert found.base_url == "http://there:8080/v1"


def test_no_secret_is_shown() -> None:
    found = _of("a=base.yaml headers.Authorization='Bearer ${OTHER}'")
    assert found.headers["Authorization"] == "Bearer canary-2"
    assert "canary" not in f"{found.shown()} {found!r}"


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "openai"),
        ("o3-mini", "openai"),
        ("openrouter/anthropic/claude-sonnet-5", "anthropic"),
        ("meta-llama/Llama-3-8B", "meta"),
        ("Qwen3-8B", "qwen"),
        ("mixtral-8x7b", "mistral"),
        ("nobody-knows", ""),
    ],
)
def test_a_family_is_guessed_by_the_name(model: str, family: str) -> None:
    assert family_of(_of(f"a={URL} model={model}")) == family


def test_a_family_that_is_stated_holds() -> None:
    assert family_of(_of(f"a={URL} model=gpt-9 family=Mine")) == "mine"
