from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import redis

from bench.pacing import rig
from bench.pacing.account import VENDORS, Terms
from gateway.config import Config
from gateway.config.pacing import LimitsConfig
from gateway.policy.keys import digest

ACCOUNTS = {f"{vendor}-1": Terms(vendor) for vendor in VENDORS}


def test_the_configuration_without_pacing_is_one() -> None:
    made = rig.configuration(8080, ACCOUNTS, ["key-1"], rig.Wired(9000, 6.0))

    config = Config.model_validate(made)

    assert [model.name for model in config.models] == list(ACCOUNTS)
    assert config.pacing.mode == "off"
    assert config.keys[0].hash == digest("bench-secret", "key-1")


def test_a_gateway_that_paces_is_told_how_long_a_minute_takes_here_and_no_limit() -> None:
    made = rig.configuration(8080, ACCOUNTS, [], rig.Wired(9000, 6.0, store=6379))

    config = Config.model_validate(made)

    assert {row.limits for row in config.providers.values()} == {LimitsConfig(minute_s=10.0)}
    assert [row.vendor for row in config.providers.values()] == list(VENDORS)
    assert config.pacing.mode == "on"
    assert config.store.redis is not None


def test_the_store_is_a_real_one(tmp_path: Path) -> None:
    with ExitStack() as stack:
        store = rig.start_store((tmp_path, stack))
        client = redis.Redis(port=store.port)
        stack.callback(client.close)

        assert client.ping()
