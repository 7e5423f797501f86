"""What is looked at before the gateway starts: everything a file can say that cannot work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from pydantic import ValidationError

from gateway.clock import utc_now
from gateway.config import Config, ProviderConfig, Secrets
from gateway.config.calibration import measured
from gateway.config.names import serves
from gateway.config.pricing import unreadable
from gateway.planning.options import complaint, configured_of
from gateway.policy.expiry import goes_soon, how_soon
from gateway.policy.targets import target_of
from gateway.pricelist import price_remarks
from gateway.upstream.addresses import is_private
from router_service.arms import arm_of
from router_service.groundwork.nearby import is_loopback
from router_service.learning.artifacts import with_weights
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import Card, Cards, load
from techniques.parts.tables import CARDS

_WORDS = ("none", "auto")
_ADDED = ("/chat/completions", "/completions", "/responses", "/embeddings", "/messages")


def faults(config: Config, secrets: Secrets, *, stored_keys: bool = False) -> list[str]:
    """Return what stops the start, a line each with its path.

    *stored_keys* tells that there are keys beside those of the configuration.
    """
    looked_at = (
        _keys(config, secrets, stored_keys=stored_keys),
        _addresses(config),
        _persons(config, secrets),
        _techniques(config),
        _calibration(config),
        _weights(config),
        _folders(config),
        _prices(config),
        _empty(config),
    )
    return [line for lines in looked_at for line in lines]


def remarks(config: Config, secrets: Secrets) -> list[str]:
    """Return what an operator should know, and that stops nothing."""
    lines = [f"{path}: read, but not in effect in this version" for path in config.without_effect()]
    lines += price_remarks(config)
    sandbox = config.reliability.sandbox
    if sandbox.kind == "process" and sandbox.trusted:
        lines.append(
            "reliability.sandbox.trusted: programs that models wrote can do what the gateway can"
        )
    if config.attention.persons and not config.database.kept:
        lines.append("attention: without a database, questions to people end with the process")
    lines += empty_keys(config)
    lines += going_keys(config)
    lines += _pool(config)
    lines += _thinking(config)
    lines += _strangers(config)
    lines += _windows(config)
    lines += _bare(config)
    if secrets.admin_token is None:
        lines.append("LOCKGATE_ADMIN_TOKEN is not set: the admin routes are closed")
    return lines


def empty_keys(config: Config) -> Iterator[str]:
    """Yield the accounts whose keys are there and say nothing: each of their calls is refused.

    The gateway starts all the same: an account that nobody uses yet is no reason not to.
    """
    for name, row in config.providers.items():
        if row.api_key is not None and not row.api_key.get_secret_value().strip():
            yield f"providers.{name}.api_key: it is empty, and the provider will refuse all calls"


def going_keys(config: Config) -> Iterator[str]:
    """Yield the keys of callers that have expired, or soon will."""
    now = utc_now()
    for key in config.keys:
        if key.expires is not None and goes_soon(key.expires, now):
            yield f"keys.{key.name}.expires: it {how_soon(key.expires, now)}"


def _pool(config: Config) -> Iterator[str]:
    """Yield what of the configured pool is not as one might expect."""
    names = config.reliability.channels
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"reliability.channels: {name!r} stands {names.count(name)} times, and draws so"
    if len(config.models) == 1 and set(names) == {config.models[0].name}:
        yield "reliability.channels: there is one model, and no second one to draw with it"
    if len({_is_simulated(config, name) for name in names}) > 1:
        yield (
            "reliability.channels: some are simulated; these draw only where a simulated model is "
            "asked for, and the others only where none is"
        )


def _is_simulated(config: Config, name: str) -> bool:
    """Tell whether the model called *name* is served by the simulation."""
    serving = [row for row in config.models if serves({row.name}, name)]
    row = max(serving, key=lambda row: (row.name == name, len(row.name)))
    return config.providers[row.provider].simulated is not None


def _thinking(config: Config) -> Iterator[str]:
    """Yield what becomes of thinking where it is not as one might expect."""
    thinks = {
        row.name: target_of(row, config.providers[row.provider], row.model or row.name).thinks
        for row in config.models
    }
    for row in config.models:
        asked = row.thinking is not None and row.thinking.enabled is True
        if asked and thinks[row.name].known and not thinks[row.name].able:
            yield f"models.{row.name}.thinking: this model does not think"
    silent = [row.name for row in config.models if row.thinking is None]
    resting = [name for name in silent if thinks[name].able and thinks[name].off]
    if resting:
        yield (
            f"thinking is off for {', '.join(resting)} in calls that the gateway writes "
            "(techniques, another dialect) and nobody asks for it; relayed calls are left as they "
            "are. `thinking` of a model says otherwise"
        )


def _windows(config: Config) -> Iterator[str]:
    """Yield the models whose conversations are never shortened, where some are to be."""
    stated = [config.context, *(key.context for key in config.keys)]
    if all(context is None or context.on_wall == "off" for context in stated):
        return
    for row in config.models:
        if row.capabilities.context is None:
            yield f"models.{row.name}.capabilities.context: not known, so nothing is cut to fit it"


def _empty(config: Config) -> Iterator[str]:
    if not config.models:
        yield "models: there is none; add one, such as `- {name: fast, provider: NAME}`"


def needs_keys(config: Config) -> bool:
    """Return whether strangers could reach this gateway, and it has no keys of its own."""
    return not config.keys and not is_loopback(config.server.host)


def _keys(config: Config, secrets: Secrets, *, stored_keys: bool) -> Iterator[str]:
    if config.keys and not secrets.key_secret:
        yield "keys: set LOCKGATE_KEY_SECRET, the secret that their hashes were made with"
    if needs_keys(config) and not stored_keys:
        yield (
            f"server.host: without keys the gateway is open, and {config.server.host} can be "
            "reached from other machines; add keys (lockgate key create) or use 127.0.0.1"
        )


def _addresses(config: Config) -> Iterator[str]:
    for name, row in config.providers.items():
        if row.simulated is not None:
            continue
        host = _host(row.base_url)
        if host is None:
            yield f"providers.{name}.base_url: {row.base_url!r} is no http or https address"
        elif not row.allow_private and (is_private(host) or is_loopback(host)):
            yield f"providers.{name}.base_url: a private address; set allow_private to mean it"
        elif said := _too_long(row):
            yield f"providers.{name}.base_url: {said}"


def _too_long(row: ProviderConfig) -> str:
    """Return what the address of *row* has that is added to it for each call, "" if nothing."""
    path = urlsplit(row.base_url).path.rstrip("/")
    if end := next(filter(path.endswith, _ADDED), ""):
        return f"it ends with {end}, which is added to it for each call: leave that out"
    if row.dialect == "anthropic" and path.endswith("/v1"):
        return "/v1/messages is added to it for each call: leave /v1 out"
    return ""


def _bare(config: Config) -> Iterator[str]:
    for name, row in config.providers.items():
        if row.base_url and row.dialect != "anthropic" and not urlsplit(row.base_url).path[1:]:
            yield (
                f"providers.{name}.base_url has no path, and most hosts have this API below /v1: "
                "without it, calls may all be answered with 404"
            )


def _prices(config: Config) -> Iterator[str]:
    yield from unreadable(config.pricing)
    stated = config.pricing.catalogue
    if stated is not None and stated.url is not None and _host(stated.url) is None:
        yield f"pricing.catalogue.url: {stated.url!r} is no http or https address"


def _persons(config: Config, secrets: Secrets) -> Iterator[str]:
    stated = config.attention
    if stated.persons and not secrets.key_secret:
        yield "attention.persons: set LOCKGATE_KEY_SECRET, the secret of their tokens' hashes"
    for person in stated.persons:
        if person.webhook is None:
            continue
        host = _host(person.webhook)
        if host is None:
            yield f"attention.persons.{person.name}.webhook: no http or https address"
        elif not stated.allow_private and (is_private(host) or is_loopback(host)):
            yield (
                f"attention.persons.{person.name}.webhook: a private address; set "
                "attention.allow_private to mean it"
            )


def _host(address: str) -> str | None:
    """Return the host of a http or https *address*, None if it is none."""
    try:
        url = urlsplit(address)
        _ = url.port  # read, for it raises where it is no port
    except ValueError:
        return None
    return url.hostname if url.scheme in ("http", "https") else None


def _techniques(config: Config) -> Iterator[str]:
    cards = load(catalog)
    stated = config.reliability
    named = [("reliability.default", stated.default)]
    named += [("reliability.techniques", name) for name in stated.techniques]
    named += [
        (f"keys.{key.name}.techniques", name)
        for key in config.keys
        for name in key.techniques or ()
    ]
    named += [("router.arms", arm_of(name).technique) for name in config.router.arms or ()]
    named += [("router.acm_table.rows", row.technique) for row in config.router.acm_table.rows]
    for path, name in named:
        if name not in (*_WORDS, *cards):
            yield f"{path}: there is no technique {name!r}"
    used = ({stated.default} | stated.techniques.keys()) & cards.keys()
    for name in sorted({cards[name].name for name in used}):
        card = cards[name]
        at = f"reliability.techniques.{card.name}"
        yield from _options(card, configured_of(card, stated.techniques), cards, at)
    for row in config.router.acm_table.rows:
        if row.technique in cards:
            card = cards[row.technique]
            given = configured_of(card, stated.techniques) | dict(row.params)
            yield from _options(card, given, cards, f"router.acm_table.rows.{row.name}.params")


def _calibration(config: Config) -> Iterator[str]:
    path = config.reliability.calibration
    if path is None:
        return
    try:
        measured(path)
    except (OSError, ValueError) as error:
        yield from (f"reliability.calibration: {line}" for line in str(error).splitlines())


def _weights(config: Config) -> Iterator[str]:
    try:
        with_weights(config.router)
    except (OSError, ValueError) as error:
        yield from (f"router.acm_linear.file: {line}" for line in str(error).splitlines())


def _folders(config: Config) -> Iterator[str]:
    """Yield the folders of slots that are not there."""
    for name, row in config.providers.items():
        kv = row.llama_cpp.kv if row.llama_cpp else None
        if kv is not None and not kv.folder.is_dir():
            yield f"providers.{name}.llama_cpp.kv.folder: there is no folder {str(kv.folder)!r}"


def _strangers(config: Config) -> Iterator[str]:
    """Yield what the calibration file names that is no model here."""
    path = config.reliability.calibration
    models = {model.name for model in config.models}
    for name in measured(path).models if path else ():
        if not serves(models, name):
            yield f"reliability.calibration: it has {name!r}, and there is no such model"


def _options(card: Card, given: Mapping[str, Json], cards: Cards, at: str) -> Iterator[str]:
    """Yield what is wrong with the options *given* to *card* at the path *at*."""
    try:
        card.options.model_validate(given, context={CARDS: cards})
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            said = complaint(card, fault["loc"], fault["type"], fault["msg"])
            path = ".".join((at, *map(str, fault["loc"])))
            yield f"{path}: {said.removesuffix('.')}"
