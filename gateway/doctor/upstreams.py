"""Every provider: is it reached, does it take the key, is it what the configuration says.

It is asked which models it has, which costs nothing anywhere.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from typing import Final

from prometheus_client import CollectorRegistry

from gateway.admission.limits import read, vendor_of
from gateway.config import Config, ProviderConfig
from gateway.doctor.case import Case, Check
from gateway.doctor.finding import Finding, Level
from gateway.metering.meters.local import LocalMeter
from gateway.policy.accounts import served, stated_windows
from gateway.upstream import provider, providers
from gateway.upstream.offered import Offered, offered
from gateway.upstreams import UpstreamBuilder
from router_service.groundwork.filling import is_unread
from techniques.core.errors import UpstreamFailed

_SKEW_S: Final = 5.0
_SHOWN: Final = 5


def upstream(name: str) -> Check:
    """Return what looks at the provider called *name*."""

    async def examined(case: Case) -> AsyncGenerator[Finding, None]:
        row = case.config.providers[name]
        if row.simulated is not None:
            yield _of(name, "ok", "a simulation, in process")
        elif case.offline:
            yield _of(name, "skipped", "not asked, for --offline")
        elif row.api_key is not None and is_unread(row.api_key.get_secret_value()):
            yield _of(name, "skipped", f"not asked, as providers.{name}.api_key is not there")
        else:
            for finding in _in_the_open(name, row):
                yield finding
            async with aclosing(_asked(name, row, case)) as found:
                async for finding in found:
                    yield finding

    return examined


def _in_the_open(name: str, row: ProviderConfig) -> Iterator[Finding]:
    if row.base_url.startswith("http://") and row.api_key and not row.allow_private:
        why = "whoever is on the way reads the key, and all that is asked and answered"
        fix = f"providers.{name}.base_url: https://…"
        yield _of(name, "warning", f"{row.base_url} is not encrypted", why, fix=fix)


async def _asked(name: str, row: ProviderConfig, case: Case) -> AsyncGenerator[Finding, None]:
    builder = UpstreamBuilder(provider.load(providers), LocalMeter(CollectorRegistry(), ()))
    alone = case.config.model_copy(update={"providers": {name: row}, "models": ()})
    there = builder.build(alone)
    try:
        told = await offered(there.transports[name], row.dialect, case.within_s)
    except UpstreamFailed as failure:
        yield _unreached(name, row, failure)
        return
    finally:
        for pool in (*there.pools(), *builder.opened):
            pool.retire()
    for finding in _judged(name, row, told, case.config):
        yield finding


def _unreached(name: str, row: ProviderConfig, failure: UpstreamFailed) -> Finding:
    cause = failure.__cause__
    told = f"{row.base_url}: {failure.message}" + (f" ({cause})" if cause else "")
    if "certificate" in failure.message:
        fix = "name the authority's file in SSL_CERT_FILE, if you trust it"
    elif "private address" in told:
        fix = f"providers.{name}.allow_private: true, if you mean it"
    elif "proxy" in failure.message:
        fix = f"curl -v -x PROXY {row.base_url}: upstream.proxy, or providers.{name}.proxy: none"
    else:
        fix = f"curl -v {row.base_url}: a firewall, a proxy, or providers.{name}.base_url"
    return _of(name, "error", told, "its models cannot be served", fix=fix)


def _judged(name: str, row: ProviderConfig, told: Offered, config: Config) -> Iterator[Finding]:
    yield from _clock(name, told)
    yield from _limits(name, row, told, config)
    match told.status:
        case 200:
            yield from _listed(name, row, told, config)
        case 401 | 403:
            what = f"{row.base_url} does not take the key ({told.status})"
            if row.api_key is None:
                what = f"{row.base_url} wants a key ({told.status})"
            fix = f"put a valid one where providers.{name}.api_key says, and start or reload"
            yield _of(name, "error", what, "its models cannot be served", fix=fix)
        case 404 | 405:
            what = f"{row.base_url} lists no models ({told.status}); its key cannot be told valid"
            fix = (
                f"providers.{name}.base_url: is it the one that its documentation has?{_hint(row)}"
            )
            yield _of(name, "warning", what, "", fix=fix)
        case 429:
            yield _of(name, "warning", "it is reached, and its rate limit is used up (429)")
        case _:
            what = f"{row.base_url} answers {told.status}"
            yield _of(
                name, "error", what, "its models cannot be served", fix="ask again in a while"
            )


def _hint(row: ProviderConfig) -> str:
    ends = row.base_url.rstrip("/").endswith("/v1")
    if row.dialect == "anthropic":
        return " It must not end in /v1." if ends else ""
    return "" if ends else " Most end in /v1."


def _listed(name: str, row: ProviderConfig, told: Offered, config: Config) -> Iterator[Finding]:
    names = told.names
    if names is None:
        what = f"{row.base_url} answers, but not with a list of models as {row.dialect} has it"
        fix = f"providers.{name}.base_url or dialect{_hint(row)}"
        yield _of(name, "error", what, "no call to it will be understood", fix=fix)
        return
    takes = "answers" if row.api_key is None else "takes the key"
    yield _of(name, "ok", f"{row.base_url} {takes}, {told.ms:.0f} ms, {len(names)} models")
    wanted = {model.model or model.name: model.name for model in served(name, config.models)}
    missing = [(theirs, ours) for theirs, ours in wanted.items() if not ours.endswith("*")]
    for theirs, ours in missing:
        if names and theirs not in names and not told.has_more:
            like = ", ".join(sorted(names)[:_SHOWN])
            why = "calls of a model that it does not have are answered with 404"
            fix = f"models.{ours}.model: one that it has, such as {like}"
            yield _of(name, "warning", f"it does not list {theirs!r}", why, fix=fix)


def _clock(name: str, told: Offered) -> Iterator[Finding]:
    try:
        date = parsedate_to_datetime(told.headers.get("date", ""))
    except ValueError:
        return
    skew = date.timestamp() - told.at
    if abs(skew) > _SKEW_S:
        what = f"its clock and the one here differ by {skew:+.0f} s"
        why = "limits that end at a time of day are held to the wrong one"
        yield _of(name, "warning", what, why, fix="timedatectl set-ntp true")


def _limits(name: str, row: ProviderConfig, told: Offered, config: Config) -> Iterator[Finding]:
    vendor = vendor_of(row.vendor, row.base_url, row.dialect)
    found = read(vendor, told.headers, status=told.status, now=told.at)
    for header in found.unparsed:
        what = f"its header {header} cannot be read as one of {vendor.name}"
        why = "a limit that it tells of is not known, and is met with a 429"
        yield _of(
            name, "warning", what, why, fix=f"providers.{name}.vendor: whose headers they are"
        )
    if found.readings:
        read_now = ", ".join(sorted({reading.dimension for reading in found.readings}))
        yield _of(name, "ok", f"limits are read from its answers ({vendor.name}): {read_now}")
    elif not stated_windows(row, served(name, config.models)) and not vendor.windows:
        what = "it is not known to tell its limits, and none are stated"
        why = "they are learned from the first refusal"
        yield _of(name, "note", what, why, fix=f"providers.{name}.limits: {{rpm: …, tpm: …}}")


def _of(name: str, level: Level, what: str, why: str = "", *, fix: str = "") -> Finding:
    return Finding(f"provider {name}", level, what, why, fix)
