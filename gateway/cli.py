"""The command line: what is run, and in which order ``lockgate`` lists it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Final

import anyio
import typer

from gateway import (
    approving,
    archiving,
    billing,
    callers,
    foretelling,
    forgetting,
    serving,
    simulating,
)
from gateway.app import CHAT
from gateway.calibrate import (
    UnusableQuestions,
    calibration,
    read_questions,
    rendered,
    written,
)
from gateway.config import (
    DatabaseConfig,
    ProviderConfig,
    Secrets,
    SimulatedConfig,
    load,
    secrets,
)
from gateway.config.database import NO_DATABASE
from gateway.demo import QUESTIONS, DemoAnswer, Table, run
from gateway.doctor.command import doctor
from gateway.evaluating.command import evaluate
from gateway.fetching import fetched
from gateway.importing import command as importing
from gateway.keeping import prepared
from gateway.listing import listed, told
from gateway.loading import FILE, checked, stop
from gateway.measuring import Wanted, measured
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.planning.options import can_do_with
from gateway.policy.keys import OPEN
from gateway.policy.wishes import Wishes
from gateway.preflight import empty_keys, remarks
from gateway.pricelist import guesses, price_list
from gateway.stores.database.engine import DatabaseUnusable
from gateway.tabling import price_table
from gateway.upstream.ways import ways_of
from gateway.wiring import running
from router_service import command
from techniques import catalog
from techniques.core import registry
from techniques.core.errors import UnknownModel
from techniques.core.reply import fold

_DEMO_SPEED: Final = 100.0
"""How much faster than a real model the demo's simulation answers; its times are scaled back."""

_DEMO_MODEL: Final = "sim-small"
_DEMO_SECOND: Final = "sim-large"
_DEMO_HEAD: Final = f"""\
{len(QUESTIONS)} questions to {_DEMO_MODEL}, one after the other; the judge, where there is one, is
{_DEMO_SECOND}, which also answers where a technique takes several models. Both are a simulation.
Calls, cost and time are sums over all questions: the time is what a model would take that writes at
a usual pace, the cost is at made-up prices."""

main = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="A gateway between applications and their language models: `lockgate serve` runs it.",
)


def _tell_version(asked: bool) -> None:  # noqa: FBT001 - the signature is typer's
    if asked:
        typer.echo(f"lockgate {metadata.version('lockgate')}")
        raise typer.Exit


_ALSO = typer.Argument(help="The configuration file; with -c or without.")
_VERSION = typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell it and end.")


@main.callback()
def _all(*, version: Annotated[bool, _VERSION] = False) -> None:
    del version


def _named(file: Path | None, config: Path | None) -> Path | None:
    if file is not None and config is not None:
        stop("Name one file, with -c or without.")
    return file or config


@main.command()
def serve(
    file: Annotated[Path | None, _ALSO] = None, config: Annotated[Path | None, FILE] = None
) -> None:
    """Run the gateway until it is told to stop."""
    config = _named(file, config)
    loaded, known = checked(config)
    if warning := anyio.run(fetched, loaded.pricing.catalogue, ways_of(loaded.upstream)):
        typer.echo(f"warning: {warning}", err=True)
    for line in remarks(loaded, known):
        typer.echo(f"note: {line}", err=True)
    if config is not None:
        typer.echo(price_table(price_list(loaded)), err=True)
    for line in guesses(loaded):
        typer.echo(f"WARNING: {line}", err=True)
    try:
        keyed = anyio.run(prepared, loaded, known)
    except DatabaseUnusable as error:
        stop(f"database.url: {error}")
    serving.serve(loaded, known, config, keyed=keyed)


@main.command()
def check(
    file: Annotated[Path | None, _ALSO] = None, config: Annotated[Path | None, FILE] = None
) -> None:
    """Say what is wrong with a configuration file, or that nothing is."""
    file = _named(file, config)
    if file is None:
        stop("Name the file: lockgate check FILE.")
    loaded, known = checked(file)
    if empty := list(empty_keys(loaded)):
        stop("\n".join(empty))
    for line in remarks(loaded, known):
        typer.echo(f"note: {line}")
    for line in guesses(loaded):
        typer.echo(f"WARNING: {line}")
    counts = (_counted(len(loaded.models), "model"), _counted(len(loaded.keys), "key"))
    typer.echo(f"{file}: ok, {', '.join(counts)}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


@main.command()
def techniques(name: Annotated[str | None, typer.Argument()] = None) -> None:
    """List the techniques, or tell all of the one called NAME."""
    cards = registry.load(catalog)
    if name is None:
        typer.echo(listed(cards))
    elif name in cards:
        typer.echo(told(cards[name]))
    else:
        stop(f"There is no technique {name!r}; there are {', '.join(cards)}.")


_TECHNIQUES = typer.Argument(metavar="TECHNIQUE", help="Which; without any, all.")


@main.command()
def demo(names: Annotated[list[str] | None, _TECHNIQUES] = None) -> None:
    """Ask the simulated provider forty questions under each technique, and compare."""
    cards = registry.load(catalog)
    ready = [name for name, card in cards.items() if name == card.name and can_do_with(card, {})]
    for name in names or ():
        if name not in ready:
            stop(f"The demo has no technique {name!r}; it has {', '.join(ready)}.")
    anyio.run(_demo, secrets(), names or ready)


_MODELS = typer.Option("--models", help="Which models, by name, commas between them.")
_OUTPUT = typer.Option("-o", "--output", help="The file to write.")
_JUDGE = typer.Option("--judge", help="Who judges: to be measured too, or to teach the router by.")
_PARALLEL = typer.Option("--parallel", min=1, max=64, help="How many calls at a time.")
_ROUTER = typer.Option("--router", help="Teach the router instead.")
_SAMPLES = typer.Option("--samples", min=2, max=10, help="Answers to each, for the router.")
_MAX_COST = typer.Option("--max-cost-usd", min=0.0, help="What that may cost, in dollars.")
_DRY_RUN = typer.Option("--dry-run", help="Tell what that costs, and end.")


@main.command()
def calibrate(  # noqa: PLR0913 - each is an option of the command
    questions: Path,
    *,
    models: Annotated[str, _MODELS],
    output: Annotated[Path | None, _OUTPUT] = None,
    judge: Annotated[str | None, _JUDGE] = None,
    config: Annotated[Path | None, FILE] = None,
    parallel: Annotated[int, _PARALLEL] = 4,
    router: Annotated[bool, _ROUTER] = False,
    samples: Annotated[int, _SAMPLES] = 5,
    max_cost_usd: Annotated[float | None, _MAX_COST] = None,
    dry_run: Annotated[bool, _DRY_RUN] = False,
) -> None:
    """Ask models the QUESTIONS, mark the answers, and write down how often each is right.

    QUESTIONS has a JSON object a line with `prompt` or `messages`, and `reference`. Name the file
    that comes of it in the configuration, as reliability.calibration: votes of several models, and
    the scores of a judge that was measured, then weigh by it.

    With --router each question is answered several times over, and the router is told what each of
    its arms would have come to; questions then need no reference where there is a judge. It tells
    first about what that costs, and stops before it costs more than --max-cost-usd. Broken off, it
    goes on where it was.
    """
    names = [name.strip() for name in models.split(",") if name.strip()]
    if router:
        from gateway.calibrating import Asking, teach  # numpy takes long to import

        most = math.inf if max_cost_usd is None else max_cost_usd
        asked = Asking(questions, output, tuple(names), judge, samples, most, parallel)
        teach(asked, config, dry_run=dry_run)
        return
    if output is None:
        stop("Missing option '-o' / '--output': the file to write.")
    if not output.absolute().parent.is_dir() or output.is_dir():
        stop(f"{output} cannot be written: name a file in a folder that is there.")
    loaded, known = checked(config)
    try:
        asked_of = read_questions(questions.read_text("utf-8"))
        wanted = Wanted(names, asked_of, judge, parallel)
        marks = anyio.run(measured, loaded, known, wanted)
    except (OSError, UnicodeDecodeError, UnusableQuestions, UnknownModel) as error:
        stop(f"{questions}: {error}" if isinstance(error, UnusableQuestions) else str(error))
    file = calibration(marks, f"{datetime.now(UTC):%Y-%m-%d}", judge)
    typer.echo(rendered(file, marks))
    if not file.models:
        stop("Nothing was measured, and nothing is written.")
    output.write_bytes(written(file))
    typer.echo(f"Written to {output}.")


async def _demo(known: Secrets, names: list[str]) -> None:
    quick = SimulatedConfig(speed=_DEMO_SPEED)
    simulated = ProviderConfig(dialect="openai_chat", simulated=quick)
    apart = {"providers": {"simulated": simulated}, "database": DatabaseConfig(url=NO_DATABASE)}
    config = load(None).model_copy(update=apart)
    async with running(config, known) as parts:
        pipeline = parts.front.pipeline

        async def ask(technique: str, question: str) -> DemoAnswer:
            ledger = Ledger()
            began, busy = perf_counter(), process_time()
            body = {"model": _DEMO_MODEL, "messages": [{"role": "user", "content": question}]}
            several = "two models" in pipeline.planner.cards[technique].traits.needs
            pool = (_DEMO_SECOND,) if several else None
            wishes = Wishes(technique=technique, channels=pool)
            asked = Asked(CHAT.decode(body, b""), OPEN, wishes)
            async with pipeline.answer(asked, pipeline.plan(asked), ledger) as events:
                reply = await fold(events)
            busy = process_time() - busy  # only the waiting is scaled back
            seconds = max(perf_counter() - began - busy, 0.0) * _DEMO_SPEED + busy
            cost = Decimal(ledger.cost_usd() or 0)
            return DemoAnswer(reply.text, len(ledger.rows), cost, seconds)

        table = Table(names)
        typer.echo(f"{_DEMO_HEAD}\n\n{table.head()}")
        async for row in run(ask, names):
            typer.echo(table.line(row))


for name, commands in (*callers.COMMANDS.items(), ("approvals", approving.approvals)):
    main.add_typer(commands, name=name)
main.command("doctor")(doctor)
main.command("bill")(billing.bill)
main.command("forecast")(foretelling.forecast)
main.command("eval")(evaluate)
main.command("simulate")(simulating.simulate)
main.add_typer(command.commands, name="router")
main.add_typer(archiving.commands, name="runs")
main.add_typer(forgetting.commands, name="responses")
main.add_typer(importing.commands, name="import")


if __name__ == "__main__":
    main()
