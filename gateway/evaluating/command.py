"""The command ``eval``. What it needs beside the gateway is imported when it runs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import structlog
import typer

from gateway.loading import stop

_CANNOT_TELL: Final = 2
_NEEDED: Final = ("scipy", "matplotlib", "rich")

_log = structlog.get_logger()

_CONFIGS = typer.Option(
    "-c",
    "--config",
    help="NAME=FILE.yaml or NAME=URL, then field=value …: what is compared, the baseline first.",
)
_PROMPTS = typer.Option("--prompts", help="A JSON object a line: prompt or messages, and more.")
_OUTPUT = typer.Option("-o", "--output", help="The folder for records, report and plot.")
_JUDGE = typer.Option("--judge", help="FILE.yaml or URL, then field=value …: who marks.")
_SCORE = typer.Option("--score", help="blended, exact or judge.")
_BASELINE = typer.Option("--baseline", help="Which configuration; without it the first.")
_GATE_ON = typer.Option("--gate-on", help="quality, cost, latency, error_rate …; can be repeated.")
_MARGIN = typer.Option("--max-regression", help="How much worse it may be: X, or METRIC=X.")
_GATE_MODE = typer.Option("--gate-mode", help="regression or noninferiority.")
_REPEATS = typer.Option("--repeats", min=1, max=1000, help="How often each prompt is asked.")
_SEED = typer.Option("--seed", min=0, help="What all chance derives from.")
_PARALLEL = typer.Option("--parallel", min=1, max=256, help="How many requests at a time.")
_LIMIT = typer.Option("--limit", min=1, help="Only so many of the prompts.")
_SANDBOX = typer.Option("--sandbox", help="Where programs run: process, docker or off.")
_OBSERVATIONS = typer.Option("--observations", help="Write what a router can learn of it, too.")
_PLOT = typer.Option("--plot", help="The plot's name in the folder: .svg or .png.")


def evaluate(  # noqa: PLR0913 - each is an option of the command
    *,
    config: Annotated[list[str], _CONFIGS],
    prompts: Annotated[Path, _PROMPTS],
    output: Annotated[Path, _OUTPUT] = Path("lockgate-eval"),
    judge: Annotated[str | None, _JUDGE] = None,
    score: Annotated[str | None, _SCORE] = None,
    baseline: Annotated[str | None, _BASELINE] = None,
    gate_on: Annotated[list[str] | None, _GATE_ON] = None,
    max_regression: Annotated[list[str] | None, _MARGIN] = None,
    gate_mode: Annotated[str, _GATE_MODE] = "regression",
    repeats: Annotated[int, _REPEATS] = 1,
    seed: Annotated[int, _SEED] = 0,
    parallel: Annotated[int, _PARALLEL] = 4,
    limit: Annotated[int | None, _LIMIT] = None,
    sandbox: Annotated[str, _SANDBOX] = "process",
    plot: Annotated[str, _PLOT] = "frontier.svg",
    observations: Annotated[bool, _OBSERVATIONS] = False,
) -> None:
    """Compare ways to answer on the same prompts: what is better, what it costs, how sure that is.

    Ends with 0; with --gate-on with 1 if a candidate is worse than the baseline by more than
    --max-regression, with 2 if that cannot be told. Stopped, it goes on with the same command.
    """
    raise typer.Exit(_code(locals()))


def _code(options: dict[str, Any]) -> int:
    """Return what the command ends with; what cannot be used ends it at once."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        stop(f"eval needs {', '.join(missing)}: install lockgate[eval]")
    from gateway.evaluating.carrying import carried_out
    from gateway.evaluating.wanted import Typed, Unusable

    plot = Path(options["plot"])
    if plot.name != str(plot) or plot.suffix not in {".svg", ".png"}:
        stop("--plot: name a file ending in .svg or .png, without a folder")
    try:
        return carried_out(Typed(**options))
    except Unusable as error:
        stop(str(error))
    except Exception:  # noqa: BLE001 - 1, which python ends with, would say that one is blocked
        _log.exception("eval.failed")
        return _CANNOT_TELL
