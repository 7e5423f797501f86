"""Which way leads out: by the proxy of the configuration, or straight. One rule for all that goes.

Straight are this machine, private addresses that are written as numbers, names without a dot (they
are of one's own network), and what the operator names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from gateway.config import UpstreamConfig
from gateway.upstream.addresses import is_private
from router_service.groundwork.nearby import is_loopback


@dataclass(frozen=True, slots=True)
class Ways:
    """The URL of a *proxy*, None: there is none; and *near*, what is reached without it."""

    proxy: str | None = None
    near: tuple[str, ...] = ()

    def to(self, address: str) -> str | None:
        """Return the proxy by which *address*, a URL, is reached; None: straight."""
        host = (urlsplit(address).hostname or "").lower()
        return None if self.proxy is None or is_near(host, self.near) else self.proxy


STRAIGHT = Ways()


def ways_of(stated: UpstreamConfig) -> Ways:
    """Return the ways that a configuration has."""
    proxy = None if stated.proxy is None else stated.proxy.get_secret_value()
    return Ways(proxy, stated.no_proxy)


def is_near(host: str, named: Iterable[str]) -> bool:
    """Return whether *host* is reached without a proxy; *named* are names, addresses and networks.

    A name stands for what is below it, too.
    """
    if is_loopback(host) or is_private(host) or not set(host) & set(".:"):
        return True
    return any(_is_of(host, one.lower().removeprefix("*").strip(".")) for one in named)


def _is_of(host: str, one: str) -> bool:
    try:
        return ip_address(host) in ip_network(one, strict=False)
    except ValueError:
        return host == one or host.endswith(f".{one}")
