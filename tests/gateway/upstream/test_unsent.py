"""What was never sent costs nothing; what was sent may, whatever became of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from gateway.channels.metered import MeteredChannel
from gateway.metering.ledger import CallFinished, Ledger
from gateway.upstream import provider, providers
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.llama_cpp.seated import SeatedChannel
from gateway.upstream.pool import PooledTransport
from gateway.upstream.provider import Target
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.channel import Channel
from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request, said
from tests.gateway.upstream.bytes_scene import CLOSE, HANG, Peer, playing

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

QUESTION = Request("m", (said("user", "x" * 80),))
DIALECT = provider.load(providers)["openai_chat"]
TARGET = Target("fast", "oa", "real-model")
PRICES = pytest.mark.parametrize("price", [None, Price(10, 100, per_request=7, name="listed")])


class NoSeat:
    """A server whose slots are all taken, for ever."""

    async def sit(self, session: object) -> None:
        await anyio.sleep_forever()


def metered(transport: PooledTransport, price: Price | None, wait_s: float = 5.0) -> MeteredChannel:
    channel = HttpChannel(transport, DIALECT, TARGET, Patience(wait_s, 5.0))
    return MeteredChannel(channel, TARGET, price, Ledger())


async def row_of(channel: MeteredChannel) -> CallFinished:
    """Ask, and return the row of the failure."""
    with pytest.raises(UpstreamFailed):
        async with channel.open(QUESTION):
            pytest.fail("it began")
    (row,) = channel.ledger.rows
    return row


async def cancelled(channel: MeteredChannel, came: anyio.Event | None = None) -> CallFinished:
    """Ask and call it off: when it *came* to the provider, else when nobody can go on."""
    async with anyio.create_task_group() as group:

        async def ask() -> None:
            async with channel.open(QUESTION):
                pytest.fail("it began")

        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        if came is not None:
            await came.wait()
        group.cancel_scope.cancel()
    (row,) = channel.ledger.rows
    return row


@asynccontextmanager
async def full() -> AsyncGenerator[PooledTransport, None]:
    """Play an account with one connection, which is taken."""
    async with playing([HANG], pool=1) as (transport, peer), anyio.create_task_group() as group:

        async def first() -> None:
            with suppress(UpstreamFailed):
                async with metered(transport, None).open(QUESTION):
                    pytest.fail("it began")

        group.start_soon(first)
        await read_by(peer)
        yield transport
        group.cancel_scope.cancel()


async def read_by(peer: Peer) -> None:
    """Wait until *peer* has read a request."""
    while not peer.requests:
        await peer.came.wait()
        await anyio.lowlevel.checkpoint()


def assert_free(row: CallFinished) -> None:
    assert (row.usage, row.estimated, row.cost) == (Usage(), False, 0)
    assert row.cost_source == "operator"


@PRICES
async def test_a_refused_connection_costs_nothing(price: Price | None) -> None:
    async with playing() as (transport, _):
        pass

    row = await row_of(metered(transport, price))

    assert_free(row)
    assert (row.outcome, row.price) == ("transport", None if price is None else "listed")


@PRICES
async def test_a_call_that_got_no_connection_in_time_costs_nothing(price: Price | None) -> None:
    async with full() as transport:
        row = await row_of(metered(transport, price, wait_s=0.01))

    assert_free(row)
    assert row.outcome == "timeout"


@PRICES
async def test_a_call_that_is_called_off_before_it_is_sent_costs_nothing(
    price: Price | None,
) -> None:
    async with full() as transport:
        row = await cancelled(metered(transport, price))

    assert_free(row)
    assert row.outcome == "cancelled"


@PRICES
async def test_a_call_that_waits_for_a_slot_of_its_server_costs_nothing(
    price: Price | None,
) -> None:
    async with playing() as (transport, _):
        http = HttpChannel(transport, DIALECT, TARGET, Patience(5.0, 5.0))
        seated: Channel = SeatedChannel(http, NoSeat())  # type: ignore[arg-type]
        assert_free(await cancelled(MeteredChannel(seated, TARGET, price, Ledger())))


async def test_a_call_that_is_called_off_when_it_was_sent_pays_for_its_input() -> None:
    async with playing([HANG]) as (transport, peer):
        came = anyio.Event()
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await read_by(peer)
                came.set()

            group.start_soon(watch)
            row = await cancelled(metered(transport, Price(10, 100)), came)

    assert (row.outcome, row.estimated) == ("cancelled", True)
    assert row.cost


async def test_what_a_sent_call_without_a_price_costs_that_failed_is_not_known() -> None:
    async with playing([CLOSE]) as (transport, _):
        row = await row_of(metered(transport, None))

    assert (row.outcome, row.cost, row.cost_source) == ("transport", None, "unknown")
