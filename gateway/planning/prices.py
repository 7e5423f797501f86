"""A limit in money holds only over models whose prices are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.policy.models import Model
from techniques.core.errors import RequestRejected


def must_be_priced(
    answering: Sequence[Model],
    judge: Model | None = None,
    critic: Model | None = None,
    *,
    at: Callable[[str], str],
) -> None:
    """Look at the prices of all models that a call may ask; *at* tells where a wish was said.

    Raises:
        RequestRejected: One of them is not known; it names the model, and its part if that is
            not to answer.
    """
    for model in answering:
        _check(model, "", "model")
    for role, second in (("judge", judge), ("critic", critic)):
        if second is not None:
            _check(second, f", the {role},", at(role))


def is_firm(model: Model) -> bool:
    """Return whether limits in money may rely on what *model* costs."""
    return model.price is not None and model.price.firm


def _check(model: Model, part: str, param: str) -> None:
    if not is_firm(model):
        known = "only guessed" if model.price else "not known"
        raise RequestRejected(
            f"The price of {model.target.shown}{part} is {known}, "
            "and this call has a limit in money.",
            code="price_unknown",
            param=param,
        )
