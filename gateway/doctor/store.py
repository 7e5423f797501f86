"""The store that replicas share: is it there, new enough, does it keep what it is given."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import anyio
from pydantic import SecretStr

from gateway.clock import loop_time, utc_now
from gateway.config.pacing import StoreConfig
from gateway.doctor.case import Case
from gateway.doctor.finding import Finding

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster

_OLDEST: Final = 7
_SKEW_S: Final = 2.0
_SLOW_MS: Final = 20.0
_PINGS: Final = 5
_TRIES: Final = 4
_FULL: Final = 0.9
_POLICY: Final = "noeviction"


async def store(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell how the store is."""
    config = case.config
    if config.store.redis is not None:
        within_s = case.within_s / _TRIES  # so that one that is mute is told of as one
        async with aclosing(_shared(config.store, config.store.redis, within_s)) as found:
            async for finding in found:
                yield finding
    elif config.server.workers > 1:
        why = "each worker has its part of every limit, and budgets are not exact"
        fix = 'store: {redis: "${LOCKGATE_REDIS_URL}"}'
        what = f"{config.server.workers} workers share no store"
        yield Finding("store", "warning", what, why, fix)
    else:
        yield Finding("store", "ok", "none, and one worker: nothing needs to be shared")


async def _shared(
    stated: StoreConfig, address: SecretStr, within_s: float
) -> AsyncGenerator[Finding, None]:
    from redis.exceptions import RedisError  # it takes long to import

    from gateway.stores.redis.store import RedisSettings, connect

    urls = address.get_secret_value().split(",")
    settings = RedisSettings(urls=urls, cluster=stated.cluster, prefix=stated.prefix)
    client = connect(settings, within_s)
    place = ", ".join(url.rpartition("@")[2].rpartition("//")[2] for url in urls)
    try:
        async with aclosing(_looked_at(client, place, stated.prefix)) as found:
            async for finding in found:
                yield finding
    except (RedisError, OSError) as error:
        why = "replicas count limits and budgets there; keys with budgets get a 503 meanwhile"
        fix = "start it, or correct store.redis"
        yield Finding("store", "error", f"{place} does not answer: {error}", why, fix)
    finally:
        with anyio.move_on_after(1, shield=True):
            await client.aclose()


async def _looked_at(
    client: Redis | RedisCluster, place: str, prefix: str
) -> AsyncGenerator[Finding, None]:
    took = []
    for _ in range(_PINGS):
        began = loop_time()
        await client.ping()
        took.append(1000 * (loop_time() - began))
    told = _first(await client.info())
    name = "Valkey" if "valkey_version" in told else "Redis"
    version = str(told.get("valkey_version") or told.get("redis_version") or "")
    yield _version(place, name, version)
    yield _policy(told)
    if (full := _fullness(told)) is not None:
        yield full
    ms = sorted(took)[_PINGS // 2]
    if ms > _SLOW_MS:
        why = "each call that is held or limited waits for it once or twice"
        yield Finding("store", "warning", f"it takes {ms:.0f} ms to answer", why, "bring it nearer")
    else:
        yield Finding("store", "ok", f"it answers in {ms:.1f} ms")
    yield await _clock(client)
    replicas = await client.zcard(f"{prefix}:replicas")
    yield Finding("store", "ok", f"{replicas} replicas are there now")


def _version(place: str, name: str, version: str) -> Finding:
    major = version.partition(".")[0]
    if major.isdecimal() and int(major) < _OLDEST:
        why = f"its scripts need version {_OLDEST} or newer"
        fix = f"move to Redis {_OLDEST} or Valkey"
        return Finding("store", "error", f"{place} is {name} {version}", why, fix)
    return Finding("store", "ok", f"{place} is {name} {version}")


def _policy(told: Mapping[str, Any]) -> Finding:
    policy, most = told.get("maxmemory_policy"), int(told.get("maxmemory") or 0)
    if policy is None:
        return Finding("store", "note", f"it does not tell whether its policy is {_POLICY}")
    if policy == _POLICY:
        return Finding("store", "ok", f"maxmemory-policy is {policy}")
    what = f"maxmemory-policy is {policy}"
    fix = f"redis-cli CONFIG SET maxmemory-policy {_POLICY}, and in its configuration"
    if not most:
        why = "harmless as long as maxmemory is 0, as it is now"
        return Finding("store", "note", what, why, fix)
    why = "windows, budgets and runs vanish when it is full, and more is spent than may be"
    return Finding("store", "error", what, why, fix)


def _fullness(told: Mapping[str, Any]) -> Finding | None:
    most, used = int(told.get("maxmemory") or 0), int(told.get("used_memory") or 0)
    if not most or used < _FULL * most:
        return None
    why = "when it is full it refuses what replicas write, and is lost to them"
    what = f"{used // 2**20} of {most // 2**20} MiB are used"
    return Finding(
        "store", "warning", what, why, "raise maxmemory, or give it an instance of its own"
    )


async def _clock(client: Redis | RedisCluster) -> Finding:
    asked = utc_now().timestamp()
    there = _first(await client.time())
    seconds, micros = there
    skew = int(seconds) + int(micros) / 1e6 - (asked + utc_now().timestamp()) / 2
    if abs(skew) > _SKEW_S:
        why = "windows go by its clock, the periods of budgets by the gateway's"
        fix = "timedatectl set-ntp true, on both machines"
        return Finding("store", "warning", f"its clock is off by {skew:+.1f} s", why, fix)
    return Finding("store", "ok", f"its clock is off by {skew:+.2f} s")


def _first(told: Any) -> Any:
    """Return what one node *told*; a cluster tells it by node."""
    if isinstance(told, dict) and told and all(":" in str(name) for name in told):
        return next(iter(told.values()))
    return told
