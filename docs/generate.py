"""Writes the tables of the documents from the code: ``python -m docs.generate --write|--check``.

A document holds a table between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import orjson
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel

from docs import failures, familiar, limits, prices, responses, thinking
from gateway.config import Config
from gateway.config.context import ContextConfig
from gateway.config.cors import CorsConfig
from gateway.config.database import DatabaseConfig
from gateway.config.journal import JournalConfig
from gateway.config.pricing import CatalogueConfig, PricingConfig
from gateway.config.responses import ResponsesConfig
from gateway.config.sandbox import SandboxConfig
from gateway.config.schema import ServerConfig, UpstreamConfig
from gateway.lasting import Counts
from gateway.metering.meters.local import LocalMeter
from gateway.policy import wishes
from gateway.upstream.simulated.settings import ABOUT, MODELS
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.openai_chat import OpenAIChat
from techniques import catalog
from techniques.catalog import acm
from techniques.core.codes import WARNINGS
from techniques.core.errors import StreamBroken
from techniques.core.json import JsonObject
from techniques.core.registry import Card, load
from techniques.core.values import plain, values_of
from techniques.parts.tables import Dispatch
from tests.translation import page as translation
from tests.translation import told as answers

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def headers() -> str:
    """Return the table of what a caller may wish for, or of what has no effect yet."""
    rows = [
        (f"`{wishes.PREFIX}{name}`", wish.meaning)
        for name, wish in wishes.TABLE.items()
        if wish.in_effect
    ]
    return _table(("header", "meaning"), rows)


def headers_without_effect() -> str:
    """Return the names that are read, answered with a warning, and not acted on."""
    names = [f"`{name}`" for name, wish in wishes.TABLE.items() if not wish.in_effect]
    return ", ".join(names) + "\n"


def techniques() -> str:
    """Return the table of the techniques, from their cards."""
    rows = [
        (
            f"`{name}`",
            card.traits.family,
            card.summary,
            card.traits.typical,
            card.traits.worst,
            ", ".join(card.traits.needs) or "-",
            card.traits.avoid,
        )
        if name == card.name
        else (f"`{name}`", card.traits.family, f"Another name of `{card.name}`.", *("",) * 4)
        for name, card in load(catalog).items()
    ]
    head = ("name", "family", "what it does", "calls, typical", "calls, at worst", "needs")
    return _table((*head, "not when"), rows)


def families() -> str:
    """Return the table of the techniques' names, by family."""
    names: dict[str, list[str]] = {}
    for card in _own():
        names.setdefault(card.traits.family, []).append(f"`{card.name}`")
    return _table(("family", "techniques"), ((one, ", ".join(them)) for one, them in names.items()))


def _own() -> list[Card]:
    """Return the cards, each once."""
    return [card for name, card in load(catalog).items() if name == card.name]


def modality() -> str:
    """Return the table of what each technique does with requests that have something special."""
    rows = [
        (f"`{name}`", *(getattr(card.traits.modality, field) for field in _SPECIAL))
        for name, card in load(catalog).items()
    ]
    return _table(("technique", *_SPECIAL.values()), rows)


_SPECIAL: Final = {
    "tools": "tools",
    "json": "JSON, schema",
    "images": "images",
    "many": "`n` > 1",
    "logprobs": "token probabilities",
    "fixed": "fixed temperature",
}


def delegation() -> str:
    """Return the tables by which ``acm`` and ``acm_soft`` hand on where nothing else is said."""
    tables = {"acm": acm.TABLE, **{f"acm, {name}": it for name, it in acm.CATEGORY_TABLES.items()}}
    rows = [
        (title, "difficulty {:g} to {:g}".format(*row.difficulty_range), *_dispatch(row))
        for title, table in tables.items()
        for row in table
    ]
    rows += [("acm_soft", f"confidence from {one.at_least:g}", *_dispatch(one)) for one in acm.BINS]
    return _table(("of", "where", "technique", "options"), rows)


def _dispatch(dispatch: Dispatch) -> tuple[str, str]:
    return f"`{dispatch.technique}`", f"`{plain(dispatch.params)}`" if dispatch.params else "-"


def sources() -> str:
    """Return where each technique comes from."""
    cited = [card for card in _own() if card.traits.source != "none"]
    return "".join(f"* `{card.name}`: {card.traits.source}\n" for card in cited)


def options() -> str:
    """Return the table of the techniques' options."""
    rows = [
        (f"`{card.name}`", f"`{name}`", values_of(field), _default(field), told)
        for card in _own()
        for name, field in card.options.model_json_schema()["properties"].items()
        for told in [field.get("description", "")]
    ]
    return _table(("technique", "option", "values", "default", "meaning"), rows)


def _default(field: JsonObject) -> str:
    return f"`{plain(field['default'])}`" if "default" in field else "none, it must be given"


class _Listed(CollectorRegistry):
    """A registry that remembers what was registered, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics: list[MetricWrapperBase] = []

    def register(self, collector: Collector) -> None:
        """Take *collector* in."""
        assert isinstance(collector, MetricWrapperBase)
        self.metrics.append(collector)
        super().register(collector)


def _counted() -> _Listed:
    """Return all metrics that a gateway has."""
    registry = _Listed()
    Counts(registry, Config())
    LocalMeter(registry, ())
    return registry


def metric_names() -> set[str]:
    """Return the names of all metrics, as queries have them."""
    return {_named(family) for metric in _counted().metrics for family in metric.describe()}


def _named(family: Metric) -> str:
    return f"{family.name}{'_total' if family.type == 'counter' else ''}"


def metrics() -> str:
    """Return the table of the metrics, as Prometheus names them."""
    registry = _counted()
    rows = [
        (
            f"`{_named(family)}`",
            family.type,
            ", ".join(f"`{label}`" for label in vars(metric)["_labelnames"]) or "-",
            family.documentation,
        )
        for metric in registry.metrics
        for family in metric.describe()
    ]
    return _table(("metric", "type", "labels", "meaning"), rows)


def alerts() -> str:
    """Return the table of the alerts, as Prometheus's rules have them."""
    file = ROOT / "deploy" / "prometheus" / "rules" / "alerts.yml"
    rules = [
        rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]
    ]
    rows = [
        (
            f"`{rule['alert']}`",
            rule["labels"]["severity"],
            _LABEL.sub(r"*\1*", rule["annotations"]["summary"]),
            rule["annotations"]["action"],
        )
        for rule in rules
    ]
    return _table(("alert", "severity", "says", "do"), rows)


_LABEL: Final = re.compile(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}")


def errors() -> str:
    """Return the table of failures: how each is told in either dialect."""
    head = ("what happened", "chat completions", "its `code`", "messages", "its `type`")
    return _table(head, failures.rows())


def warnings() -> str:
    """Return the table of the warnings' codes."""
    return _table(("code", "meaning"), ((f"`{code}`", told) for code, told in WARNINGS.items()))


def broken_stream() -> str:
    """Return the last frame of a stream that breaks, in either dialect."""
    error = StreamBroken("The provider closed the connection before the answer was complete.")
    frames = []
    for dialect in (OpenAIChat(), AnthropicMessages()):
        body = orjson.dumps({"model": "m", "max_tokens": 1, "messages": _HELLO, "stream": True})
        call = dialect.decode(orjson.loads(body), body)
        frames.append(dialect.encoder(call, "", "m").fail(error).decode().strip())
    return "```text\n" + "\n\n".join(frames) + "\n```\n"


def responses_fields() -> str:
    """Return the table of what becomes of a Responses request at providers of other APIs."""
    head = ("asked for", "OpenAI's chat completions", "those of others", "Anthropic provider")
    return _table(head, responses.rows())


def _translation(client: str) -> str:
    """Return the table of what becomes of a *client*'s fields at providers of other APIs."""
    return _table(translation.HEAD[client], translation.rows(client))


def _answers(maker: str) -> str:
    """Return the table of what becomes of a *maker*'s answers for clients of other APIs."""
    return _table(answers.HEADS[maker], answers.rows(maker))


_HELLO: Final = [{"role": "user", "content": "hi"}]


def simulation() -> str:
    """Return what the simulated models are, and how often each errs."""
    rows = [
        (f"`{name}`", f"{model.error_rate:.0%}", f"{model.judge_error_rate:.0%}")
        for name, model in MODELS.items()
    ]
    return ABOUT + "\n" + _table(("model", "wrong answers", "wrong verdicts as a judge"), rows)


def settings() -> str:
    """Return the server's and the upstream's settings with their defaults."""
    return _table(("setting", "default"), _settings())


def _settings() -> Iterator[tuple[str, str]]:
    sections: Mapping[str, type[BaseModel]] = {
        "server": ServerConfig,
        "server.cors": CorsConfig,
        "upstream": UpstreamConfig,
        "reliability.sandbox": SandboxConfig,
        "database": DatabaseConfig,
        "journal": JournalConfig,
        "responses": ResponsesConfig,
        "context": ContextConfig,
        "pricing": PricingConfig,
        "pricing.catalogue": CatalogueConfig,
    }
    for section, model in sections.items():
        for name, field in model.model_fields.items():
            default = field.default
            if isinstance(default, BaseModel):  # has rows of its own
                continue
            shown = str(default) if isinstance(default, Path) else plain(default)
            yield f"`{section}.{name}`", f"`{shown}`"


def thinking_styles() -> str:
    """Return what is sent in each style of asking for thinking."""
    head = ("style", "taken by", "off", "on", "3,000 tokens", "effort high")
    return _table(head, thinking.styles())


def thinking_families() -> str:
    """Return which models think, and how each is told."""
    head = ("models", "style at home", "efforts", "kept from thinking by", "takes a temperature")
    return _table(head, thinking.families())


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "headers": headers,
    "headers-without-effect": headers_without_effect,
    "techniques": techniques,
    "families": families,
    "modality": modality,
    "delegation": delegation,
    "sources": sources,
    "options": options,
    "metrics": metrics,
    "alerts": alerts,
    "errors": errors,
    "errors-asked": lambda: _table(failures.ASKED_HEAD, failures.asked_rows()),
    "warnings": warnings,
    "broken-stream": broken_stream,
    "responses-fields": responses_fields,
    **{f"translation-{client}": partial(_translation, client) for client in translation.HEAD},
    **{f"answers-{maker}": partial(_answers, maker) for maker in answers.HEADS},
    "answers-nothing": lambda: _table(("why", "what"), answers.natural()),
    "familiar": lambda: _table(familiar.HEAD, familiar.rows()),
    "familiar-approaches": lambda: _table(familiar.APPROACH_HEAD, familiar.approaches()),
    "simulation": simulation,
    "settings": settings,
    "thinking-styles": thinking_styles,
    "thinking-families": thinking_families,
    "thinking-hosts": thinking.hosts,
    "price-sources": lambda: _table(prices.SOURCE_HEAD, prices.sources()),
    "price-tiers": lambda: _table(prices.TIER_HEAD, prices.tiers()),
    "price-caveats": lambda: _table(prices.CAVEAT_HEAD, prices.caveats()),
    "vendors": lambda: _table(limits.HEAD, limits.rows()),
}


def documents() -> list[Path]:
    """Return every document of the project."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """Return the document *text* with its tables as the code has them now.

    Raises:
        KeyError: It has a place for a table that does not exist.
    """

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}"

    return _BLOCK.sub(block, text)


def main(arguments: Sequence[str]) -> int:
    """Write all tables, or check that they are as they would be written."""
    if list(arguments) not in (["--write"], ["--check"]):
        sys.stderr.write("Say --write or --check.\n")
        return 2
    old = [
        page for page in documents() if filled(page.read_text("utf-8")) != page.read_text("utf-8")
    ]
    for page in old:
        if "--write" in arguments:
            page.write_text(filled(page.read_text("utf-8")), "utf-8")
        else:
            sys.stderr.write(f"{page.relative_to(ROOT)} is old: python -m docs.generate --write\n")
    return 1 if old and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
