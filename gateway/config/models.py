"""What a configuration says of one model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from gateway.config.llama_cpp import LocalPowerConfig
from gateway.config.pacing import LimitsConfig
from gateway.config.thinking import Style, ThinkingConfig
from gateway.config.values import Seconds
from pricing.rates import PriceRecord
from router_service.groundwork.section import Section
from techniques.core.capabilities import Prefill

HostedTools = Literal["refuse", "drop"]


class PriceConfig(PriceRecord):
    """US dollars per million tokens; ``per_request`` and ``image`` each.

    ``tiers`` are the rates of calls whose input is over so many tokens, ``modes`` those of calls
    that the provider says it served so.
    """


class CapabilityConfig(Section):
    """What a model can do; see ``techniques.core.capabilities``.

    ``reasoning`` stands for a model that takes no temperature and wants
    ``max_completion_tokens``. ``prefill`` is how it takes the beginning of its own answer.
    ``embeddings``: it makes embeddings and answers no conversation, or with false makes none;
    absent, its provider says so. ``base64`` false: it writes them as lists of numbers alone.
    """

    tools: bool = True
    vision: bool = True
    json_schema: bool = True
    logprobs: bool = True
    seed: bool = True
    temperature: bool = True
    max_completion_tokens: bool | None = None
    developer_role: bool = True
    many_systems: bool = True
    stream_usage: bool = True
    n: bool = True
    context: int | None = Field(None, gt=0)
    reasoning: bool = False
    prefill: Prefill = "none"
    embeddings: bool | None = None
    base64: bool = True


class BatchConfig(Section):
    """What one call for embeddings may have at most; a request with more becomes several calls."""

    inputs: int = Field(2048, gt=0)
    tokens: int = Field(300_000, gt=0)


class ModelConfig(Section):
    """A model that callers can name. A name ending in ``*`` serves every name that begins so.

    ``model`` is the provider's own name, the same if absent; it may end in ``*`` where the name
    does: ``{name: openai/*, model: "*"}`` asks for ``gpt-4o`` if ``openai/gpt-4o`` is asked for.
    ``thinking`` is what is asked for when
    the caller says nothing of it, ``thinking_style`` how its backend takes that (inferred if
    absent). ``local_power`` says what it costs where it runs on a machine of one's own, instead of
    ``price``. ``think_tags: split`` takes reasoning between ``<think>`` tags out of the text of
    relayed answers too. A call that has not begun after ``hedge_after_s`` is sent a second time.
    ``accounts`` are further providers that serve the same model: a call goes to the one that can
    take it soonest. ``limits`` are this model's own, beside those of its account. ``max_output`` is
    how many tokens it writes at most. ``stronger`` is the model that knows more and costs more, for
    routers and cascades. ``batch`` is what a call for embeddings may have.
    ``hosted_tools`` is what is done with tools that only another provider has, as its provider's.
    """

    name: str = Field(min_length=1)
    provider: str
    accounts: tuple[str, ...] = ()
    model: str | None = None
    fallbacks: tuple[str, ...] = ()
    thinking: ThinkingConfig | None = None
    thinking_style: Style | None = None
    think_tags: Literal["keep", "split"] = "keep"
    price: PriceConfig | None = None
    local_power: LocalPowerConfig | None = None
    capabilities: CapabilityConfig = CapabilityConfig()
    hedge_after_s: Seconds | None = Field(None, gt=0)
    limits: LimitsConfig = LimitsConfig()
    max_output: int | None = Field(None, gt=0)
    stronger: str | None = None
    batch: BatchConfig = BatchConfig()
    hosted_tools: HostedTools | None = None

    @model_validator(mode="after")
    def _many_are_many(self) -> ModelConfig:
        _, star, rest = (self.model or "").partition("*")
        if star and (rest or not self.name.endswith("*")):
            raise ValueError(
                f"the model {self.model!r} can have a * at its end, and only if its name has one"
            )
        return self

    @model_validator(mode="after")
    def _one_price(self) -> ModelConfig:
        if self.price is not None and self.local_power is not None:
            raise ValueError("give either price or local_power")
        return self
