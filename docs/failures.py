"""What can fail, and how a client is told of it: the rows of the table in docs/errors.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.records import NotThere, Taken
from gateway.stores.ledger import StoreLost
from gateway.surfaces.asked import refusal
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Dialect
from gateway.wire.openai_chat import OpenAIChat
from techniques.core.errors import (
    BudgetExhausted,
    CapReached,
    DeadlinePassed,
    Denied,
    FailureKind,
    GatewayError,
    HeldBack,
    KeyLimited,
    NotLearnt,
    OverLimit,
    RequestRejected,
    RunBusy,
    RunConflict,
    RunSuspended,
    Said,
    TechniqueFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownCoding,
    UnknownModel,
    UpstreamFailed,
)


def _upstream(kind: FailureKind, status: int | None = None) -> GatewayError:
    again = kind in ("transport", "timeout", "rate_limited", "overloaded", "server")
    return UpstreamFailed("", kind, retryable=again, said=Said(status))


def _rejected(code: str) -> GatewayError:
    return RequestRejected("", code=code)


ERRORS: Final[Sequence[tuple[str, GatewayError]]] = (
    ("The request cannot be read, or is wrong", RequestRejected("")),
    ("A field has a wrong value", _rejected("invalid_value")),
    ("A field is missing", _rejected("missing_required_parameter")),
    ("The response to go on with is not kept", _rejected("previous_response_not_found")),
    ("... or has not ended yet", _rejected("previous_response_not_ended")),
    ("The item that is referred to is not kept", _rejected("item_not_found")),
    ("There is no wish of this name", _rejected("unknown_wish")),
    ("A wish has a wrong value", _rejected("invalid_wish")),
    ("There is no such technique", _rejected("unknown_technique")),
    ("A technique where there is no conversation", _rejected("technique_unsupported")),
    ("The model does not serve this path", _rejected("unsupported_endpoint")),
    ("The technique has no such option, or not with this value", _rejected("invalid_option")),
    ("... or it cannot keep what the request has (`strict`)", _rejected("technique_masked")),
    ("`auto` and `strict`, and nothing learnt of these models", NotLearnt("")),
    ("A cap on money, and a model without a price", _rejected("price_unknown")),
    ("A feature that the model does not have", _rejected("unsupported_feature")),
    ("A tool that only another provider has", _rejected("unsupported_tool")),
    ("A feature that the provider's API does not have", _rejected("unsupported_parameter")),
    ("No key", Unauthenticated("", code="missing_api_key")),
    ("A wrong key", Unauthenticated("")),
    ("A key that has expired", Unauthenticated("", code="api_key_expired")),
    ("The key may not use this model or technique", Denied("")),
    ("There is no such model", UnknownModel("")),
    ("The deadline has passed", DeadlinePassed("")),
    ("The body is too large", TooLarge("")),
    ("The body is packed otherwise than by gzip, deflate or zstd", UnknownCoding("")),
    ("A cap on calls or money leaves no call to make", CapReached("")),
    ("The budget of the key or its team leaves too little", BudgetExhausted("")),
    ("... or what it leaves is held by calls under way", KeyLimited("", code="budget_held")),
    ("The key's own limit on requests, tokens or calls at once", KeyLimited("", retry_after=3)),
    (
        "... or the quota of a tool that the model calls",
        KeyLimited("", code="tool_quota_exhausted", retry_after=3),
    ),
    ("More than a rate limit ever lets through", OverLimit("")),
    ("A rate limit, for longer than the call may be held", HeldBack("", retry_after=3)),
    ("... for longer than a minute", HeldBack("", retry_after=300)),
    ("... and too many wait already", HeldBack("", code="queue_full")),
    ("... and the run is put away, to go on later", RunSuspended("", "", retry_after=300)),
    ("The run was begun with another request", RunConflict("", code="run_mismatch")),
    ("... or what is to be done for it has changed", RunConflict("", code="config_changed")),
    ("... or it asks otherwise than it did", RunConflict("", code="journal_divergence")),
    ("... or a call of it may have been paid for", RunConflict("", code="step_ambiguous")),
    ("... and who was asked says that it is not made again", RunConflict("", code="step_rejected")),
    ("... or it was cancelled", RunConflict("", code="run_cancelled")),
    ("The run is at work on another replica", RunBusy("")),
    ("There is no such run", UnknownModel("", code="run_not_found")),
    ("... or no such session", UnknownModel("", code="session_not_found")),
    ("... or no such request that a router chose for", UnknownModel("", code="request_not_found")),
    ("There is no such response, or none is kept", UnknownModel("", code="response_not_found")),
    ("A run of that name is there already", RunConflict("", code="run_exists")),
    ("What is brought in is no run, or has changed", RequestRejected("", code="invalid_bundle")),
    ("The technique failed, and `on-error` is `raise`", TechniqueFailed("")),
    ("... as none of its draws was usable", TechniqueFailed("", code="no_usable_answer")),
    ("... as none kept the form asked for", TechniqueFailed("", code="invalid_answer")),
    ("The provider calls the request wrong", _upstream("rejected", 400)),
    ("... or has no model of that name (any more)", _upstream("unknown_model", 404)),
    ("The prompt is too long for the model", _upstream("context_overflow", 400)),
    ("... or is known to be, before it is asked", _rejected("context_length_exceeded")),
    ("The provider's rate limit", _upstream("rate_limited", 429)),
    ("The provider account's quota is used up", _upstream("quota", 429)),
    ("The provider is overloaded", _upstream("overloaded", 529)),
    ("The provider failed", _upstream("server", 500)),
    ("The provider cannot be reached, or the connection broke", _upstream("transport")),
    ("The provider did not answer in time", _upstream("timeout")),
    ("The provider's answer cannot be read", _upstream("invalid_answer", 200)),
    ("The provider refused the gateway's own key", _upstream("authentication", 401)),
    ("The gateway is stopping", Unavailable("")),
    ("... or a router far away does not answer", Unavailable("", code="router_lost")),
    ("The store of limits and budgets is lost", Unavailable("", code="store_lost")),
    ("... or the database, and what a budget has spent", Unavailable("", code="database_lost")),
    (
        "The journal of runs is lost, and nothing may be made again unasked",
        Unavailable("", code="journal_lost"),
    ),
    ("... or has it encrypted with another key", Unavailable("", code="journal_sealed")),
    ("What is kept of responses cannot be read now", Unavailable("", code="responses_lost")),
    ("... or is encrypted with another key", Unavailable("", code="response_sealed")),
    ("A bug in the gateway", GatewayError("", code="internal_error")),
)

ASKED_HEAD: Final = ("what happened", "status", "its `code`")
ASKED: Final[Sequence[tuple[str, Exception]]] = (
    ("A field is wrong, unknown or missing", RequestRejected("")),
    ("The question is to nobody who is known, or has no such option", _rejected("invalid_value")),
    ("A key decides, or a person asks", Denied("")),
    ("You have no such question, there is no such person, or nobody at all", NotThere()),
    ("The question has ended already", Taken()),
    ("1,000 questions of the key or team are open", KeyLimited("")),
    ("The tool's quota is used up", KeyLimited("", code="tool_quota_exhausted", retry_after=3)),
    ("The database is lost", DatabaseLost()),
    ("... or the shared store", StoreLost()),
)
"""What ``/v1/tools``, ``/v1/approvals`` and ``/v1/attention`` refuse, beside what keys are."""


def rows() -> Iterator[Sequence[str]]:
    """Yield for each failure what happened, then status and name in either dialect."""
    for meaning, error in ERRORS:
        chat = _told(OpenAIChat(), error, "code")
        yield (meaning, *chat, *_told(AnthropicMessages(), error, "type"))


def asked_rows() -> Iterator[Sequence[str]]:
    """Yield for each failure of what agents and people ask what happened, status and code."""
    for meaning, error in ASKED:
        told = refusal(error)
        yield (meaning, str(told.status_code), f"`{orjson.loads(told.body)['error']['code']}`")


def _told(dialect: Dialect, error: GatewayError, field: str) -> tuple[str, str]:
    failure = dialect.failure(error)
    again = failure.headers.get("x-should-retry")
    words = orjson.loads(failure.body)["error"][field]
    return f"{failure.status}{', do not retry' if again == 'false' else ''}", f"`{words}`"
