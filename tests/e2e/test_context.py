"""Long conversations through both SDKs, to either provider: A-59 and A-65 as a client sees them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import anthropic
import httpx2
import openai
import pytest

from techniques.core.json import Json
from tests.fakes import script
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, PRICE, Gateway, hashed, settings
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked, ScriptedUpstream, dead_port

RULES = ("off", "refuse", "drop_tool_results", "summarise", "truncate")
SMALL = ("oa-small", "an-small")
WINDOW = 4000
FILLER = "and so it went on for a good while without much of note " * 4
PLAIN = {"x-lockgate-technique": "baseline"}
BY = {"on_wall": "summarise"}
CHANGES: dict[str, Json] = {
    "models": [
        {
            "name": name,
            "provider": name[:2],
            "model": f"real-{name[:2]}",
            "price": dict(PRICE),
            "capabilities": {"context": WINDOW},
        }
        for name in SMALL
    ],
    "keys": [
        *({"name": rule, "hash": hashed(rule), "context": {"on_wall": rule}} for rule in RULES),
        {"name": "thrifty", "hash": hashed("thrifty"), "context": {**BY, "model": "an-cheap"}},
        {
            "name": "poor",
            "hash": hashed("poor"),
            "budget": {"usd": 50},
            "context": {**BY, "model": "oa-free"},
        },
    ],
}
every_model = pytest.mark.parametrize("model", SMALL)
Sent = list[Json]


@pytest.fixture(scope="module")
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as running:
        yield running


@pytest.fixture(scope="module")
def gateway(
    upstream: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    held, dead = dead_port()
    folder = tmp_path_factory.mktemp("context")
    with held, Gateway(folder, settings(upstream.port, dead, CHANGES)) as running:
        yield running


@pytest.fixture(autouse=True)
def _fresh(upstream: ScriptedUpstream) -> None:
    upstream.forget()
    upstream.chooses(answering("oa-small"))


def answering(model: str) -> Callable[[Asked], Answer]:
    """Answer calls, and write summaries that have all that must be in them."""

    def choose(asked: Asked) -> Answer:
        told = text_of(asked.body["messages"][-1])
        said = "Done."
        if " values>>\n" in told:
            said = spoken(told.partition(" values>>\n")[2].partition("\n<<end")[0])
        read, written = len(told_of(asked.body)) // 4, len(said) // 4
        if model.startswith("oa"):
            return script.completion(said, used=script.counts(read, written))
        return script.message(said, used={"input_tokens": read, "output_tokens": written})

    return choose


def told_of(body: Json) -> str:
    """Return all words that are in a provider's request."""
    return json.dumps([body["messages"], body.get("system"), body.get("tools")])


def spoken(values: str) -> str:
    return f"They spoke of {', '.join(values.splitlines())}."


def text_of(message: Json) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def chatted(turns: int, about: str) -> Sent:
    """Return an agent's conversation, as the chat completions SDK has it."""
    sent: Sent = [{"role": "system", "content": "Be careful."}]
    for turn in range(turns):
        called: dict[str, Json] = {"id": f"c{turn}", "type": "function"}
        called["function"] = {"name": "look", "arguments": json.dumps({"at": f"{about}-{turn}"})}
        sent += [
            {"role": "user", "content": f"Look at {about}-{turn}, by May {turn + 1}. {FILLER}"},
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": FILLER * 2},
            {"role": "assistant", "content": f"I saw it and will remember it well. {FILLER}"},
        ]
    return [*sent, {"role": "user", "content": "And now?"}]


def messaged(turns: int, about: str) -> Sent:
    """Return the same as the messages SDK has it, without its system prompt."""
    sent: Sent = []
    for turn in range(turns):
        called: dict[str, Json] = {"type": "tool_use", "id": f"c{turn}", "name": "look"}
        called["input"] = {"at": f"{about}-{turn}"}
        result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": FILLER * 2}
        sent += [
            {"role": "user", "content": f"Look at {about}-{turn}, by May {turn + 1}. {FILLER}"},
            {"role": "assistant", "content": [called]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": f"I saw it and will remember it well. {FILLER}"},
        ]
    return [*sent, {"role": "user", "content": "And now?"}]


LOOK: Json = {"type": "object", "properties": {"at": {"type": "string"}}}


def chat(gateway: Gateway, rule: str, model: str, sent: Sent, **more: str) -> httpx2.Response:
    """Ask with the chat completions SDK under *rule*; *more* are wishes."""
    wishes = {f"x-lockgate-{name.replace('_', '-')}": value for name, value in more.items()}
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key=rule, max_retries=0
    ) as client:
        raw = client.chat.completions.with_raw_response.create(
            model=model,
            messages=sent,
            tools=[{"type": "function", "function": {"name": "look", "parameters": LOOK}}],
            extra_headers={**PLAIN, **wishes},
        )
        assert raw.parse().choices[0].message.content == "Done."
        return raw.http_response


def message(gateway: Gateway, rule: str, model: str, sent: Sent) -> httpx2.Response:
    """Ask with the messages SDK under *rule*."""
    with anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{gateway.port}", api_key=rule, max_retries=0
    ) as client:
        raw = client.messages.with_raw_response.create(
            model=model,
            max_tokens=100,
            system="Be careful.",
            messages=sent,
            tools=[{"name": "look", "input_schema": LOOK}],
            extra_headers=PLAIN,
        )
        assert raw.parse().content[0].to_dict()["text"] == "Done."
        return raw.http_response


SURFACES = {"chat": (chat, chatted), "messages": (message, messaged)}
Surface = tuple[Callable[..., httpx2.Response], Callable[[int, str], Sent]]
every_surface = pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)


def ids(sent: Sent) -> tuple[list[str], list[str]]:
    """Return the ids of the calls and of the results in what a provider was sent."""
    calls = [call["id"] for one in sent for call in one.get("tool_calls") or ()]
    results = [one["tool_call_id"] for one in sent if "tool_call_id" in one]
    blocks = [b for one in sent if isinstance(one["content"], list) for b in one["content"]]
    calls += [block["id"] for block in blocks if block["type"] == "tool_use"]
    results += [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return calls, results


@every_model
@every_surface
@pytest.mark.parametrize("rule", ["drop_tool_results", "summarise", "truncate"])
def test_what_a_provider_gets_is_whole_and_shorter(
    gateway: Gateway, upstream: ScriptedUpstream, surface: Surface,
    rule: str, model: str,
) -> None:  # fmt: skip
    upstream.chooses(answering(model))
    turns = 40 if rule == "truncate" else 10

    ask, spelled = surface
    said = spelled(turns, "whole")

    response = ask(gateway, rule, model, said)

    sent = upstream.asked[-1].body["messages"]
    calls, results = ids(sent)
    assert calls == results
    assert len(json.dumps(sent)) < len(json.dumps(said))
    assert text_of(sent[-1]) == "And now?"
    assert f"c{turns - 1}" in calls
    told = {
        "drop_tool_results": "tool_results_dropped",
        "summarise": "context_summarised",
        "truncate": "context_truncated",
    }
    assert told[rule] in response.headers["x-lockgate-warnings"]
    if sent[0]["role"] == "system":
        assert text_of(sent[0]) == "Be careful."
    else:
        assert text_of({"content": upstream.asked[-1].body["system"]}) == "Be careful."


@every_model
def test_a_summary_is_a_call_of_the_run_with_a_row_and_a_price(
    gateway: Gateway, upstream: ScriptedUpstream, model: str
) -> None:
    upstream.chooses(answering(model))

    response = chat(gateway, "summarise", model, chatted(10, f"rows-{model}"))

    told = response.headers["x-lockgate-request-id"]
    ledger = gateway.get(f"/admin/ledger?request={told}", ADMIN_TOKEN)
    rows = json.loads(ledger.body)["rows"]
    assert [row["role"] for row in rows] == ["summary", "answer"]
    assert all(float(row["cost_usd"]) > 0 for row in rows)
    assert response.headers["x-lockgate-calls"] == "2"
    total = sum(float(row["cost_usd"]) for row in rows)
    assert float(response.headers["x-lockgate-cost-usd"]) == pytest.approx(total)


def test_a_summary_is_paid_once_while_a_conversation_goes_on(
    gateway: Gateway, upstream: ScriptedUpstream
) -> None:
    first = chat(gateway, "summarise", "oa-small", chatted(10, "once"))
    sent = upstream.asked[-1].body["messages"]
    again = chat(gateway, "summarise", "oa-small", chatted(11, "once"))

    assert [first.headers["x-lockgate-calls"], again.headers["x-lockgate-calls"]] == ["2", "1"]
    assert upstream.asked[-1].body["messages"][: len(sent) - 1] == sent[:-1]


def test_a_cheaper_model_may_write_summaries(gateway: Gateway, upstream: ScriptedUpstream) -> None:
    upstream.chooses(
        lambda asked: answering("an" if asked.body["model"] == "real-cheap" else "oa")(asked)
    )

    response = chat(gateway, "thrifty", "oa-small", chatted(10, "thrift"))

    assert [asked.body["model"] for asked in upstream.asked] == ["real-cheap", "real-oa"]
    assert "context_summarised" in response.headers["x-lockgate-warnings"]


def test_a_key_with_a_budget_asks_for_no_summary_whose_price_is_not_known(
    gateway: Gateway, upstream: ScriptedUpstream
) -> None:
    response = chat(gateway, "poor", "oa-small", chatted(10, "poor"))

    assert response.headers["x-lockgate-calls"] == "1"


def test_the_last_call_of_a_cap_is_the_answers(
    gateway: Gateway, upstream: ScriptedUpstream
) -> None:
    response = chat(gateway, "summarise", "oa-small", chatted(11, "cap"), max_calls="1")

    assert response.headers["x-lockgate-calls"] == "1"


def test_a_pinned_message_is_sent_as_it_is(gateway: Gateway, upstream: ScriptedUpstream) -> None:
    chat(gateway, "truncate", "oa-small", chatted(40, "pin"), pin='["pin-2, by May"]')

    sent = [text_of(one) for one in upstream.asked[-1].body["messages"] if one["content"]]
    assert (
        next(text[:20] for text in sent if text.startswith("Look at"))
        == ("Look at pin-2, by May"[:20])
    )


@pytest.mark.parametrize("rule", ["off", "summarise", "truncate"])
def test_a_plain_call_is_never_touched(
    gateway: Gateway, upstream: ScriptedUpstream, rule: str
) -> None:
    key = KEYS["k1"] if rule == "off" else rule
    chat(gateway, key, "oa-small", chatted(40, "plain"), technique="none")

    assert upstream.asked[-1].body["messages"] == chatted(40, "plain")


def test_a_key_without_rules_is_not_touched_by_a_technique_either(
    gateway: Gateway, upstream: ScriptedUpstream
) -> None:
    chat(gateway, KEYS["k1"], "oa-small", chatted(40, "free"))

    calls, _ = ids(upstream.asked[-1].body["messages"])
    assert len(calls) == 40


@every_surface
def test_a_conversation_that_cannot_fit_is_refused_in_the_clients_dialect(
    gateway: Gateway, upstream: ScriptedUpstream, surface: Surface
) -> None:
    ask, spelled = surface

    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as refused:
        ask(gateway, "refuse", "oa-small", spelled(40, "refused"))

    assert "of the model's window of 4000 are there for it" in str(refused.value)
    assert upstream.asked == []


def test_what_was_saved_is_counted(gateway: Gateway, upstream: ScriptedUpstream) -> None:
    chat(gateway, "truncate", "oa-small", chatted(40, "saved"))

    lines = gateway.get("/metrics").body.decode().splitlines()
    saved = [line for line in lines if line.startswith("lockgate_context_tokens_saved_total{")]
    assert any('method="truncate"' in line and float(line.split()[-1]) > 900 for line in saved)
    assert any(line.startswith("lockgate_context_slimmed_total{") for line in lines)
