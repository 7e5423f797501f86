"""Where a row of a LiteLLM ``model_list`` is served, as a provider of ours."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from gateway.credentials import is_credential
from gateway.importing.hosts import HOSTS, Host
from gateway.importing.report import Settings
from gateway.importing.secret import Vault
from gateway.upstream.addresses import is_private
from router_service.groundwork.nearby import is_loopback
from techniques.core.json import JsonObject

_INSIDE: Final = (".local", ".internal", ".lan", ".svc")


def account_of(params: Settings, kind: str, vault: Vault) -> JsonObject | None:
    """Return the provider of *kind* that a row's *params* describe, None if that cannot be."""
    report, host = params.report, HOSTS[kind]
    base = params.text("api_base") or params.text("base_url")
    if base is None and not host.address:
        report.lose(params.path, f"{kind}: it has no api_base, so nobody knows where it is")
        return None
    variable = host.variable or f"{kind.upper().replace('-', '_')}_API_KEY"
    key, at = params.text("api_key"), params.at("api_key")
    address = host.address
    if base is not None:
        base = vault.address(base, params.at("api_base"), variable.replace("_KEY", "_BASE"))
        address = _below(base, kind, host)
    provider: JsonObject = {"dialect": host.dialect, "base_url": address}
    if key is not None and key.lower() not in ("none", "empty", "dummy", "anything"):
        provider["api_key"] = vault.secret(key, at, variable)
    elif key is None and host.variable:
        provider["api_key"] = f"${{{host.variable}}}"
        report.note(at, f"none is given: the variable {host.variable} is read")
    if address.startswith("${") and kind != "azure":
        report.note(params.at("api_base"), "it may be a private address (allow_private)")
        provider["allow_private"] = True
    elif is_here(address):
        provider["allow_private"] = True
    if headers := _headers(params, vault):
        provider["headers"] = headers
    return provider


def _below(base: str, kind: str, host: Host) -> str:
    """Return the address below which the API is that is spoken here."""
    base = base.rstrip("/")
    if kind == "azure":
        base = base.partition("/openai")[0]
    if host.dialect == "anthropic":
        return base.removesuffix("/v1/messages").removesuffix("/v1")
    base = base.removesuffix("/chat/completions")
    return base if base.endswith(host.below) and host.below else base + host.below


def is_here(address: str) -> bool:
    """Return whether *address* is a private one, or a name that only a private network knows."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    if address.startswith("${"):
        return False
    inside = "." not in host or host.endswith(_INSIDE)
    return inside or is_private(host) or is_loopback(host)


def _headers(params: Settings, vault: Vault) -> dict[str, str]:
    headers: dict[str, str] = {}
    if organization := params.text("organization"):
        headers["OpenAI-Organization"] = vault.address(
            organization, params.at("organization"), "OPENAI_ORGANIZATION"
        )
    for place in ("extra_headers", "headers"):
        for name, value in params.pairs(place).items():
            at = f"{params.at(place)}.{name}"
            if isinstance(value, str | int):
                headers[name] = _header(name, str(value), at, vault)
            else:
                params.report.lose(at, "it is no text")
    return headers


def _header(name: str, value: str, at: str, vault: Vault) -> str:
    variable = _variable_of(name)
    if not is_credential(name):
        return vault.address(value, at, variable)
    bare = value.removeprefix("Bearer ")
    return value[: len(value) - len(bare)] + vault.secret(bare, at, variable)


def _variable_of(header: str) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in header)
    return f"HEADER_{plain.upper()}"
