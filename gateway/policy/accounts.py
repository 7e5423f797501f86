"""From what the configuration says of an account's limits to the account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gateway.admission.limits import vendor_of
from gateway.admission.reading import Dimension
from gateway.config import ModelConfig, ProviderConfig
from gateway.config.pacing import LimitsConfig
from gateway.stores.ledger import WindowSpec
from gateway.stores.readings import window
from gateway.upstream.account import Account

_DAY_S: Final = 86_400
_STATED: Final[tuple[tuple[str, Dimension, int], ...]] = (
    ("rpm", "requests", 60),
    ("tpm", "tokens", 60),
    ("itpm", "input_tokens", 60),
    ("otpm", "output_tokens", 60),
    ("rpd", "requests", _DAY_S),
    ("tpd", "tokens", _DAY_S),
)


def account_of(
    name: str, row: ProviderConfig, models: Sequence[ModelConfig], breaker: int = 5
) -> Account:
    """Return the account *name*, of which *row* tells, and which serves *models*.

    A model of it that fails *breaker* times in a row is down.
    """
    simulated = row.simulated
    vendor = simulated.vendor if simulated is not None and row.vendor == "auto" else row.vendor
    return Account(
        name,
        vendor_of(vendor, row.base_url, row.dialect),
        stated_windows(row, models),
        minute_s=row.limits.minute_s,
        single=is_single(models),
        breaker=breaker,
    )


def is_single(models: Sequence[ModelConfig]) -> bool:
    """Tell whether *models* are one at their provider, whatever it is called here."""
    several = any(model.name.endswith("*") for model in models)
    return not several and len({model.model or model.name for model in models}) == 1


def stated_windows(row: ProviderConfig, models: Sequence[ModelConfig]) -> list[WindowSpec]:
    """Return the windows that are stated of the account *row*, and of its *models*."""
    declared = [*_windows(row.limits, "*", row.limits.minute_s)]
    for model in models:
        declared += _windows(model.limits, model.model or model.name, row.limits.minute_s)
    return declared


def _windows(limits: LimitsConfig, model: str, minute_s: float) -> Iterator[WindowSpec]:
    for setting, dimension, period_s in _STATED:
        cap = getattr(limits, setting)
        if cap is not None:
            period_ms = round(1000 * period_s * minute_s / 60)
            yield WindowSpec(window(model, dimension, period_s), "bucket", cap, period_ms)
    if limits.concurrency is not None:
        yield WindowSpec(window(model, "concurrency", None), "gauge", limits.concurrency)


def served(name: str, models: Iterable[ModelConfig]) -> list[ModelConfig]:
    """Return those of *models* that the account *name* serves."""
    return [model for model in models if name in (model.provider, *model.accounts)]


def elsewhere(row: ModelConfig) -> list[ModelConfig]:
    """Return *row* as it is served at each of its further accounts."""
    return [row.model_copy(update={"provider": name, "accounts": ()}) for name in row.accounts]
