"""From the configuration of a LiteLLM proxy to one of ours. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gateway.importing.deployment import Deployment, deployment
from gateway.importing.groups import Groups
from gateway.importing.report import Report, Settings
from gateway.importing.secret import Vault, names_in
from gateway.importing.settings import general, sections
from techniques.core.json import Json, JsonObject

_SECTIONS: Final[Mapping[str, str]] = {
    "include": "other files are not read; import each",
    "guardrails": "requests and answers are not screened here",
    "mcp_servers": "tools are the client's, or the provider's own",
    "vector_store_registry": "documents are not looked up here",
    "search_tools": "tools are the client's, or the provider's own",
    "callback_settings": "what is observed is said in `metrics` and `tracing`",
    "files_settings": "files are not kept here",
    "finetune_settings": "models are not trained here",
    "prompts": "prompts are the client's",
}


def translated(read: Json, text: str) -> tuple[JsonObject, Report]:
    """Return our configuration for what was *read* of the file *text*, and the report.

    It has no models if none could be carried over.
    """
    report = Report()
    vault = Vault(report, names_in(text))
    top = Settings(read, "", report)
    variables = top.pairs("environment_variables")
    credentials = _credentials(top.rows("credential_list"))
    groups = Groups(report)
    for one in _deployments(top.rows("model_list"), vault, credentials):
        groups.add(one)
    found = sections(top.inner("router_settings"), top.inner("litellm_settings"), groups, vault)
    general(top.inner("general_settings"))
    for name in variables:
        report.note(f"environment_variables.{name}", "set it where the gateway is started")
    top.close(_SECTIONS)
    providers, models = groups.written()
    return {"providers": providers, "models": models, **found}, report


def _deployments(
    rows: list[Json], vault: Vault, credentials: Mapping[str, JsonObject]
) -> Iterator[Deployment]:
    for place, row in enumerate(rows):
        settings = Settings(row, f"model_list.{place}", vault.report)
        if (one := deployment(settings, vault, credentials)) is not None:
            yield one


def _credentials(rows: list[Json]) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for row in rows:
        values = row.get("credential_values") if isinstance(row, dict) else None
        if isinstance(values, dict):
            found[str(row.get("credential_name"))] = values
    return found
