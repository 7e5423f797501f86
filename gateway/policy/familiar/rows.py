"""The spellings of other gateways that are read here: one table.

Where two say the same, the row that stands first counts. Sources: openrouter.ai/docs (model
fallbacks, provider routing, usage accounting); docs.litellm.ai/docs/proxy (request headers,
timeouts, reliability, tags, caching); github.com/codelion/optillm (README);
docs.helicone.ai/helicone-headers; portkey.ai/docs (API reference, headers).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from gateway.policy.familiar import values
from gateway.policy.familiar.row import Means, Nothing, Refused, Row, ShowsUsage, Tags
from techniques.core.json import JsonObject

_TELL: Final = Nothing(told=True)
_FORGET: Final = Nothing(told=False)
_SESSION: Final = Means("session", values.same, lenient=True)
_REUSE: Final = Means("reuse", values.switch, lenient=True)
_TIMEOUT: Final = Means("deadline-ms", values.seconds)
_RETRIES: Final = Means("retries", values.retries)
_APPROACH: Final = Means("technique", values.approach)


def _streams(body: JsonObject) -> bool:
    return body.get("stream") is True


def _named(tag: str) -> Tags:
    return Tags(partial(_one_tag, tag))


def _one_tag(tag: str, _: str, value: object) -> list[str]:
    return [f"{tag}={value}"]


OPENROUTER: Final = "OpenRouter"
LITELLM: Final = "LiteLLM"
OPTILLM: Final = "OptiLLM"
HELICONE: Final = "Helicone"
PORTKEY: Final = "Portkey"
_MOCKED: Final = "is not taken: a provider can be simulated, in the configuration"
_TARGET: Final = (
    "is not taken: which provider is asked, and with which key, is the gateway's matter"
)

_HEADERS: Final = (
    Row(LITELLM, "header", "x-litellm-stream-timeout", _TIMEOUT, "of streams; s", when=_streams),
    Row(LITELLM, "header", "x-litellm-timeout", _TIMEOUT, "seconds"),
    Row(LITELLM, "header", "x-litellm-num-retries", _RETRIES),
    Row(LITELLM, "header", "x-litellm-session-id", _SESSION),
    Row(LITELLM, "header", "x-litellm-trace-id", _SESSION),
    Row(LITELLM, "header", "x-litellm-tags", Tags(values.texts_of_tags), "commas between them"),
    Row(LITELLM, "header", "x-litellm-spend-logs-metadata", Tags(values.metadata), "JSON"),
    Row(LITELLM, "header", "x-litellm-api-key", _FORGET),
    Row(LITELLM, "header", "x-litellm-*", _TELL),
    Row(HELICONE, "header", "helicone-session-id", _SESSION),
    Row(HELICONE, "header", "helicone-session-path", _named("session_path")),
    Row(HELICONE, "header", "helicone-session-name", _named("session_name")),
    Row(HELICONE, "header", "helicone-user-id", _named("user")),
    Row(HELICONE, "header", "helicone-prompt-id", _named("prompt")),
    Row(HELICONE, "header", "helicone-property-*", _named("*"), "`NAME=value`"),
    Row(HELICONE, "header", "helicone-cache-enabled", _REUSE, "`true`: `on`, `false`: `off`"),
    Row(HELICONE, "header", "helicone-auth", _FORGET),
    Row(HELICONE, "header", "helicone-request-id", _FORGET),
    Row(HELICONE, "header", "helicone-retry-*", _FORGET),
    Row(HELICONE, "header", "helicone-omit-*", _FORGET),
    Row(HELICONE, "header", "helicone-*", _TELL),
    Row(PORTKEY, "header", "x-portkey-trace-id", _SESSION),
    Row(PORTKEY, "header", "x-portkey-metadata", Tags(values.metadata), "JSON: `NAME=value` each"),
    Row(
        PORTKEY,
        "header",
        "x-portkey-request-timeout",
        Means("deadline-ms", values.milliseconds),
        "milliseconds",
    ),
    Row(
        PORTKEY,
        "header",
        "x-portkey-cache-force-refresh",
        Means("reuse", values.refresh, lenient=True),
        "`true`: `refresh`",
    ),
    Row(PORTKEY, "header", "x-portkey-api-key", _FORGET),
    Row(PORTKEY, "header", "x-portkey-*", _TELL),
    Row(OPENROUTER, "header", "http-referer", _FORGET),
    Row(OPENROUTER, "header", "x-title", _FORGET),
    Row(OPENROUTER, "header", "x-openrouter-*", _FORGET),
    Row("several", "header", "x-session-id", _SESSION),
)
_BODY: Final = (
    Row(
        OPENROUTER,
        "body",
        "models",
        Means("fallbacks", values.models),
        "without `model`, the first of them is that",
    ),
    Row(OPENROUTER, "body", "route", _FORGET),
    Row(
        OPENROUTER,
        "body",
        "provider.require_parameters",
        Means("strict", values.strict_if),
    ),
    Row(
        OPENROUTER,
        "body",
        "provider.data_collection",
        Refused(
            "cannot be promised here; allow the providers that may see it to this key",
            values.denies,
        ),
        "`deny` is an error, `allow` means nothing",
    ),
    Row(
        OPENROUTER,
        "body",
        "provider.zdr",
        Refused(
            "cannot be promised here; allow the providers that may see it to this key",
            values.denies,
        ),
        "`true` is an error, `false` means nothing",
    ),
    Row(
        OPENROUTER,
        "body",
        "provider",
        Nothing(told=True, is_worth_it=values.prefers),
        "what else it has (`order`, `sort` …)",
    ),
    Row(OPENROUTER, "body", "usage", ShowsUsage(), "`{include: true}`"),
    Row(OPENROUTER, "body", "transforms", Nothing(told=True, is_worth_it=values.is_set)),
    Row(OPENROUTER, "body", "plugins", Nothing(told=True, is_worth_it=values.is_set)),
    Row(OPENROUTER, "body", "session_id", _SESSION),
    Row(LITELLM, "body", "fallbacks", Means("fallbacks", values.models), "names, or `{model: …}`"),
    Row(LITELLM, "body", "stream_timeout", _TIMEOUT, "of streams; s", when=_streams),
    Row(LITELLM, "body", "timeout", _TIMEOUT, "seconds"),
    Row(LITELLM, "body", "num_retries", _RETRIES),
    Row(LITELLM, "body", "litellm_session_id", _SESSION),
    Row(LITELLM, "body", "litellm_trace_id", _SESSION),
    Row(LITELLM, "body", "metadata.tags", Tags(values.list_of_tags), "a list"),
    Row(LITELLM, "body", "litellm_metadata.tags", Tags(values.list_of_tags), "a list"),
    Row(LITELLM, "body", "litellm_metadata", _FORGET, "what else it has"),
    Row(LITELLM, "body", "tags", Tags(values.list_of_tags), "a list"),
    Row(LITELLM, "body", "context_window_fallbacks", _TELL),
    Row(LITELLM, "body", "content_policy_fallbacks", _TELL),
    Row(LITELLM, "body", "cache", _TELL, "an object"),
    Row(LITELLM, "body", "guardrails", Nothing(told=True, is_worth_it=values.is_set)),
    Row(LITELLM, "body", "drop_params", _FORGET),
    Row(LITELLM, "body", "mock_response", Refused(_MOCKED, values.is_set)),
    Row(LITELLM, "body", "mock_tool_calls", Refused(_MOCKED, values.is_set)),
    Row(LITELLM, "body", "mock_testing_fallbacks", Refused(_MOCKED, values.is_set)),
    Row(LITELLM, "body", "api_base", Refused(_TARGET, values.is_set)),
    Row(LITELLM, "body", "api_key", Refused(_TARGET, values.is_set)),
    Row(LITELLM, "body", "base_url", Refused(_TARGET, values.is_set)),
    Row(OPTILLM, "body", "optillm_approach", _APPROACH),
    Row(OPTILLM, "body", "extra_body.optillm_approach", _APPROACH),
)
_MODEL: Final = (
    Row(OPENROUTER, "model", "*:nitro", _TELL, "a preference"),
    Row(OPENROUTER, "model", "*:floor", _TELL, "a preference"),
    Row(OPENROUTER, "model", "*:exacto", _TELL, "a preference"),
    Row(OPTILLM, "model", "APPROACH-*", _APPROACH),
)
TABLE: Final = (*_HEADERS, *_BODY, *_MODEL)

SUFFIXES: Final = tuple(row.name[1:] for row in _MODEL if row.name.startswith("*"))
SHAPES: Final[Mapping[str, type]] = {
    "cache": dict,
    "extra_body": dict,
    "fallbacks": list,
    "guardrails": list,
    "litellm_metadata": dict,
    "metadata": dict,
    "metadata.tags": list,
    "litellm_metadata.tags": list,
    "models": list,
    "plugins": list,
    "provider": dict,
    "tags": list,
    "transforms": list,
    "usage": dict,
}
"""What form a field has; with another it is somebody else's, and left where it stands."""


def _by_field() -> dict[str, tuple[Row, ...]]:
    fields: dict[str, tuple[Row, ...]] = {}
    for row in _BODY:
        field = row.name.partition(".")[0]
        fields[field] = (*fields.get(field, ()), row)
    return fields


FIELDS: Final[Mapping[str, tuple[Row, ...]]] = _by_field()
"""The rows of each field of the body."""
_EXACT: Final = {row.name: row for row in _HEADERS if not row.name.endswith("*")}
_OPEN: Final = tuple((row.name[:-1], row) for row in _HEADERS if row.name.endswith("*"))
_STEMS: Final = {row.name.removesuffix("*") for row in _HEADERS}
BEGINNINGS: Final = tuple(
    stem for stem in _STEMS if not any(stem.startswith(one) for one in _STEMS - {stem})
)
"""How all of them begin: most requests have none, and are looked through quickly."""
PLACES: Final[Mapping[str, int]] = {row.name: place for place, row in enumerate(TABLE)}


def header_row(name: str) -> Row | None:
    """Return the row of the header *name*, None if it is none of another gateway's."""
    if not name.startswith(BEGINNINGS):
        return None
    if (row := _EXACT.get(name)) is not None:
        return row
    return next((row for prefix, row in _OPEN if name.startswith(prefix)), None)


def is_kept(name: str) -> bool:
    """Return whether the header *name* is one of those by which a request is carried out."""
    row = header_row(name)
    return row is not None and isinstance(row.does, Means | Tags)
