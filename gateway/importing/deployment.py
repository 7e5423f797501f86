"""One row of a LiteLLM ``model_list``, as a provider and a model of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.importing.account import account_of
from gateway.importing.hosts import ELSEWHERE, HOSTS, UNKNOWN, named
from gateway.importing.price import price_of
from gateway.importing.report import Settings
from gateway.importing.secret import Vault
from techniques.core.json import Json, JsonObject

_MODES: Final = frozenset({"chat", "completion", "embedding", "responses"})
_UNSERVED: Final = "models of that mode are not served here"
_CAN: Final[Mapping[str, str]] = {
    "supports_function_calling": "tools",
    "supports_vision": "vision",
    "supports_response_schema": "json_schema",
}
_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
_FOR_ALL: Final = "it holds for all models here: `upstream`"
_ASKED: Final = "what a client does not ask for is not added to its call"
_PARAMS_LEFT: Final[Mapping[str, str]] = {
    "timeout": _FOR_ALL,
    "stream_timeout": _FOR_ALL,
    "max_retries": _FOR_ALL,
    "num_retries": _FOR_ALL,
    "weight": "a call goes to the account that can take it soonest",
    "api_version": "Azure's v1 API takes none",
    "use_in_pass_through": "providers' own paths are not passed through",
    "drop_params": "",
    "merge_reasoning_content_in_choices": "",
    **dict.fromkeys(("temperature", "top_p", "max_tokens", "seed", "stop", "user"), _ASKED),
    **dict.fromkeys(("extra_body", "top_k", "n", "service_tier"), _ASKED),
    "tags": "calls are not sent by their tags",
    "max_budget": "budgets belong to keys and teams: `lockgate budget create`",
    "budget_duration": "budgets belong to keys and teams: `lockgate budget create`",
    "mock_response": "a provider can be `simulated`",
}
_INFO_LEFT: Final[Mapping[str, str]] = {
    "id": "",
    "base_model": "a price goes by `model`, or is stated: `price`",
    "supports_reasoning": "",
    "supports_system_messages": "",
    "supports_parallel_function_calling": "",
    "supports_prompt_caching": "",
    "supports_native_streaming": "",
    "supports_tool_choice": "",
    "litellm_provider": "",
    "db_model": "",
    "access_groups": "which models a key may use is said of the key",
    "team_id": "which models a key may use is said of the key",
}


@dataclass(slots=True)
class Deployment:
    """A model at a provider. ``order`` is the place among those of one name."""

    name: str
    at: str
    host: str
    provider: JsonObject
    model: JsonObject
    order: float

    @property
    def makes_vectors(self) -> bool:
        """Whether it is said to make embeddings."""
        return bool(self.model.get("capabilities", {}).get("embeddings"))


def deployment(
    row: Settings, vault: Vault, credentials: Mapping[str, JsonObject]
) -> Deployment | None:
    """Return what *row* describes, None if it cannot be carried over: the report says why.

    *credentials* are those that rows name.
    """
    name = row.text("model_name")
    params, info = row.inner("litellm_params"), row.inner("model_info")
    row.close({})
    stated = params.text("model") or ""
    _with_credential(params, credentials)
    kind, model = named(stated, params.text("custom_llm_provider"))
    mode = info.text("mode")
    why = _unfit_name(name, model, kind) or _unfit(stated, kind, mode)
    if why or name is None:
        row.report.lose(row.path, why)
        return None
    responses = model.startswith("responses/") or mode == "responses"
    model = _called(kind, model.removeprefix("responses/"))
    provider = account_of(params, kind, vault)
    if provider is None:
        return None
    if responses and provider["dialect"] == "openai_chat":
        provider["dialect"] = "openai_responses"
    found = _model(name, model, params, info)
    if mode == "embedding":
        found.setdefault("capabilities", {})["embeddings"] = True
    order = params.number("order", 0)
    params.close(_PARAMS_LEFT)
    info.close(_INFO_LEFT)
    return Deployment(name, row.path, kind, provider, found, order or 0)


def _unfit_name(name: str | None, model: str, kind: str) -> str:
    if name is None:
        return "it has no model_name"
    if "*" in name[:-1] or ("*" in model and not (model.endswith("*") and name.endswith("*"))):
        return "a * stands at the end of both names here, or of ours alone; name the models"
    if model == "*" and not kind:
        return "a name that serves all providers means none here; name the models"
    return ""


def _unfit(model: str, kind: str, mode: str | None) -> str:
    """Return why a row cannot be carried over, "" if it can."""
    if not model:
        return "it has no litellm_params.model"
    if mode is not None and mode not in _MODES:
        return _UNSERVED
    if kind in ELSEWHERE:
        return f"{kind}: {ELSEWHERE[kind]}"
    return "" if kind in HOSTS else UNKNOWN


def _with_credential(params: Settings, credentials: Mapping[str, JsonObject]) -> None:
    """Fill in the named credential of a row."""
    name = params.text("litellm_credential_name")
    if name is None:
        return
    if name not in credentials:
        params.report.lose(params.at("litellm_credential_name"), "there is no such credential")
        return
    params.fill(credentials[name])


def _called(kind: str, model: str) -> str:
    if kind == "fireworks_ai" and "/" not in model:
        return f"accounts/fireworks/models/{model}"
    return model


def _model(name: str, model: str, params: Settings, info: Settings) -> JsonObject:
    found: JsonObject = {"name": name}
    if model != name:
        found["model"] = model
    if limits := _limits(params):
        found["limits"] = limits
    if price := price_of(params, info):
        found["price"] = price
    can: JsonObject = {ours: False for theirs, ours in _CAN.items() if info.take(theirs) is False}
    if context := info.whole("max_input_tokens"):
        can["context"] = context
    if can:
        found["capabilities"] = can
    written = info.whole("max_output_tokens") or info.whole("max_tokens")
    info.take("max_tokens")
    if written:
        found["max_output"] = written
    if thinking := _thinking(params):
        found["thinking"] = thinking
    return found


def _limits(params: Settings) -> JsonObject:
    limits = {name: params.whole(name) for name in ("rpm", "tpm")}
    limits["concurrency"] = params.whole("max_parallel_requests")
    return {name: value for name, value in limits.items() if value is not None}


def _thinking(params: Settings) -> Json:
    effort, stated = params.take("reasoning_effort"), params.take("thinking")
    if effort in _EFFORTS:
        return effort
    budget = stated.get("budget_tokens") if isinstance(stated, dict) else None
    if isinstance(budget, int) and budget > 0:
        return {"budget_tokens": budget}
    for name, value in (("reasoning_effort", effort), ("thinking", stated)):
        if value is not None:
            params.report.lose(params.at(name), "it is not understood")
    return None
