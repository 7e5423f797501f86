"""The command ``import``: a configuration of another gateway, as one of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
import yaml

from gateway.importing.litellm import translated
from router_service.groundwork.strict import read_yaml
from techniques.core.json import Json

commands = typer.Typer(no_args_is_help=True, help="Configurations of other gateways.")

_OUT: Final = typer.Option("-o", "--output", help="The file to write; none: standard output.")
_STRICT: Final = typer.Option("--strict", help="End with 1 if anything could not be carried over.")
_HEAD: Final = "# Made of a configuration of LiteLLM's by `lockgate import litellm`."


class _Plain(yaml.SafeDumper):
    """Writes what stands twice twice, without anchors."""

    def ignore_aliases(self, data: Json) -> bool:
        """Return whether *data* is never written as a reference: it is not."""
        del data
        return True


@commands.callback()
def _several() -> None:
    """Have the command keep its name although it is the only one."""


@commands.command()
def litellm(
    file: Path,
    *,
    output: Annotated[Path | None, _OUT] = None,
    strict: Annotated[bool, _STRICT] = False,
) -> None:
    """Translate FILE, the config.yaml of a LiteLLM proxy.

    What could not be carried over is told on standard error, and at the head of what is written.
    """
    text = _text(file)
    tree, report = translated(_read(file, text), text)
    lines = list(report.lines())
    for line in lines:
        typer.echo(line, err=True)
    if not tree["models"]:
        _end(f"{file}: no model could be carried over, and nothing is written.")
    head = "\n".join([_HEAD, *(f"# * {line}" for line in lines)])
    body = yaml.dump(tree, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100)
    _write(output, f"{head}\n{body}")
    if strict and report.lost:
        raise typer.Exit(1)


def _end(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(1)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        _end(f"{file}: {reason}")


def _read(file: Path, text: str) -> Json:
    """Return what *text* spells; of a fault only the line is told: it may have a secret."""
    try:
        read = read_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        _end(f"{file}: it is no YAML{f', line {mark.line + 1}' if mark else ''}")
    if not isinstance(read, dict):
        _end(f"{file}: it is no mapping of sections")
    return read


def _write(output: Path | None, text: str) -> None:
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        _end(f"{output} is there already, and is left as it is.")
    except OSError as error:
        _end(f"{output}: {error.strerror}")
