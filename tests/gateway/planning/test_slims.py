from __future__ import annotations

from dataclasses import replace
from random import Random

from gateway.channels.retrying import RetryPolicy
from gateway.channels.slimmed import SlimmedChannel
from gateway.channels.stack import Stack
from gateway.context.rules import OnWall, Rules
from gateway.context.slimmer import Slimmer
from gateway.metering.ledger import Ledger
from gateway.planning.plan import Plan
from gateway.planning.slims import Slims
from gateway.policy.keys import OPEN, Caller
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import NOTHING
from techniques.core.channel import Channel
from techniques.testing import ScriptedChannel
from tests.gateway.planning.scene import model

TECHNIQUE = ScriptedChannel([])


def windowed(name: str, window: int | None) -> Model:
    made = model(name)
    able = replace(made.target.capabilities, context=window)
    channel = replace(made.channel, target=replace(made.target, capabilities=able))
    return replace(made, channel=channel)


def around(caller: Caller = OPEN, *, default: OnWall = "off", window: int | None = 8000) -> Channel:
    """Return what is around the technique of a request by *caller*."""
    fast = windowed("fast", window)
    slims = Slims(Slimmer(Rules(default)), Catalogue([fast]))
    stack = Stack(RetryPolicy(), Random(1), Ledger())
    return slims.around(TECHNIQUE, Plan((fast,)), (caller, NOTHING), (stack, "fence"))


def test_nothing_is_around_a_technique_where_nothing_is_said() -> None:
    assert around() is TECHNIQUE


def test_a_key_has_the_rules_of_all_where_it_has_none_of_its_own() -> None:
    assert isinstance(around(default="truncate"), SlimmedChannel)
    assert around(Caller("k", context=Rules("off")), default="truncate") is TECHNIQUE
    assert isinstance(around(Caller("k", context=Rules("refuse"))), SlimmedChannel)


def test_a_window_that_is_not_known_has_no_wall() -> None:
    assert around(default="truncate", window=None) is TECHNIQUE
