"""Opens what lasts as long as the process, whichever configuration it serves at the moment."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from gateway.attention.board import Board
from gateway.attention.opening import asking_people, ledger_for
from gateway.attention.persons import persons_of
from gateway.attention.quota import Meter
from gateway.bookkeeping import bookkeeping
from gateway.choosing import Choosing, Make, choosing
from gateway.config import Config, Secrets
from gateway.context.slimmer import Slimmer
from gateway.forecast.seen import Seen
from gateway.keeping import Kept, keeping
from gateway.learning.counts import LearningCounters
from gateway.metering.meters.attention import AttentionCounts
from gateway.metering.meters.context import ContextMeter
from gateway.metering.meters.database import DatabaseCounters
from gateway.metering.meters.forecast import ForecastMeter
from gateway.metering.meters.genai import GenAIMeter
from gateway.metering.meters.log import log_requests
from gateway.metering.meters.money import MoneyMeter
from gateway.metering.meters.pacing import PacingMeter
from gateway.metering.meters.prometheus import PrometheusMeter
from gateway.metering.meters.reloads import ReloadMeter
from gateway.metering.meters.router import RouterMeter
from gateway.metering.meters.rows import RecentRows
from gateway.metering.meters.runs import RunsMeter
from gateway.metering.meters.store import StoreMeter
from gateway.metering.meters.techniques import TechniqueMeter
from gateway.metering.spool import Reader, Spool
from gateway.opening import Meters, Pacing, pacing, pacing_labels
from gateway.remembering import Remembered, remembering
from gateway.responses.recent import Recent
from gateway.routing.observing import Observer
from gateway.runs.book import RunBook
from gateway.surfaces.gate import Gate
from gateway.surfaces.recall import Recall
from gateway.surfaces.spoken import RESPONSES
from gateway.surfaces.unheard import Unheard
from gateway.surveying import surveying
from gateway.tracing import Tracing, span_counts, tracing
from gateway.upstream.account import Account
from gateway.upstream.llama_cpp.opening import Hosting, hosting
from gateway.upstream.ways import ways_of
from gateway.upstreams import Upstreams
from techniques import catalog
from techniques.core.registry import load


class Counts:
    """The meters, in metrics of *registry*."""

    def __init__(self, registry: CollectorRegistry, config: Config) -> None:
        self.requests = PrometheusMeter(registry, [model.name for model in config.models])
        self.database = DatabaseCounters(registry)
        paced, names = pacing_labels(config)
        self.pacing = PacingMeter(registry, paced, names, alone=config.store.redis is None)
        self.genai = GenAIMeter(registry)
        cards = load(catalog)
        self.techniques = TechniqueMeter(registry, cards)
        self.router = RouterMeter(registry, cards)
        self.learning = LearningCounters(registry)
        self.money = MoneyMeter(registry, paced, _teams(config))
        self.store = StoreMeter(registry)
        self.spans = span_counts(registry)
        self.runs = RunsMeter(registry, _provided(config))
        self.attention = AttentionCounts(registry, config.tool_quota.tools)
        self.context = ContextMeter(registry)
        self.seen = Seen(ForecastMeter(registry))
        self.reloads = ReloadMeter(registry)
        self.rows = RecentRows()
        self._shown = {*_provided(config), *paced}

    def expect(self, config: Config) -> None:
        """Show the models of *config* from now on, beside those of before."""
        paced, names = pacing_labels(config)
        new = {*_provided(config), *paced} - self._shown
        self._shown |= new
        self.requests.expect({model for model, _ in new})
        self.pacing.expect(new.intersection(paced), names)
        self.money.expect(new.intersection(paced), _teams(config))
        self.runs.expect(new.intersection(_provided(config)))

    def readers(self) -> tuple[Reader, ...]:
        """Return all that read facts."""
        own = (self.requests, self.genai, self.pacing, self.runs, self.techniques, self.money)
        return (
            *own,
            self.router,
            self.attention,
            self.context,
            *self.seen.meters,
            self.rows,
            log_requests,
        )


def _teams(config: Config) -> Iterable[str]:
    return [team.name for team in config.teams]


def _provided(config: Config) -> Iterable[tuple[str, str]]:
    return [(row.name, row.provider) for row in config.models]


@dataclass(frozen=True, slots=True)
class Lasting:
    """What every configuration of this process is served with.

    ``runs`` None: none is written down. ``board`` None: nobody is asked. ``choosing`` is who
    chooses for ``auto``. ``uses`` counts the uses of tools, ``slimmer`` knows the
    conversations that were cut. ``remembered`` are the responses that are kept, None without
    a database; ``recent`` knows items of all others for a while.
    """

    secrets: Secrets
    counts: Counts
    spool: Spool
    kept: Kept
    paced: Pacing
    hosting: Hosting
    uses: Meter
    traces: Tracing
    runs: RunBook | None = None
    board: Board | None = None
    choosing: Choosing | None = None
    remembered: Remembered | None = None
    recent: Recent = field(default_factory=Recent)
    slimmer: Slimmer = field(default_factory=Slimmer)
    gate: Gate = field(default_factory=Gate)

    @property
    def observer(self) -> Observer | None:
        """Who sees what came of a router's choices."""
        return None if self.choosing is None else self.choosing.observer

    def recall(self, config: Config) -> Recall:
        """Return what is remembered of responses by *config*."""
        stated, remembered = config.responses, self.remembered
        return Recall(
            None if remembered is None else remembered.shelf,
            is_on=stated.store == "on",
            retention_s=stated.retention,
            max_size=stated.max_size,
            max_body=config.server.max_body,
            carries=self.runs is not None,
            recent=self.recent,
        )

    def unheard(self, recall: Recall) -> Unheard | None:
        """Return what keeps responses that nobody waits for; without runs there are none."""
        if self.runs is None or recall.shelf is None:
            return None
        return Unheard(RESPONSES, recall, self.runs, self.gate)

    def configure(self, config: Config) -> None:
        """Take in what *config* says; nothing waits here, so that all of it holds at once."""
        self.kept.configure(config)
        self.counts.expect(config)
        if self.remembered is not None:
            self.remembered.configure(config)
        if self.board is not None:
            self.board.persons = persons_of(config.attention, self.secrets.key_secret or "")


@asynccontextmanager
async def lasting(  # noqa: PLR0917 - what it is made of
    config: Config,
    secrets: Secrets,
    counts: Counts,
    now: Callable[[], Upstreams],
    make: Make,
) -> AsyncGenerator[Lasting, None]:
    """Open what *config* asks for; leaving closes it, last opened first.

    *now* gives what carries calls to providers at the moment, *make* makes the router.
    """

    def accounts() -> Iterable[Account]:
        return now().accounts.values()

    first = now()
    async with AsyncExitStack() as stack:
        kept = await stack.enter_async_context(keeping(config, secrets, counts.database))
        traces = await stack.enter_async_context(
            tracing(config.tracing, counts.spans, ways_of(config.upstream))
        )
        spool = Spool((*counts.readers(), *traces.readers, *kept.meters))
        stack.callback(spool.drain)
        paced = await stack.enter_async_context(
            pacing(
                config,
                accounts,
                kept.durable,
                Meters(counts.pacing, counts.money, counts.store),
            )
        )
        board = await stack.enter_async_context(
            asking_people(
                config, secrets, counts.attention, shared=paced.ledger, database=kept.database
            )
        )
        runs = await stack.enter_async_context(bookkeeping(config, kept, board, counts.runs.away))
        hosts = await stack.enter_async_context(hosting(first.hosts, first.accounts, paced.ledger))
        await stack.enter_async_context(surveying(now))
        uses = Meter(ledger_for(config, paced.ledger))
        chosen = await stack.enter_async_context(choosing(config, make, counts.router))
        remembered = await stack.enter_async_context(remembering(config, kept, runs))
        own = secrets, counts, spool, kept, paced, hosts, uses, traces
        yield Lasting(*own, runs, board, chosen, remembered)
