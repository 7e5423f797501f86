"""The sections of a LiteLLM configuration beside its models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateway.importing.groups import Groups
from gateway.importing.report import Settings
from gateway.importing.secret import Vault
from techniques.core.json import JsonObject

_KEYS: Final = "keys cannot be read back; make new ones: `lockgate key create`"
_BUDGETS: Final = "budgets belong to keys and teams: `lockgate budget create`"
_REUSE: Final = "answers are not reused in this version"
_WINDOW: Final = "a conversation that is too long is shortened: `context.on_wall`"
_TELLS: Final = "who is told of what happens is said in `metrics` and `tracing`"
_WORDS: Final = "prompt texts are not kept, and not told anybody"
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+|\$\{\w+\}")
_PORT: Final = re.compile(r"[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|\$\{\w+\}")
_ROUTER: Final[Mapping[str, str]] = {
    "routing_strategy": "a call goes to the account that can take it soonest",
    "routing_strategy_args": "a call goes to the account that can take it soonest",
    "enable_pre_call_checks": "",
    "cooldown_time": "how long a model that fails rests is not set: it grows",
    "retry_policy": "a failure is tried again if its provider says that it may be",
    "model_group_retry_policy": "a failure is tried again if its provider says that it may be",
    "retry_after": "how long to wait is the provider's word, or `upstream.backoff_s`",
    "context_window_fallbacks": _WINDOW,
    "content_policy_fallbacks": "an answer that declines is an answer",
    "stream_timeout": "the time to the first content is one for all: `upstream.first_byte_s`",
    "cache_responses": _REUSE,
    "client_ttl": "",
    "debug_level": "",
    "set_verbose": "",
}
_LITELLM: Final[Mapping[str, str]] = {
    "drop_params": "",
    "modify_params": "",
    "set_verbose": "",
    "json_logs": "",
    "telemetry": "",
    "turn_off_message_logging": "",
    "redact_user_api_key_info": "",
    "cache": _REUSE,
    "cache_params": _REUSE,
    "context_window_fallbacks": _WINDOW,
    "content_policy_fallbacks": "an answer that declines is an answer",
    "failure_callback": _TELLS,
    "success_callback": _TELLS,
    "service_callback": _TELLS,
    "callbacks": _TELLS,
    "max_budget": _BUDGETS,
    "budget_duration": _BUDGETS,
    "max_internal_user_budget": _BUDGETS,
    "default_internal_user_params": _KEYS,
    "default_team_settings": _KEYS,
    "upperbound_key_generate_params": _KEYS,
}
_GENERAL: Final[Mapping[str, str]] = {
    "master_key": "the operator's token is LOCKGATE_ADMIN_TOKEN; clients have keys of their own",
    "database_url": "LiteLLM's database stays LiteLLM's; give one of its own: `database.url`",
    "database_connection_pool_limit": "it is of LiteLLM's database",
    "store_model_in_db": "models stand in the file; those in LiteLLM's database are not read",
    "store_prompts_in_spend_logs": _WORDS,
    "alerting": "`deploy/prometheus` has alerts",
    "alerting_threshold": "`deploy/prometheus` has alerts",
    "max_parallel_requests": "calls in flight are limited by key: `concurrency`",
    "global_max_parallel_requests": "calls in flight are limited by key: `concurrency`",
    "max_budget": _BUDGETS,
    "budget_duration": _BUDGETS,
    "proxy_budget_rescheduler_min_time": _BUDGETS,
    "proxy_budget_rescheduler_max_time": _BUDGETS,
    "custom_auth": _KEYS,
    "enable_jwt_auth": "callers have keys; tokens of another issuer are not read",
    "pass_through_endpoints": "providers' own paths are not passed through",
    "health_check_interval": "",
    "background_health_checks": "",
    "disable_spend_logs": "",
    "proxy_batch_write_at": "",
}


def sections(router: Settings, litellm: Settings, groups: Groups, vault: Vault) -> JsonObject:
    """Return the sections beside providers and models; what is said of models goes to *groups*."""
    for name, alias in router.pairs("model_group_alias").items():
        of = alias.get("model") if isinstance(alias, dict) else alias
        groups.alias(str(name), str(of), f"{router.at('model_group_alias')}.{name}")
    for section in (router, litellm):
        _fallbacks(section, groups)
    found: JsonObject = {}
    upstream = _upstream(router) | _upstream(litellm)
    if upstream:
        found["upstream"] = upstream
    if redis := _redis(router, vault):
        found["store"] = {"redis": redis}
    _callbacks(litellm)
    router.close(_ROUTER)
    litellm.close(_LITELLM)
    return found


def general(settings: Settings) -> None:
    """Report all that stands in ``general_settings``."""
    settings.close(_GENERAL)


def _fallbacks(section: Settings, groups: Groups) -> None:
    at = section.at("fallbacks")
    for place, row in enumerate(section.rows("fallbacks")):
        for name, to in row.items() if isinstance(row, dict) else ():
            groups.fall_back(str(name), to, f"{at}.{place}")
    if default := section.take("default_fallbacks"):
        groups.fall_back("*", default, section.at("default_fallbacks"))


def _upstream(section: Settings) -> JsonObject:
    upstream: JsonObject = {}
    retries = section.whole("num_retries", 0, 10**6)
    if retries is not None:
        upstream["retries"] = min(retries, 10)
        if retries > 10:
            section.report.lose(section.at("num_retries"), "10 at most; it is 10 now")
    seconds = section.number("request_timeout", 0.001) or section.number("timeout", 0.001)
    if seconds is not None:
        upstream["first_byte_s"] = seconds
        at = section.at("request_timeout or timeout")
        section.report.note(at, "it is the time to the first content; of a whole answer, its end")
    fails = section.whole("allowed_fails", 0, 10**6)
    if fails is not None:
        upstream["breaker"] = fails + 1
    return upstream


def _redis(router: Settings, vault: Vault) -> str | None:
    url = router.text("redis_url")
    host, port = router.text("redis_host"), router.take("redis_port")
    at_host, at_port = router.at("redis_host"), router.at("redis_port")
    user, password = router.text("redis_username"), router.text("redis_password")
    if url is not None:
        return vault.address(url, router.at("redis_url"), "REDIS_URL")
    if host is None:
        return None
    where = vault.address(host, at_host, "REDIS_HOST")
    at = vault.address(str(port or 6379), at_port, "REDIS_PORT")
    for part, path, fits in ((where, at_host, _HOST), (at, at_port, _PORT)):
        if not fits.fullmatch(part):
            router.report.lose(path, "no address can be made of it: `store.redis`")
            return None
    if password is None:
        return f"redis://{where}:{at}"
    secret = vault.secret(password, router.at("redis_password"), "REDIS_PASSWORD")
    name = (
        "" if user is None else vault.address(user, router.at("redis_username"), "REDIS_USERNAME")
    )
    return f"redis://{name}:{secret}@{where}:{at}"


def _callbacks(litellm: Settings) -> None:
    """Take out what is there unasked."""
    for name in ("callbacks", "success_callback", "failure_callback", "service_callback"):
        stated = litellm.take(name)
        names = stated if isinstance(stated, list) else [] if stated is None else [stated]
        rest = [one for one in names if one != "prometheus"]
        if len(rest) < len(names):
            litellm.report.note(litellm.at(name), "prometheus: /metrics is always there")
        if rest:
            litellm.report.lose(litellm.at(name), _TELLS)
