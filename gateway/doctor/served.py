"""A gateway that runs: what it serves, what it has lost, how well it foretells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson
from prometheus_client.parser import text_string_to_metric_families

from gateway.doctor.case import Case
from gateway.doctor.client import Unreached, fetch
from gateway.doctor.finding import Finding, Level
from techniques.core.json import JsonObject

_ENOUGH: Final = 100
_COVERED: Final = 0.95
_FORECASTS: Final = 30
_BELOW_P90: Final = 0.8
_OK: Final = 200
_STATES: Final[Mapping[str, Level]] = {
    "ready": "ok",
    "degraded": "warning",
    "stopping": "warning",
}


class Metrics:
    """What a gateway counts, by name; labels are summed over."""

    def __init__(self, text: str) -> None:
        self._rows: defaultdict[str, list[tuple[Mapping[str, str], float]]] = defaultdict(list)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._rows[sample.name].append((sample.labels, sample.value))

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of *name* where it has *labels*."""
        return sum(
            value
            for found, value in self._rows[name]
            if all(found.get(label) == wanted for label, wanted in labels.items())
        )


@dataclass(frozen=True, slots=True)
class _Rule:
    """Something that is counted and should not be."""

    name: str
    what: str
    why: str
    fix: str


_BAD: Final = (
    _Rule(
        "lockgate_store_lost",
        "the store that replicas share is lost now",
        "each goes on with a share of what was last known, and keys with budgets get a 503",
        "see `store` above",
    ),
    _Rule(
        "lockgate_ledger_failures_total",
        "rows could not be written to the database {:.0f} times",
        "what is dropped in the end is missing in bills",
        "the log has the reason: ledger.unwritten",
    ),
    _Rule(
        "lockgate_header_unparsed_total",
        "{:.0f} headers about limits could not be read",
        "limits that they tell of are met with 429s",
        "providers.NAME.vendor: whose headers they are",
    ),
    _Rule(
        "lockgate_truncations_total",
        "{:.0f} answers broke after they had begun",
        "their clients got half an answer, and an error",
        "the log has each: request.finished with the outcome truncated",
    ),
)


async def served(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell how the gateway at the case's address is."""
    try:
        ready = await fetch(case.url, "/readyz", within_s=case.within_s)
    except Unreached as unreached:
        fix = "lockgate serve, or --url with the address of one that runs"
        level: Level = "error" if case.must_run else "skipped"
        yield Finding("gateway", level, str(unreached), "", fix)
        return
    told = _object(ready.body)
    state = str(told.get("status", "no gateway"))
    lost = ", ".join(map(str, told.get("lost", ())))
    what = f"{case.url} is {state}" + (f": it has lost its {lost}" if lost else "")
    yield Finding("gateway", _STATES.get(state, "error"), what)
    async for finding in _configuration(case):
        yield finding
    async for finding in _counted(case):
        yield finding
    async for finding in _windows(case):
        yield finding


async def _configuration(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell whether it serves what its file says."""
    told = await _admin(case, "/admin/reload")
    if told is None:
        what = "what it serves, its windows and leases are not told without its admin token"
        yield Finding("gateway", "skipped", what, "", "export LOCKGATE_ADMIN_TOKEN=…, as it has it")
        return
    what = f"it serves configuration {told['epoch']}, {told['hash']}, since {told['loaded_at']}"
    yield Finding("gateway", "ok", what)
    for line in told["errors"]:
        why = "it goes on with what it had, and would not start again"
        yield Finding(
            "gateway", "error", f"its last reload was refused: {line}", why, "lockgate check FILE"
        )
    if told["needs_restart"]:
        names = ", ".join(told["needs_restart"])
        what = f"its file has other values that want a restart: {names}"
        yield Finding("gateway", "warning", what, "they are not in effect", "restart it")


async def _counted(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell what its metrics say."""
    secret = case.config.metrics.token
    token = None if secret is None else secret.get_secret_value()
    try:
        page = await fetch(case.url, "/metrics", token, case.within_s)
    except Unreached as unreached:
        yield Finding("gateway", "warning", str(unreached))
        return
    if page.status != _OK:
        what = f"its metrics are not told ({page.status})"
        yield Finding("gateway", "skipped", what, "", "metrics.token: as the gateway has it")
        return
    metrics = Metrics(page.body.decode("utf-8", "replace"))
    for finding in (*_bad(metrics), *_needs(metrics), *_forecasts(metrics), *_orphans(metrics)):
        yield finding


def _bad(metrics: Metrics) -> Iterator[Finding]:
    for rule in _BAD:
        if count := metrics.total(rule.name):
            yield Finding("gateway", "warning", rule.what.format(count), rule.why, rule.fix)
    if count := metrics.total("lockgate_upstream_429_total", expected="false"):
        what = f"{count:.0f} calls were refused by a rate limit that was thought to allow them"
        why = "somebody else uses the account, or its limit is not what is known"
        yield Finding("gateway", "warning", what, why, "docs/pacing.md; providers.NAME.limits")


def _needs(metrics: Metrics) -> Iterator[Finding]:
    """Yield how many calls wrote no more than was held for them."""
    calls = metrics.total("lockgate_need_ratio_count")
    if calls < _ENOUGH:
        what = f"what calls will use is still being learned ({calls:.0f} calls so far)"
        yield Finding("gateway", "note", what)
        return
    covered = 1 - metrics.total("lockgate_need_misses_total") / calls
    told = f"{100 * covered:.1f}% of {calls:.0f} calls wrote no more than was held for them"
    if covered < _COVERED:
        why = "the others take what was counted on for other calls, and these are refused"
        fix = "ask for max_tokens, or pacing.predictor: conformal if it is another"
        yield Finding("gateway", "warning", told, why, fix)
    else:
        yield Finding("gateway", "ok", told)


def _forecasts(metrics: Metrics) -> Iterator[Finding]:
    """Yield how often runs stayed below what was forecast."""
    name = "lockgate_forecast_runs_total"
    for measure in ("tokens", "usd", "wall_s"):
        below = metrics.total(name, measure=measure, quantile="p90", below="true")
        runs = below + metrics.total(name, measure=measure, quantile="p90", below="false")
        if runs < _FORECASTS:
            continue
        told = f"{100 * below / runs:.0f}% of {runs:.0f} runs stayed below the p90 of {measure}"
        if below / runs < _BELOW_P90:
            why = "nine in ten should; agents are told too little"
            fix = "give forecasts the real sizes of steps: --tokens, --growth"
            yield Finding("gateway", "warning", told, why, fix)
        else:
            yield Finding("gateway", "ok", told)


def _orphans(metrics: Metrics) -> Iterator[Finding]:
    if lost := metrics.total("lockgate_orphan_leases"):
        what = f"{lost:.0f} leases were lost with who held them, after their calls were sent"
        why = "a replica was killed; what they held stays charged"
        fix = "let it end: SIGTERM, and more than server.drain_s until SIGKILL"
        yield Finding("gateway", "note", what, why, fix)


async def _windows(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell of which accounts limits are known."""
    told = await _admin(case, "/v1/windows")
    pools = told.get("pools", []) if told is not None else []
    for pool in pools:
        name = pool.get("account")
        if name is None or name not in case.config.providers:
            continue
        count = len(pool["windows"])
        if count:
            yield Finding("gateway", "ok", f"provider {name}: {count} windows are known")
        elif case.config.providers[name].simulated is None:
            what = f"provider {name}: no limit is known yet"
            why = "the first answer that tells of one, or the first refusal, will"
            yield Finding("gateway", "note", what, why, f"providers.{name}.limits")


async def _admin(case: Case, path: str) -> JsonObject | None:
    """Return what the gateway tells the admin at *path*, None if it does not."""
    if case.known.admin_token is None:
        return None
    try:
        page = await fetch(case.url, path, case.known.admin_token, case.within_s)
    except Unreached:
        return None
    return _object(page.body) if page.status == _OK else None


def _object(body: bytes) -> JsonObject:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
