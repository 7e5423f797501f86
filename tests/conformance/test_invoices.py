"""Golden invoices: what calls cost, worked out by hand and written down in dollars.

The prices are made up so that no two rates are alike: a token charged at the wrong one shows.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from techniques.core.json import Json
from tests.conformance.stage import Stage, technique
from tests.fakes import script
from tests.fakes.script import (
    Answer,
    Wait,
    begin,
    counts,
    done,
    dumps,
    finish,
    frame,
    message_end,
    message_start,
    sse,
    text,
    text_block,
    text_opened,
)
from tests.fakes.upstream import Asked

OA: dict[str, Json] = {
    "input": 2,
    "output": 8,
    "cache_read": 0.5,
    "reasoning": 10,
    "audio_input": 40,
    "audio_output": 80,
    "image_output": 30,
    "tiers": [{"over": 200000, "input": 4, "output": 12, "cache_read": 1}],
    "modes": {
        "flex": {"input": 1, "output": 4},
        "priority": {"input": 3, "output": 20, "tiers": [{"over": 1000, "input": 5, "output": 24}]},
    },
}
AN: dict[str, Json] = {
    "input": 3,
    "output": 15,
    "cache_read": 0.3,
    "cache_write": 3.75,
    "cache_write_1h": 6,
    "modes": {"fast": {"input": 30, "output": 150}},
}
PIECES: dict[str, Json] = {"input": 2, "output": 8, "per_request": 0.01, "image": 0.003}


def model(name: str, price: Json, **more: Json) -> dict[str, Json]:
    provider = name.partition("-")[0]
    return {"name": name, "provider": provider, "model": f"real-{name}", "price": price, **more}


pytestmark = pytest.mark.gateway(
    {
        "models": [
            model("oa-bill", OA),
            model("an-bill", AN),
            model("oa-pieces", PIECES),
            model("oa-dear", {"input": 100, "output": 1000}),
            model("oa-hedged", {"input": 2, "output": 8}, hedge_after_s=0.1),
        ],
        "reliability": {"judge": "oa-dear"},
    }
)


def bill(stage: Stage, request_id: str, least: int = 1) -> list[Decimal]:
    """Return what each call of a request cost, in dollars, in the order they began."""
    return [Decimal(row["cost_usd"]) for row in stage.rows(request_id, least=least)]


def owed(stage: Stage, answer: Answer, name: str = "oa-bill", **asked: Json) -> str:
    """Return what one whole *answer* of the model *name* costs, in dollars."""
    stage.upstream.plays(answer)
    received = stage.chat(model=name, **asked)
    (cost,) = bill(stage, received.request_id)
    assert Decimal(received.headers["x-lockgate-cost-usd"]) == cost
    return f"{cost:f}"


def used(prompt: int, output: int, inputs: Json = None, outputs: Json = None) -> Answer:
    details = {"prompt_tokens_details": inputs, "completion_tokens_details": outputs}
    known = {name: value for name, value in details.items() if value}
    return script.completion(used=counts(prompt, output, **known))


def served(mode: str, answer: dict[str, Json]) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    top = {"id": "c", "object": "chat.completion", "created": 1, "model": "real-oa-bill"}
    return script.body({**top, "choices": [choice], "usage": answer, "service_tier": mode})


def test_input_and_output(stage: Stage) -> None:
    # 1,000 at $2 and 100 at $8 a million
    assert owed(stage, used(1000, 100)) == "0.0028"


def test_cached_input(stage: Stage) -> None:
    # 200 at $2, 800 at $0.50, 100 at $8
    assert owed(stage, used(1000, 100, {"cached_tokens": 800})) == "0.0016"


def test_reasoning(stage: Stage) -> None:
    # 100 at $2; of 500 written, 300 at $10 and 200 at $8
    assert owed(stage, used(100, 500, None, {"reasoning_tokens": 300})) == "0.0048"


def test_audio_both_ways(stage: Stage) -> None:
    # 40 at $2, 60 heard at $40; 10 at $8, 90 spoken at $80
    answer = used(100, 100, {"audio_tokens": 60}, {"audio_tokens": 90})

    assert owed(stage, answer) == "0.00976"


def test_a_drawn_image(stage: Stage) -> None:
    # 10 at $2; 10 at $8, 1,290 drawn at $30
    assert owed(stage, used(10, 1300, None, {"image_tokens": 1290})) == "0.0388"


@pytest.mark.parametrize(
    ("prompt", "cached", "dollars"),
    [
        # 200,000: 150,000 at $2, 50,000 at $0.50, 10 at $8
        (200_000, 50_000, "0.32508"),
        # one more: all of it at the dearer rates, 150,001 at $4, 50,000 at $1, 10 at $12
        (200_001, 50_000, "0.650124"),
    ],
)
def test_a_long_prompt_is_charged_whole_at_its_tier(
    stage: Stage, prompt: int, cached: int, dollars: str
) -> None:
    assert owed(stage, used(prompt, 10, {"cached_tokens": cached})) == dollars


@pytest.mark.parametrize(
    ("mode", "prompt", "dollars"),
    [
        ("default", 1000, "0.0028"),
        ("flex", 1000, "0.0014"),  # 1,000 at $1, 100 at $4
        ("priority", 1000, "0.005"),  # 1,000 at $3, 100 at $20
        ("priority", 1001, "0.007405"),  # 1,001 at $5, 100 at $24
        ("scale", 1000, "0.0028"),  # nobody says what that costs: as usual, with a caveat
    ],
)
def test_a_service_tier_is_the_one_that_was_served(
    stage: Stage, mode: str, prompt: int, dollars: str
) -> None:
    assert owed(stage, served(mode, counts(prompt, 100)), service_tier="auto") == dollars


def test_a_service_tier_of_a_stream(stage: Stage) -> None:
    last = script.shell([], usage=counts(1000, 100), service_tier="flex")
    stage.upstream.plays(sse(begin(), text("River"), finish(), frame(last), done()))

    answer = stage.chat_stream(model="oa-bill", service_tier="flex")

    assert bill(stage, answer.request_id) == [Decimal("0.0014")]


def test_a_request_and_its_pictures(stage: Stage) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    asked = [{"role": "user", "content": [{"type": "text", "text": "?"}, picture, picture]}]

    # $0.01 for the request, twice $0.003, 500 at $2, 100 at $8
    assert owed(stage, used(500, 100), "oa-pieces", messages=asked) == "0.0178"


def cached(read: int, short: int, hour: int) -> dict[str, Json]:
    return {
        "input_tokens": 10,
        "output_tokens": 100,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": short + hour,
        "cache_creation": {
            "ephemeral_5m_input_tokens": short,
            "ephemeral_1h_input_tokens": hour,
        },
    }


def test_cache_writes_for_five_minutes_and_for_an_hour(stage: Stage) -> None:
    # 10 at $3, 4,000 read at $0.30, 1,000 written at $3.75, 2,000 for an hour at $6, 100 at $15
    assert owed(stage, script.message(used=cached(4000, 1000, 2000)), "an-bill") == "0.01848"


def test_a_fast_message(stage: Stage) -> None:
    # 1,000 at $30, 100 at $150
    told = {"input_tokens": 1000, "output_tokens": 100, "speed": "fast", "service_tier": "standard"}

    assert owed(stage, script.message(used=told), "an-bill") == "0.045"


def test_a_stream_that_tells_its_usage_twice_is_charged_once(stage: Stage) -> None:
    start = message_start(10, 1, cache_read_input_tokens=4000, cache_creation_input_tokens=0)
    stage.upstream.plays(sse(start, text_block("River"), message_end(wrote=100)))

    answer = stage.messages_stream(model="an-bill")

    # 10 at $3, 4,000 at $0.30, 100 at $15
    assert bill(stage, answer.request_id) == [Decimal("0.00273")]


def test_a_stream_that_breaks_is_charged_for_what_was_read_and_seen(stage: Stage) -> None:
    said = "forty characters, which are ten tokens.."
    stage.upstream.plays(sse(message_start(1000, 1), text_opened(said), end="fin"))

    with stage.open("/v1/chat/completions", asked_of("an-bill", stream=True)) as answer:
        list(answer.events())

    (row,) = stage.rows(answer.request_id)
    assert (row["outcome"], row["estimated"]) == ("truncated", True)
    # 1,000 at $3, and 10 at $15 by their characters
    assert Decimal(row["cost_usd"]) == Decimal("0.00315")


def asked_of(name: str, **fields: Json) -> dict[str, Json]:
    asked = [{"role": "user", "content": "hello there"}]
    return {"model": name, "max_tokens": 64, "messages": asked, **fields}


def test_a_client_that_leaves_pays_for_what_it_saw(stage: Stage) -> None:
    pieces = [write for _ in range(40) for write in (text("word"), Wait(0.05))]
    stage.upstream.plays(sse(begin(), *pieces, finish(), done()))
    body = padded("oa-bill", stream=True)

    with stage.open("/v1/chat/completions", body) as answer:
        next(event for event in answer.events() if event.data and "word" in event.data)

    (row,) = stage.rows(answer.request_id)
    assert (row["outcome"], row["estimated"]) == ("client_disconnect", True)
    seen = row["output_tokens"]
    assert 1 <= seen < 40
    # 400 bytes are 100 tokens at $2; a word is a token at $8
    assert Decimal(row["cost_usd"]) == Decimal("0.0002") + seen * Decimal("0.000008")


def padded(name: str, **fields: Json) -> bytes:
    """Return a request of 400 bytes: 100 tokens by rule of thumb."""
    empty = dumps({**asked_of(name, **fields), "user": ""})
    return dumps({**asked_of(name, **fields), "user": "x" * (400 - len(empty))})


def test_the_loser_of_a_race_is_charged_for_what_it_was_sent(stage: Stage) -> None:
    stage.upstream.plays(used(100, 10).later(20), used(100, 10))

    answer = stage.open("/v1/chat/completions", padded("oa-hedged")).whole()

    rows = stage.rows(answer.request_id, least=2)
    assert sorted((row["outcome"], row["estimated"]) for row in rows) == [
        ("cancelled", True), ("ok", False),
    ]  # fmt: skip
    # the loser: 100 at $2; the winner: 100 at $2, 10 at $8
    assert sorted(bill(stage, answer.request_id)) == [Decimal("0.0002"), Decimal("0.00028")]
    assert answer.headers["x-lockgate-cost-usd"] == "0.00048"


def test_an_attempt_that_failed_with_tokens_counted_is_charged_too(stage: Stage) -> None:
    stage.upstream.plays(script.choices(used=counts(1000, 50)), used(1000, 100))

    answer = stage.chat(model="oa-bill")

    # 1,000 at $2, 50 at $8; then 1,000 at $2, 100 at $8
    assert bill(stage, answer.request_id, 2) == [Decimal("0.0024"), Decimal("0.0028")]
    assert answer.headers["x-lockgate-cost-usd"] == "0.0052"


def test_an_attempt_that_was_refused_is_free(stage: Stage) -> None:
    stage.upstream.plays(script.error(500), used(1000, 100))

    answer = stage.chat(model="oa-pieces")

    # nothing; then $0.01 for the request, 1,000 at $2, 100 at $8
    assert bill(stage, answer.request_id, 2) == [Decimal(0), Decimal("0.0128")]


def test_the_judge_is_charged_at_its_own_price(stage: Stage) -> None:
    def verdict(asked: Asked) -> Answer:
        judges = asked.body["model"] == "real-oa-dear"
        return script.completion("4" if judges else "The tide.", used=counts(100, 10))

    stage.upstream.chooses(verdict)
    asked = [{"role": "user", "content": "Why does the sea come and go?"}]

    answer = stage.chat(
        model="oa-bill", messages=asked, headers=technique("best_of_n", num_samples=2)
    )

    rows = stage.rows(answer.request_id, least=3)
    judged = [Decimal(row["cost_usd"]) for row in rows if row["role"] == "judge"]
    drawn = [Decimal(row["cost_usd"]) for row in rows if row["role"] != "judge"]
    # a draw: 100 at $2, 10 at $8; a verdict: 100 at $100, 10 at $1,000
    assert drawn == [Decimal("0.00028")] * 2
    assert judged
    assert set(judged) == {Decimal("0.02")}
    total = sum(drawn) + sum(judged)
    assert Decimal(answer.headers["x-lockgate-cost-usd"]) == total
