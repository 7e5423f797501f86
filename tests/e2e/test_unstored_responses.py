"""Responses of a gateway that keeps none, or cannot just now; and what is erased of a key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import openai
import orjson
import pytest
from typer.testing import CliRunner

from gateway.cli import main
from techniques.core.json import Json
from tests.e2e.stored import SECRET, Pair, paired
from tests.e2e.turns import MODELS, Called, Turn

HELLO = Turn(parts=("Hello, ", "Zoë."))


@pytest.fixture(scope="module")
def off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("off")
    with paired(folder, f"sqlite:///{folder}/kept.db", 1, responses={"store": "off"}) as pair:
        yield pair


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Pair]:
    with paired(tmp_path, f"sqlite:///{tmp_path}/kept.db", 1) as pair:
        yield pair


@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_where_none_is_kept_it_says_so_and_names_the_setting(off: Pair, model: str) -> None:
    client = off.client()
    off.says(HELLO)
    told = client.responses.create(model=model, input="Hello?")
    assert told.to_dict()["store"] is False

    with pytest.raises(openai.BadRequestError, match=r"responses\.store") as refused:
        client.responses.create(model=model, input="x", previous_response_id=told.id)
    assert refused.value.code == "previous_response_not_found"
    with pytest.raises(openai.BadRequestError, match=r"responses\.store") as refused:
        client.responses.create(model=model, input="x", background=True)
    assert refused.value.param == "background"
    with pytest.raises(openai.NotFoundError, match=r"responses\.store"):
        client.responses.retrieve(told.id)
    with pytest.raises(openai.NotFoundError, match=r"responses\.store"):
        client.responses.delete(told.id)


def test_where_none_is_kept_a_relayed_answer_is_its_providers_own(off: Pair) -> None:
    off.says(HELLO)
    told = off.client().responses.create(
        model="rs-model", input="Hello?", previous_response_id="resp_theirs", store=True
    )
    asked = off.upstream.asked[-1].body
    assert (asked["previous_response_id"], asked["store"]) == ("resp_theirs", True)
    assert told.output_text == HELLO.text


def test_a_response_that_is_not_known_here_may_be_known_to_a_relayed_provider(on: Pair) -> None:
    on.says(HELLO)
    told = on.client().responses.create(
        model="rs-model", input="Hello?", previous_response_id="resp_theirs"
    )
    assert on.upstream.asked[-1].body["previous_response_id"] == "resp_theirs"
    with pytest.raises(openai.NotFoundError):
        on.client().responses.retrieve(told.id)


@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_of_openais_goes_to_a_provider_that_is_relayed_alone(
    off: Pair, model: str
) -> None:
    off.says(HELLO)
    asked: Json = {"model": model, "input": "Hello?", "conversation": "conv_1"}
    if model == "rs-model":
        off.client().responses.create(**asked)
        assert off.upstream.asked[-1].body["conversation"] == "conv_1"
        return
    with pytest.raises(openai.BadRequestError) as refused:
        off.client().responses.create(**asked)
    assert refused.value.param == "conversation"


@pytest.mark.parametrize("form", ["whole", "streamed"])
@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_a_loop_of_tools_goes_on_by_references_where_none_is_kept(
    off: Pair, model: str, form: str
) -> None:
    client = off.client()
    tools: Json = [{"type": "function", "name": "now", "parameters": {"type": "object"}}]
    asked: Json = {"role": "user", "content": "When?"}
    off.says(Turn(calls=[Called("call_1", "now", "{}")]))
    said: Json = {"model": model, "tools": tools, "input": [asked]}
    if form == "whole":
        called: Json = client.responses.create(**said).output[0]
    else:
        with client.responses.stream(**said) as stream:
            called = stream.get_final_response().output[0]
    off.says(HELLO)

    reference: Json = {"type": "item_reference", "id": called.id}
    result: Json = {"type": "function_call_output", "call_id": "call_1", "output": "noon"}
    said["input"] = [asked, reference, result]
    assert client.responses.create(**said).output_text == HELLO.text

    assert len(off.upstream.asked[-1].body["messages"]) == 3
    with pytest.raises(openai.BadRequestError):
        off.client(key="k2").responses.create(**said)


def test_a_database_that_takes_nothing_costs_no_answer(on: Pair, tmp_path: Path) -> None:
    client = on.client()
    on.says(HELLO)
    kept = client.responses.create(model="oa-model", input="One.")
    holding = sqlite3.connect(tmp_path / "kept.db", isolation_level=None)
    holding.execute("BEGIN IMMEDIATE")
    try:
        answer = client.responses.with_raw_response.create(
            model="oa-model", input="Two.", previous_response_id=kept.id
        )
    finally:
        holding.execute("ROLLBACK")
        holding.close()

    assert "response_not_stored" in answer.headers["x-lockgate-warnings"]
    told = answer.parse()
    assert (told.output_text, told.to_dict()["store"]) == (HELLO.text, False)
    assert [text for _, text in on.sent()] == ["One.", HELLO.text, "Two."]


def test_nothing_of_it_can_be_read_in_the_database(on: Pair, tmp_path: Path) -> None:
    on.says(Turn(parts=("A secret answer",)))
    on.client().responses.create(model="oa-model", input="A secret question")
    with sqlite3.connect(tmp_path / "kept.db") as database:
        ((record,),) = database.execute("SELECT record FROM responses")
    database.close()
    assert record.startswith("sealed:")
    assert "secret" not in record


def test_all_of_a_key_are_erased_and_no_others(on: Pair, tmp_path: Path) -> None:
    on.says(HELLO)

    def made(key: str) -> str:
        return on.client(key=key).responses.create(model="oa-model", input="Hello?").id

    def count() -> dict[str, int]:
        with sqlite3.connect(tmp_path / "kept.db") as database:
            found = database.execute("SELECT owner, count(*) FROM responses GROUP BY owner")
            counted = dict(found.fetchall())
        database.close()
        return counted

    for _ in range(2):
        made("k1")
    other = made("k2")
    reply = on.send("DELETE", "/v1/responses")
    assert (reply.status, orjson.loads(reply.body)) == (200, {"erased": 2})
    assert count() == {"k2": 1}
    made("k1")
    reply = on.send("DELETE", "/admin/responses?key=k1", key="admin")
    assert orjson.loads(reply.body) == {"key": "k1", "erased": 1}
    assert on.send("DELETE", "/admin/responses?key=k1").status == 401
    assert on.send("DELETE", "/admin/responses", key="admin").status == 400

    command = ["responses", "erase", "--key", "k2", "-c", str(tmp_path / "0" / "lockgate.yaml")]
    variables = {"JOURNAL_KEY": SECRET, **_secrets()}
    done = CliRunner().invoke(main, command, env=variables)
    assert (done.exit_code, done.output) == (0, "Erased 1 response.\n")
    assert count() == {}
    with pytest.raises(openai.NotFoundError):
        on.client(key="k2").responses.retrieve(other)


def _secrets() -> dict[str, str]:
    return {"OA_KEY": "x", "AN_KEY": "x", "RS_KEY": "x", "LOCKGATE_KEY_SECRET": "x" * 16}
