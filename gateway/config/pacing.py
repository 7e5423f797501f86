"""What a configuration says of rate limits: an account's own, and how calls are paced by them."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from gateway.config.values import Seconds, worded
from router_service.groundwork.section import Section

VendorName = Literal[
    "auto",
    "openai",
    "azure",
    "groq",
    "anthropic",
    "mistral",
    "together",
    "fireworks",
    "openrouter",
    "gemini",
    "cerebras",
    "deepseek",
    "cohere",
    "perplexity",
    "xai",
    "generic",
]
"""Whose rate-limit headers an account sends; ``auto``: by its address, else by their names."""


class LimitsConfig(Section):
    """Stated rate limits: requests, tokens, input and output tokens a minute, the first two a day.

    ``concurrency`` is calls in flight. ``minute_s`` is how long the provider's minute is, for
    providers that are not real; everything else keeps true time.
    """

    rpm: int | None = Field(None, gt=0)
    tpm: int | None = Field(None, gt=0)
    itpm: int | None = Field(None, gt=0)
    otpm: int | None = Field(None, gt=0)
    rpd: int | None = Field(None, gt=0)
    tpd: int | None = Field(None, gt=0)
    concurrency: int | None = Field(None, gt=0)
    minute_s: Seconds = Field(60.0, gt=0)


class PatienceConfig(Section):
    """How long a call is held at most before it is refused: a streamed one, and any other.

    The SDKs give up after a minute or more without an answer that is not streamed.
    """

    stream_s: Seconds = Field(300.0, ge=0)
    json_s: Seconds = Field(55.0, ge=0)


class QueueConfig(Section):
    """How many calls wait for one account at most, and how many of one key."""

    depth: int = Field(5000, ge=1)
    depth_per_key: int = Field(100, ge=1)


class PacingConfig(Section):
    """Whether calls are held before the rate limit of their account would refuse them.

    ``observe`` computes and counts it all, and holds nothing. A call moves to another account or
    fallback that can take it sooner if its own would hold it for more than ``move_after_s``.
    """

    mode: Annotated[Literal["on", "observe", "off"], BeforeValidator(worded)] = "on"
    predictor: Literal["conformal", "legacy"] = "conformal"
    patience: PatienceConfig = PatienceConfig()
    queue: QueueConfig = QueueConfig()
    move_after_s: Seconds = Field(2.0, ge=0)


class LossConfig(Section):
    """What becomes of each function while the shared store is gone.

    ``closed``: what needs it is refused with 503. ``local``: each replica goes on by itself, with
    its share of what was last known.
    """

    budgets: Literal["closed", "local"] = "closed"
    windows: Literal["local", "closed"] = "local"
    reuse: Literal["skip"] = "skip"


_STORES: Final = ("redis", "rediss", "unix")


class StoreConfig(Section):
    """What replicas share: a Redis or Valkey (7 or newer). Without ``redis`` each is by itself.

    ``redis`` is an address such as ``redis://host:6379/0``; of a cluster, of any of its nodes.
    ``prefix`` begins all keys: gateways that share limits and budgets have the same.
    """

    redis: SecretStr | None = None
    cluster: bool = False
    prefix: str = Field("lockgate", pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    on_loss: LossConfig = LossConfig()

    @field_validator("redis")
    @classmethod
    def _reachable(cls, value: SecretStr | None) -> SecretStr | None:
        urls = value.get_secret_value().split(",") if value is not None else ()
        if not all(_is_address(url) for url in urls):
            raise ValueError("write redis://HOST:PORT/0, or rediss:// for TLS")
        return value


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in _STORES and bool(parts.port or parts.hostname or parts.path)
    except ValueError:
        return False
