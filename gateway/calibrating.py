"""``calibrate --router``: teaches the router by prompts of one's own, each answered many ways."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import anyio
import typer
from anyio.lowlevel import checkpoint

from gateway.app import CHAT
from gateway.config import Config, DatabaseConfig, Secrets
from gateway.config.database import NO_DATABASE
from gateway.embedding import EmbeddingCalls
from gateway.learning.prompts import Prompt, UnusablePrompts, Written, read_prompts
from gateway.learning.running import Laboratory
from gateway.learning.series import Series, Subject, Tally, unjudged
from gateway.loading import checked, stop
from gateway.pipeline import Asked
from gateway.policy.keys import OPEN
from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.upstream.ways import ways_of
from gateway.wire.dialect import Call
from gateway.wiring import Parts, running
from router_service.client import Remote, connected
from router_service.contract import Encoder, Observations, RouterGone
from router_service.embedding.encoders import encoder_of
from router_service.groundwork.database import DatabaseLost, DatabaseUnusable, opened
from router_service.store.observations import ObservationTable
from router_service.store.steps import STEPS
from techniques.core.errors import UnknownModel
from techniques.core.json import Json

_BATCH: Final = 200


class Unteachable(Exception):
    """The router cannot be taught so; the message says why."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the router is taught by, and how.

    ``judge`` None: the configured one. ``most_usd`` is what it may cost in all.
    """

    models: Sequence[str]
    prompts: Sequence[Prompt]
    written: Written
    judge: str | None = None
    samples: int = 5
    most_usd: float = 0.0
    parallel: int = 4


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is still to be done, and about what it costs; ``priced``: all models have a price."""

    traces: int
    done: int
    usd: float
    priced: bool


class Onlooker(Protocol):
    """Who is told how it goes."""

    def foretold(self, forecast: Forecast) -> bool:
        """Hear what is to be done, and say whether it is."""
        ...

    def progress(self, tally: Tally) -> None:
        """Hear how far it has come."""
        ...


async def taught(
    config: Config, secrets: Secrets, lesson: Lesson, onlooker: Onlooker
) -> Tally | None:
    """Carry *lesson* out; None if who looks on says of the forecast that it is not to be done.

    Raises:
        UnknownModel: A model is not there.
        Unteachable: Nobody could tell what answers are worth.
    """
    apart = config.model_copy(update={"database": DatabaseConfig(url=NO_DATABASE)})
    async with running(apart, secrets) as parts, _encoding(config) as encoder:
        subjects = [_subject(parts, lesson, name) for name in lesson.models]
        if lacking := unjudged(subjects, lesson.prompts):
            raise Unteachable(
                f"There is no judge, and of {len(lacking)} prompts answers cannot be compared with "
                f"a reference (the first is {lacking[0]}). Name a judge by --judge."
            )
        laboratory = Laboratory(lambda: parts.front.pipeline)  # progress is told, and not each call
        series = Series(laboratory, encoder, lesson.written, lesson.most_usd)
        works = series.to_do(subjects, lesson.prompts)
        done = len(subjects) * len(lesson.prompts) - len(works)
        usd = sum(work.expected for work in works)
        known = all(_is_priced(subject) for subject in subjects)
        if not onlooker.foretold(Forecast(len(works), done, usd, known)):
            return None
        return await series.run(works, lesson.parallel, onlooker.progress)


async def stored(config: Config, written: Written) -> str:
    """Give all that is *written* to the router, and return where that is; "" if it is nowhere.

    Raises:
        DatabaseUnusable: Its database cannot be opened.
        DatabaseLost: It does not answer.
        RouterGone: The router does not take it.
    """
    if config.router.url is None and config.database.url == NO_DATABASE:
        return ""
    async with _observations(config) as (observations, flush, where):
        rows = written.rows()
        while batch := list(islice(rows, _BATCH)):
            await observations.observe(batch)
            await flush()
    return where


@asynccontextmanager
async def _observations(
    config: Config,
) -> AsyncGenerator[tuple[Observations, Callable[[], Awaitable[None]], str], None]:
    stated = config.router
    if stated.url is not None:
        token = None if stated.token is None else stated.token.get_secret_value()
        async with connected(Remote(stated.url, token)) as client:
            yield client, client.outbox.flush, stated.url
        return
    async with opened(config.database.url, STEPS) as database:
        yield ObservationTable(database, stated.store.keys), checkpoint, "the database"


@asynccontextmanager
async def _encoding(config: Config) -> AsyncGenerator[Encoder, None]:
    settings = config.router.embedding
    if settings.kind != "upstream":
        yield encoder_of(settings)
        return
    calls = EmbeddingCalls(settings, ways_of(config.upstream))
    try:
        yield encoder_of(settings, calls)
    finally:
        await calls.close()


def _subject(parts: Parts, lesson: Lesson, name: str) -> Subject:
    pipeline, catalogue = parts.front.pipeline, parts.catalogue
    assert pipeline.routing is not None
    model = catalogue.find(name)
    judge = parts.config.reliability.judge if lesson.judge is None else lesson.judge
    valuer = parts.config.router.learning.judge
    wishes = Wishes(technique="auto", judge=judge)
    asked = Asked(_call(name, [{"role": "user", "content": "?"}]), OPEN, wishes)
    menu = pipeline.routing.menus.menu(asked)
    arms = tuple(way.arm for way in menu.ways if way.plan is not None and not way.barred)
    others: dict[str, Model] = {}
    for way in menu.ways:
        for one in () if way.plan is None else (way.plan.model, *way.plan.pool):
            others.setdefault(one.name, one)
    others.pop(model.name, None)
    return Subject(
        model,
        arms,
        partial(_call, name),
        tuple(others.values()),
        menu.pool,
        None if judge is None else catalogue.find(judge),
        None if valuer is None else catalogue.find(valuer),
        lesson.samples,
        parts.config.reliability.techniques,
    )


def _call(model: str, messages: Sequence[Json]) -> Call:
    return CHAT.decode({"model": model, "messages": list(messages)}, b"")


def _is_priced(subject: Subject) -> bool:
    seconds = [one for one in (subject.judge, subject.valuer) if one is not None]
    return all(one.price is not None for one in (subject.model, *subject.others, *seconds))


@dataclass(frozen=True, slots=True)
class Asking:
    """What the command was asked: see ``Lesson``; ``output`` None: beside the questions."""

    questions: Path
    output: Path | None
    models: tuple[str, ...]
    judge: str | None
    samples: int
    most_usd: float
    parallel: int

    @property
    def file(self) -> Path:
        """The file of what is learnt."""
        return self.output or self.questions.with_suffix(".observations.jsonl")


class _Screen:
    """Tells on the terminal how it goes."""

    def __init__(self, file: Path, most_usd: float, *, dry_run: bool) -> None:
        self._file = file
        self._most = most_usd
        self._dry_run = dry_run
        self._traces = 0

    def foretold(self, forecast: Forecast) -> bool:
        """Tell what is to be done."""
        self._traces = forecast.traces
        typer.echo(f"{forecast.traces} traces to make, {forecast.done} are in {self._file}.")
        about = f"They will cost about ${forecast.usd:.2f}"
        unknown = "" if forecast.priced else ", and more: not all models have a price"
        typer.echo(f"{about}{unknown}.")
        if forecast.usd > self._most:
            typer.echo(f"It will stop before it has cost more than ${self._most:.2f}.")
        return not self._dry_run

    def progress(self, tally: Tally) -> None:
        """Tell how far it has come."""
        done = tally.learnt + tally.nothing + tally.failed + tally.left
        step = max(self._traces // 20, 1)
        if done % step == 0 or done == self._traces:
            failed = f", {tally.failed} failed" if tally.failed else ""
            typer.echo(f"{done} of {self._traces}, ${tally.usd:.4f}{failed}", err=True)


def teach(asked: Asking, config: Path | None, *, dry_run: bool) -> None:
    """Do what the command was *asked*, by the configuration in the file *config*."""
    if not asked.file.absolute().parent.is_dir() or asked.file.is_dir():
        stop(f"{asked.file} cannot be written: name a file in a folder that is there.")
    loaded, known = checked(config)
    try:
        prompts = read_prompts(asked.questions.read_text("utf-8"))
        kept = Written(asked.file)
        lesson = Lesson(
            asked.models,
            prompts,
            kept,
            asked.judge,
            asked.samples,
            asked.most_usd,
            asked.parallel,
        )
        screen = _Screen(asked.file, asked.most_usd, dry_run=dry_run)
        tally = anyio.run(taught, loaded, known, lesson, screen)
        if tally is None:
            return
        where = anyio.run(stored, loaded, kept)
    except UnusablePrompts as error:
        stop(f"{asked.questions}: {error}")
    except (OSError, UnicodeDecodeError, UnknownModel, Unteachable) as error:
        stop(str(error))
    except (DatabaseUnusable, DatabaseLost, RouterGone) as error:
        stop(f"{error}; what was learnt is in {asked.file}: run the command once more.")
    _tell(tally, asked.file, where)


def _tell(tally: Tally, file: Path, where: str) -> None:
    cost = f"${tally.usd:.4f}" if tally.priced else "an unknown amount"
    typer.echo(f"{tally.learnt} prompts were learnt of, for {cost}.")
    if tally.nothing:
        typer.echo(f"{tally.nothing} told nothing: too few answers were usable, or nobody judged.")
    if tally.left:
        typer.echo(f"{tally.left} were left out, so as not to cost more than it may.")
    if tally.failed:
        typer.echo(f"{tally.failed} failed; the command, run once more, tries them again.")
    if where:
        typer.echo(f"Written to {file} and to {where}.")
    else:
        typer.echo(f"Written to {file}; POST it to /v1/observations of a router.")
