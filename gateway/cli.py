"""The command line: ``serve``, ``check``, ``key new``, ``demo``."""

from __future__ import annotations

import secrets as dice
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, NoReturn

import anyio
import orjson
import typer

from gateway import serving
from gateway.app import CHAT
from gateway.config import (
    Config,
    ConfigError,
    ProviderConfig,
    Secrets,
    SimulatedConfig,
    load,
    secrets,
)
from gateway.demo import DemoAnswer, render, run
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.policy.keys import OPEN, digest
from gateway.policy.wishes import Wishes
from gateway.preflight import faults, remarks
from gateway.wiring import running
from techniques.core.reply import fold

_DEMO_SPEED: Final = 50.0
"""How much faster than a real model the demo's simulation answers; its times are scaled back."""

main = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
keys = typer.Typer(no_args_is_help=True, help="Client keys.")
main.add_typer(keys, name="key")

_FILE = typer.Option("-c", "--config", help="The configuration file; none: embedded defaults.")


@main.command()
def serve(config: Annotated[Path | None, _FILE] = None) -> None:
    """Run the gateway until it is told to stop."""
    loaded, known = _checked(config)
    for line in remarks(loaded, known):
        typer.echo(f"note: {line}", err=True)
    serving.serve(loaded, known, config)


@main.command()
def check(file: Path) -> None:
    """Say what is wrong with a configuration file, or that nothing is."""
    loaded, known = _checked(file)
    for line in remarks(loaded, known):
        typer.echo(f"note: {line}")
    typer.echo(f"{file}: ok, {len(loaded.models)} models, {len(loaded.keys)} keys")


@keys.command()
def new(name: Annotated[str, typer.Argument()] = "default") -> None:
    """Make a client key called NAME: shown once, kept in the configuration as its hash."""
    secret = secrets().key_secret
    if not secret:
        secret = dice.token_urlsafe(32)
        typer.echo("LOCKGATE_KEY_SECRET is not set. Here is one; the gateway needs the same:\n")
        typer.echo(f"export LOCKGATE_KEY_SECRET={secret}\n")
    key = f"lg-{dice.token_urlsafe(32)}"
    typer.echo(f"{key}\n\nKeep it: it is not shown again. Add this to the configuration:\n")
    quoted = orjson.dumps(name).decode()  # any name is so one of YAML's, too
    typer.echo(f'keys:\n  - {{name: {quoted}, hash: "{digest(secret, key)}"}}')


@main.command()
def demo() -> None:
    """Ask the simulated provider forty questions under each technique, and compare."""
    typer.echo(anyio.run(_demo, secrets()))


async def _demo(known: Secrets) -> str:
    quick = SimulatedConfig(speed=_DEMO_SPEED)
    simulated = ProviderConfig(dialect="openai_chat", simulated=quick)
    config = load(None).model_copy(update={"providers": {"simulated": simulated}})
    async with running(config, known) as parts:
        pipeline = parts.front.pipeline

        async def ask(technique: str, question: str) -> DemoAnswer:
            ledger = Ledger()
            began = anyio.current_time()
            body = {"model": "sim-small", "messages": [{"role": "user", "content": question}]}
            asked = Asked(CHAT.decode(body, b""), OPEN, Wishes(technique=technique))
            async with pipeline.answer(asked, pipeline.plan(asked), ledger) as events:
                reply = await fold(events)
            seconds = (anyio.current_time() - began) * _DEMO_SPEED
            return DemoAnswer(
                reply.text, len(ledger.rows), Decimal(ledger.cost_usd() or 0), seconds
            )

        return render(await run(ask, pipeline.planner.cards))


def _checked(file: Path | None) -> tuple[Config, Secrets]:
    known = secrets()
    try:
        loaded = load(file)
    except ConfigError as error:
        _stop(str(error))
    if problems := faults(loaded, known):
        _stop("\n".join(problems))
    return loaded, known


def _stop(message: str) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    main()
