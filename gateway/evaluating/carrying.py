"""Carries an evaluation out, and writes down and shows what was found."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import anyio
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gateway.config.sandbox import SandboxConfig
from gateway.evaluating.calling import HttpCaller, Unreachable
from gateway.evaluating.wanted import Typed, Unusable, Wanted, wanted
from gateway.wiring import sandbox_of
from router_service.arms import PLAIN
from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings
from router_service.evaluation.grading import Grader
from router_service.evaluation.records import InUse, RecordFile
from router_service.evaluation.report import Report, report
from router_service.evaluation.reports.console import console_of, show
from router_service.evaluation.reports.markdown import markdown
from router_service.evaluation.reports.told import as_json
from router_service.evaluation.running import Contestant, Plan, left, run
from techniques.core.groups import task_group
from techniques.core.task import Sandbox
from techniques.parts.code_scoring import Runner

_STOPPED: Final = 130  # as a shell tells of Ctrl-C
_OBSERVATIONS: Final = "observations.jsonl"
_RECORDS: Final = "records.jsonl"
_CODE: Final = ("code", "code_complexity")


def carried_out(typed: Typed) -> int:
    """Do what was *typed*, tell what was found, and return what the command ends with.

    Raises:
        Unusable: It cannot be done, or what was found cannot be written down.
    """
    try:
        return _carried_out(typed)
    except (OSError, ExceptionGroup) as error:
        raise Unusable(f"It was stopped: {_of_the_system(error)}.") from error


def _of_the_system(error: Exception) -> OSError:
    """Return what the system refused, a full disk such as; of several at once, the first.

    Raises:
        Exception: *error*, where something else is among them.
    """
    if isinstance(error, ExceptionGroup):
        first, *_ = [_of_the_system(one) for one in error.exceptions]
        return first
    if isinstance(error, OSError):
        return error
    raise error


def _carried_out(typed: Typed) -> int:
    asked = wanted(typed)
    file = _opened(typed)
    notes = list(asked.notes)
    try:
        plan = _plan(typed, asked, notes)
        stopped = _ask(plan, file, asked)
        if stopped:
            notes.append("It was stopped; the same command goes on where it was.")
        if typed.observations:
            notes.append(_observed(typed, plan, file))
        found = report(plan, file.records, asked.rules, [*notes, *_left_aside(plan, file)])
    finally:
        file.close()
    _tell(typed, found)
    return _STOPPED if stopped else found.exit_code


def _opened(typed: Typed) -> RecordFile:
    try:
        typed.output.mkdir(parents=True, exist_ok=True)
        return RecordFile(typed.output / _RECORDS)
    except (OSError, InUse) as error:
        raise Unusable(f"--output: {error}") from error


def _ask(plan: Plan, file: RecordFile, asked: Wanted) -> bool:
    """Ask what is left to be asked; return whether that was stopped."""
    try:
        with _progress() as watch:
            anyio.run(_asked, plan.watched(watch), file, asked)
    except KeyboardInterrupt:
        return True
    except Unreachable as error:
        raise Unusable(str(error)) from error
    return False


def _plan(typed: Typed, asked: Wanted, notes: list[str]) -> Plan:
    judge = asked.judge
    return Plan(
        contestants=[Contestant(caller.stated, caller) for caller in asked.callers],
        questions=asked.questions,
        grader=Grader(
            strategy=asked.strategy,
            runner=Runner(_sandbox(typed, asked, notes), secrets.token_hex(8)),
            judge=None if judge is None else judge.member(),
            shown="" if judge is None else judge.stated.model,
            judge_hash="" if judge is None else judge.stated.hash,
        ),
        repeats=typed.repeats,
        seed=typed.seed,
        parallel=typed.parallel,
    )


def _sandbox(typed: Typed, asked: Wanted, notes: list[str]) -> Sandbox | None:
    """Return where programs are run, None if there are none to run, or nowhere to."""
    if not any(one.rules.name in _CODE for one in asked.questions):
        return None
    sandbox, why = anyio.run(sandbox_of, SandboxConfig.model_validate(typed.sandbox))
    if sandbox is None:
        notes.append(f"Programs are not run: {why or 'the sandbox is off'}.")
    return sandbox


async def _asked(plan: Plan, file: RecordFile, asked: Wanted) -> None:
    everybody = [*asked.callers, *([asked.judge] if asked.judge is not None else [])]
    try:
        if left(plan, file.records):
            await _reach(everybody)
        await run(plan, file)
    finally:
        for caller in everybody:
            await caller.close()


async def _reach(everybody: Sequence[HttpCaller]) -> None:
    """Look whether everybody is there.

    Raises:
        Unreachable: Somebody is not; all of them are named.
    """
    gone: dict[int, str] = {}

    async def reach(place: int, caller: HttpCaller) -> None:
        try:
            await caller.reach()
        except Unreachable as error:
            gone[place] = str(error)

    async with task_group() as group:
        for place, caller in enumerate(everybody):
            group.start_soon(reach, place, caller)
    if gone:
        raise Unreachable("\n".join(gone[place] for place in sorted(gone)))


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Yield what is told how far it is; it is shown on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("asking")
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _left_aside(plan: Plan, file: RecordFile) -> Iterator[str]:
    """Yield what of the file is of nobody who was asked now."""
    ours = {job.key for job in plan.jobs()}
    others = len(set(file.records.answers) - ours)
    if others:
        yield f"{others} answers in {_RECORDS} are of other configurations or prompts: left aside."
    if file.records.unreadable:
        yield f"{file.records.unreadable} lines of {_RECORDS} cannot be read: left aside."


def _observed(typed: Typed, plan: Plan, file: RecordFile) -> str:
    """Write down what a router can learn, and return what there is to say of it."""
    from gateway.evaluating.observing import lines, observations

    rows = anyio.run(observations, plan, file.records, encoder_of(EmbeddingSettings()))
    (typed.output / _OBSERVATIONS).write_text("".join(f"{line}\n" for line in lines(rows)), "utf-8")
    arms = {row.arm for row in rows}
    if not arms - {PLAIN.name}:
        return f"{_OBSERVATIONS}: nothing was asked both plainly and with a technique."
    return f"{_OBSERVATIONS}: {len(rows)} observations of {', '.join(sorted(arms))}."


def _tell(typed: Typed, found: Report) -> None:
    from router_service.evaluation.reports.plot import draw  # matplotlib takes its time

    folder = typed.output
    picture = folder / typed.plot
    drawn = draw(found, picture)
    (folder / "report.json").write_bytes(as_json(found))
    (folder / "report.md").write_text(markdown(found, typed.plot if drawn else None), "utf-8")
    console = console_of(is_terminal=sys.stdout.isatty())
    show(found, console)
    names = [_RECORDS, "report.json", "report.md", *([picture.name] if drawn else [])]
    console.print(f"in {folder}: {', '.join(names)}", markup=False)
