"""What the page on prices shows can be used as it stands."""

from __future__ import annotations

import json
from pathlib import Path

from gateway.config import load
from gateway.policy.prices import prices_of
from pricing.files import read
from tests.docs.documents import blocks

CONFIGURATION, OWN = blocks("docs/pricing.md", "yaml")


def test_the_configuration_and_the_rows_that_it_shows_work(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(CONFIGURATION)
    (tmp_path / "prices.yaml").write_text(OWN)
    rates = {"input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06}
    map_of_one = {"m": {"litellm_provider": "openai", **rates}}
    (tmp_path / "litellm.json").write_text(json.dumps(map_of_one))

    config = load(file)
    prices = prices_of(config)
    found = {
        row.name: prices.of(row, config.providers[row.provider], row.model or row.name)
        for row in config.models
    }

    assert len(read(tmp_path / "prices.yaml").table.rows) == 3
    names = {name: price.name for name, price in found.items() if price}
    assert names == {"fast": "prices:openai/gpt-4o-mini", "long": "operator:long"}
    assert found["long"] is not None
    assert [over for over, _ in found["long"].tiers] == [200_000]
    assert found["long"].served("flex") is not None
