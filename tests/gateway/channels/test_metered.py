from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from gateway.channels.metered import MeteredChannel
from gateway.metering.heard import Answering
from gateway.metering.known import tier_of
from gateway.metering.ledger import CallFinished, Fact, Ledger
from gateway.metering.meters.durable import Whose
from gateway.metering.meters.durable import row_of as row_of_database
from gateway.metering.trace import Trace
from gateway.upstream.provider import Target
from pricing.cost import MOST, cost
from pricing.price import Price
from pricing.source import PriceSource
from pricing.usage import Usage
from techniques.core.channel import Channel, ask
from techniques.core.errors import (
    FailureKind,
    GatewayError,
    RequestRejected,
    Said,
    StreamBroken,
    UpstreamFailed,
)
from techniques.core.events import (
    BlockAdded,
    Event,
    Finished,
    RefusalDelta,
    Relayed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
    Warned,
)
from techniques.core.reply import Reply, replied
from techniques.core.request import Image, Message, Opaque, Relay, Request, Sampling, Text, said
from techniques.testing import Line, ScriptedChannel

PRICE = Price(input=10, output=100, name="operator:fast")
QUESTION = Request("m", (said("user", "x" * 80),), role="judge", step="j1")
COUNTED = Usage(input_tokens=7, output_tokens=3)
FORTY = "x" * 40
"""Ten tokens, by rule of thumb."""


class Playing:
    """A channel that yields *events* and then, with *failure*, fails."""

    def __init__(self, *events: Event, failure: Exception | None = None) -> None:
        self._events = events
        self._failure = failure

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        async with aclosing(self._play()) as events:
            yield events

    async def _play(self) -> AsyncGenerator[Event, None]:
        for event in self._events:
            yield event
        if self._failure is not None:
            raise self._failure


def metered(
    inner: Channel, ledger: Ledger, price: Price | None = PRICE, name: str = "fast"
) -> MeteredChannel:
    return MeteredChannel(inner, Target(name, "openai", "gpt-x"), price, ledger)


async def row_of(
    inner: Channel, request: Request = QUESTION, price: Price | None = PRICE
) -> CallFinished:
    """Ask, whatever comes of it, and return the one row that is written."""
    ledger = Ledger()
    try:
        async with metered(inner, ledger, price).open(request) as events:
            async for _ in events:
                pass
    except GatewayError:
        pass
    (row,) = ledger.rows
    return row


async def test_a_call_that_ends_well_is_one_row_with_the_providers_own_count() -> None:
    row = await row_of(ScriptedChannel([Line(Reply(replied("hi").parts, usage=COUNTED))]))

    assert (row.model, row.provider, row.role, row.step) == ("fast", "openai", "judge", "j1")
    assert (row.outcome, row.usage, row.estimated) == ("ok", COUNTED, False)
    assert (row.cost, row.cost_source) == (7 * 10 + 3 * 100, "operator")
    assert (row.price, tier_of(row)) == ("operator:fast", "exact_user_rate")
    assert row.output_cost == 3 * 100
    assert row.first_s is not None
    assert 0 <= row.first_s <= row.seconds


async def test_how_much_was_reasoning_is_guessed_from_its_text_where_it_is_not_told() -> None:
    used = UsageReported(Usage(7, 30))
    row = await row_of(Playing(ThinkingDelta(FORTY), TextDelta("a"), used, Finished()))

    assert row.usage == Usage(7, 30, reasoning_tokens=10)
    assert (row.estimated, row.reasoning_estimated) == (False, True)


@pytest.mark.parametrize(
    ("piece", "usage"),
    [
        (ThinkingDelta(FORTY), Usage(7, 30, reasoning_tokens=4)),
        (TextDelta(FORTY), Usage(7, 30)),
        (Relayed(b"{}", 40), Usage(7, 30)),
    ],
)
async def test_reasoning_that_is_told_or_not_seen_is_not_guessed(
    piece: Event, usage: Usage
) -> None:
    row = await row_of(Playing(piece, UsageReported(usage), Finished()))

    assert (row.usage, row.reasoning_estimated) == (usage, False)


async def test_no_more_is_reasoning_than_was_written() -> None:
    row = await row_of(Playing(ThinkingDelta(FORTY), UsageReported(Usage(7, 3)), Finished()))

    assert row.usage.reasoning_tokens == 3


async def test_without_a_price_the_cost_is_unknown_and_not_zero() -> None:
    row = await row_of(Playing(TextDelta("a"), UsageReported(COUNTED), Finished()), price=None)

    assert (row.cost, row.cost_source, row.price) == (None, "unknown", None)


@pytest.mark.parametrize(
    "piece",
    [
        TextDelta(FORTY),
        ThinkingDelta(FORTY),
        RefusalDelta(FORTY),
        ToolCallDelta(0, FORTY),
        Relayed(b"{}", 40),
    ],
    ids=lambda piece: type(piece).__name__,
)
async def test_what_a_provider_does_not_count_is_guessed(piece: Event) -> None:
    row = await row_of(Playing(Started(), piece, Finished()))

    assert (row.estimated, row.usage.output_tokens) == (True, 10)
    assert 20 <= row.usage.input_tokens <= 30


async def test_a_guess_stays_within_what_was_allowed() -> None:
    asked = Request("m", sampling=Sampling(max_output_tokens=4))

    assert (await row_of(Playing(TextDelta(FORTY), Finished()), asked)).usage.output_tokens == 4


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"max_tokens": 4}, 4),
        ({"max_completion_tokens": 5, "max_tokens": 9}, 9),
        ({"max_output_tokens": 4}, 10),
        ({}, 10),
        ({"max_tokens": None}, 10),
    ],
)
async def test_a_guess_stays_within_what_a_relayed_body_allows(
    body: dict[str, int | None], expected: int
) -> None:
    relay = Relay("openai_chat", None, body, lambda: QUESTION)

    row = await row_of(Playing(Relayed(b"x", 40), Finished()), Request("m", relay=relay))

    assert row.usage.output_tokens == expected


@pytest.mark.parametrize("raw", [b"x" * 400, None], ids=["as it came", "changed"])
async def test_the_input_of_a_relayed_body_is_guessed_by_its_length(raw: bytes | None) -> None:
    relay = Relay("openai_chat", raw, {"a": "x" * 380}, lambda: QUESTION)

    row = await row_of(Playing(Relayed(b"x", 4), Finished()), Request("m", relay=relay))

    assert row.usage.input_tokens == pytest.approx(100, abs=5)


async def test_an_empty_call_is_at_least_a_token_of_input() -> None:
    row = await row_of(Playing(TextDelta("a"), Finished()), Request("m"))

    assert row.usage == Usage(1, 1)


async def test_a_call_that_fails_before_it_begins_used_nothing() -> None:
    row = await row_of(ScriptedChannel([Line(UpstreamFailed("down", "overloaded"))]))

    assert (row.outcome, row.usage, row.cost) == ("overloaded", Usage(), 0)
    assert (row.estimated, row.first_s) == (False, None)


async def test_tokens_that_a_failing_provider_counted_are_paid_for() -> None:
    failure = UpstreamFailed("bad answer", "invalid_answer", said=Said(usage=COUNTED))

    row = await row_of(ScriptedChannel([Line(failure)]))

    assert (row.usage, row.estimated, row.cost) == (COUNTED, False, 370)


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (StreamBroken("cut"), "truncated"),
        (StreamBroken("slow", "timeout"), "timeout"),
        (StreamBroken("busy", "overloaded"), "overloaded"),
        (RequestRejected("no", code="too_odd"), "too_odd"),
    ],
)
async def test_a_call_that_breaks_off_pays_for_what_was_read(
    failure: GatewayError, outcome: str
) -> None:
    row = await row_of(Playing(TextDelta(FORTY), failure=failure))

    assert (row.outcome, row.estimated, row.usage.output_tokens) == (outcome, True, 10)
    assert row.cost


@pytest.mark.parametrize("kind", ["rate_limited", "authentication", "timeout", "transport"])
async def test_the_kind_of_failure_is_the_outcome(kind: FailureKind) -> None:
    row = await row_of(ScriptedChannel([Line(UpstreamFailed("x", kind))]))

    assert row.outcome == kind


async def test_input_counted_before_a_break_is_kept_and_only_the_rest_is_guessed() -> None:
    counted = UsageReported(Usage(50, 2, cache_read_tokens=30))

    row = await row_of(Playing(counted, TextDelta(FORTY), failure=StreamBroken("cut")))

    assert row.usage == Usage(50, 10, cache_read_tokens=30)
    assert row.estimated


async def test_a_count_larger_than_the_guess_is_not_made_smaller() -> None:
    counted = UsageReported(Usage(50, 99))

    row = await row_of(Playing(TextDelta(FORTY), counted, failure=StreamBroken("cut")))

    assert row.usage == Usage(50, 99)


@pytest.mark.parametrize(
    ("client_left", "outcome"), [(False, "cancelled"), (True, "client_disconnect")]
)
async def test_a_cancelled_call_was_sent_and_its_input_is_paid_for(
    *, client_left: bool, outcome: str
) -> None:
    ledger = Ledger(client_left=client_left)
    channel = metered(ScriptedChannel([Line(replied("x"), after=60)]), ledger)
    with anyio.move_on_after(1):
        await ask(channel, QUESTION)

    (row,) = ledger.rows
    assert (row.outcome, row.estimated, row.usage.output_tokens) == (outcome, True, 0)
    assert row.usage.input_tokens >= 20


async def test_a_call_left_early_is_cancelled_and_pays_for_what_was_read() -> None:
    ledger = Ledger()
    async with metered(Playing(TextDelta(FORTY), TextDelta("y"), Finished()), ledger).open(
        QUESTION
    ) as events:
        await anext(aiter(events))

    (row,) = ledger.rows
    assert (row.outcome, row.estimated, row.usage.output_tokens) == ("cancelled", True, 10)


@pytest.mark.parametrize(
    "piece", [ToolCallStarted(0, "1", "f"), BlockAdded(Opaque("anthropic", {}))]
)
async def test_any_piece_begins_an_answer(piece: Event) -> None:
    row = await row_of(Playing(piece, failure=StreamBroken("cut")))

    assert row.usage.input_tokens
    assert row.estimated


async def test_a_bug_further_in_is_still_a_row() -> None:
    ledger = Ledger()
    with pytest.raises(ZeroDivisionError):
        await ask(metered(Playing(Started(), failure=ZeroDivisionError()), ledger), QUESTION)

    assert len(ledger.rows) == 1


async def test_warnings_are_recorded_and_passed_on() -> None:
    ledger = Ledger()
    warned = Warned("field_dropped", "seed")
    channel = metered(Playing(warned, TextDelta("a"), Finished()), ledger)
    async with channel.open(QUESTION) as events:
        seen = [event async for event in events]

    assert warned in seen
    assert ledger.warnings == [warned]


async def test_only_a_call_that_answers_names_the_answering_model() -> None:
    ledger = Ledger()
    await ask(metered(ScriptedChannel(["x"]), ledger), QUESTION)
    assert ledger.answering is None

    await ask(metered(ScriptedChannel(["x"]), ledger), Request("m", role="answer"))
    assert ledger.answering == Answering("fast", "openai", "fast")


async def test_a_model_that_stands_for_many_is_shown_as_the_one_asked_for() -> None:
    ledger = Ledger()

    await ask(metered(ScriptedChannel(["x"]), ledger, name="gpt-*"), Request("m"))

    assert ledger.answering == Answering("gpt-*", "openai", "gpt-x")
    assert ledger.rows[0].model == "gpt-*"


async def test_meters_are_told_of_each_row_as_it_is_written() -> None:
    told: list[Fact] = []
    ledger = Ledger((told.append,))

    await ask(metered(ScriptedChannel(["a"]), ledger), QUESTION)

    assert told == ledger.rows


FLEX = Price(1, 10, name="operator:fast#flex")
MODAL = Price(10, 100, name="operator:fast", image=1000, modes=(("flex", FLEX),))
PICTURES = Request("m", (Message("user", (Image(url="u"), Text("?"), Image(url="v"))),))


async def test_a_call_is_charged_by_how_the_provider_says_that_it_served_it() -> None:
    told = (UsageReported(Usage(1, 1), "flex"), UsageReported(COUNTED))

    row = await row_of(Playing(TextDelta("a"), *told, Finished()), price=MODAL)

    assert (row.cost, row.price, row.caveats) == (7 * 1 + 3 * 10, "operator:fast#flex", ())


async def test_what_the_price_does_not_fit_is_said_in_the_row() -> None:
    used = UsageReported(Usage(7, 3, cache_read_tokens=2), "scale")

    row = await row_of(Playing(TextDelta("a"), used, Finished()))

    assert row.cost == 7 * 10 + 3 * 100
    assert row.caveats == ("cache_read_at_input_rate", "service_tier_unpriced")


@pytest.mark.parametrize("content", [TextDelta(FORTY), Relayed(b"x", 40), ThinkingDelta(FORTY)])
async def test_an_answer_that_is_said_to_have_used_nothing_is_estimated(content: Event) -> None:
    row = await row_of(Playing(content, UsageReported(Usage()), Finished()))

    assert (row.estimated, row.usage.output_tokens, row.outcome) == (True, 10, "ok")
    assert row.usage.input_tokens > 0
    assert row.cost


async def test_an_empty_answer_may_have_used_nothing() -> None:
    row = await row_of(Playing(UsageReported(Usage()), Finished()))

    assert (row.estimated, row.usage, row.cost) == (False, Usage(), 0)


async def test_pictures_are_counted_where_each_is_charged_for() -> None:
    answer = Playing(TextDelta("a"), UsageReported(COUNTED), Finished())

    row = await row_of(answer, PICTURES, MODAL)
    other = await row_of(answer, PICTURES)

    assert (row.usage.images, row.cost) == (2, 7 * 10 + 3 * 100 + 2000)
    assert (other.usage.images, other.cost) == (0, 7 * 10 + 3 * 100)


async def test_a_failed_call_sent_no_pictures_and_names_its_row() -> None:
    row = await row_of(ScriptedChannel([Line(UpstreamFailed("down"))]), PICTURES, MODAL)

    assert (row.usage, row.cost, row.price) == (Usage(), 0, "operator:fast")


@pytest.mark.parametrize(
    ("bills", "source", "expected"),
    [
        (True, "table", (5, "provider", "provider")),
        (False, "table", (7 * 10 + 3 * 100, "table", "listed")),
        (True, "operator", (7 * 10 + 3 * 100, "operator", "listed")),
    ],
)
async def test_a_provider_that_bills_is_believed_before_a_list_and_after_the_operator(
    *, bills: bool, source: PriceSource, expected: tuple[int, str, str]
) -> None:
    price = Price(10, 100, source=source, name="listed")
    told = UsageReported(COUNTED, charged=5)
    ledger = Ledger()
    target = Target("fast", "openrouter", "gpt-x", bills=bills)
    channel = MeteredChannel(Playing(TextDelta("a"), told, Finished()), target, price, ledger)

    async with channel.open(QUESTION) as events:
        assert len([event async for event in events]) == 3

    (row,) = ledger.rows
    assert (row.cost, row.cost_source, row.price) == expected


async def test_what_a_broken_answer_said_that_it_costs_is_not_what_it_will() -> None:
    told = UsageReported(COUNTED, charged=5)
    ledger = Ledger()
    target = Target("fast", "openrouter", "gpt-x", bills=True)
    listed = Price(10, 100, source="table", name="listed")
    answer = Playing(TextDelta("a"), told, failure=StreamBroken("cut"))
    channel = MeteredChannel(answer, target, listed, ledger)

    with pytest.raises(StreamBroken):
        await ask(channel, QUESTION)

    (row,) = ledger.rows
    assert (row.cost_source, row.estimated) == ("table", True)


@pytest.mark.parametrize("trace", [None, Trace("5" * 32, "6" * 16)])
async def test_where_a_trace_is_kept_a_call_goes_out_with_a_place_in_it(
    trace: Trace | None,
) -> None:
    script = ScriptedChannel([Line(replied("hi"))])
    ledger = Ledger(trace=trace)

    await ask(metered(script, ledger), QUESTION)

    span, sent = ledger.rows[0].span, script.asked[0].traceparent
    if trace is None:
        assert (span, sent) == (None, "")
    else:
        assert (len(span or ""), sent) == (16, f"00-{trace.trace_id}-{span}-01")


@pytest.mark.parametrize(("price", "written"), [(Price(1, 1), 3), (None, None)])
async def test_of_what_a_provider_charges_a_price_tells_the_part_that_was_written(
    price: Price | None, written: int | None
) -> None:
    listed = None if price is None else replace(price, source="table")
    told = UsageReported(COUNTED, charged=10)
    ledger = Ledger()
    target = Target("fast", "openrouter", "gpt-x", bills=True)
    answer = Playing(TextDelta("a"), told, Finished())

    await ask(MeteredChannel(answer, target, listed, ledger), QUESTION)

    assert (ledger.rows[0].cost, ledger.rows[0].output_cost) == (10, written)


FAULTY = [
    (Usage(0, 30, faulty=True), Usage(20, 30)),
    (Usage(700, 0, faulty=True), Usage(700, 10)),
    (Usage(700, 30, cache_read_tokens=9, faulty=True), Usage(700, 30, cache_read_tokens=9)),
    (Usage(faulty=True), Usage(20, 10)),
]


@pytest.mark.parametrize(("told", "used"), FAULTY)
async def test_tokens_that_cannot_be_are_estimated_and_marked_and_never_nothing(
    told: Usage, used: Usage
) -> None:
    question = replace(QUESTION, messages=(said("user", "x" * 64),))

    row = await row_of(Playing(TextDelta(FORTY), UsageReported(told), Finished()), question)

    assert (row.outcome, row.usage, row.estimated) == ("ok", used, True)
    assert tier_of(row) == "tokens_estimated_from_chars"
    assert row.cost == cost(used, PRICE) > 0


async def test_what_a_failing_provider_counted_wrongly_is_estimated() -> None:
    failure = UpstreamFailed("bad", "invalid_answer", said=Said(usage=Usage(7, 0, faulty=True)))

    row = await row_of(ScriptedChannel([Line(failure)]))

    assert (row.estimated, row.usage.input_tokens) == (True, 24)


async def test_no_call_costs_more_than_every_ledger_can_hold() -> None:
    price = Price(10**15, 10**15, per_request=10**15, name="dear")
    counts = Usage(2**32, 2**32, 2**32, 2**32, 2**32, 2**32, 2**32, 2**32, 2**32, 2**32)

    row = await row_of(Playing(TextDelta("a"), UsageReported(counts), Finished()), price=price)
    written = row_of_database(Whose("r", "r", None, None), row)

    assert row.cost == written.cost == MOST
    assert row.caveats[-1] == "over_a_million_dollars"
    assert MOST < 2**62  # what Redis counts in, and half of what a column holds
