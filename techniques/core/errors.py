"""What can go wrong, by who has to act.

* GatewayError
  - RequestRejected      the caller: the request cannot be served as it is
    + UnknownModel       ... there is no such model
    + TooLarge           ... its body is larger than the gateway takes
    + UnknownCoding      ... its body is packed in a way that the gateway does not unpack
    + CapReached         ... a cap that the caller set leaves no call to make
      - BudgetExhausted  ... the budget of its key or team leaves none
    + OverLimit          ... it alone is more than a rate limit can ever let through
    + NotLearnt          ... it is strict, and the router has learnt nothing of just these models
  - Denied               the caller: not allowed
    + Unauthenticated    ... no key, or a wrong one
  - RunConflict          the caller: its run cannot go on so; asking again is no help
  - RunBusy              the caller: its run is at work elsewhere; later it has an answer
  - KeyLimited           the caller: its key makes more calls than it may; later it can
  - DeadlinePassed       the caller: the time that was given is over
  - Unavailable          the operator: this gateway cannot take the call now
  - UpstreamFailed       the provider; ``kind``, ``retryable`` and ``retry_after`` say what to do
    + StreamBroken       ... after part of the answer had been sent
    + HeldBack           ... it was not asked: its rate limit would refuse the call
      - RunSuspended     ... and the run goes on where it stands when it is asked for again
  - TechniqueFailed      the technique: no acceptable answer within its budget

A bug is none of these: it stays the built-in exception that it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pricing.usage import Usage


class GatewayError(Exception):
    """Base of every failure that the product expects.

    Attributes:
        message: What happened, for people; without secrets.
        code: A stable snake_case name of it, for programs.
        param: The parameter or header it is about, if it is about one.
    """

    default_code = "error"

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.param = param


class RequestRejected(GatewayError):
    """The request cannot be served as it is."""

    default_code = "invalid_request"


class UnknownModel(RequestRejected):
    """There is no model of that name.

    Attributes:
        name: The name, as it was asked for; empty if it is not told.
    """

    default_code = "model_not_found"

    def __init__(
        self, message: str, *, code: str | None = None, param: str | None = None, name: str = ""
    ) -> None:
        super().__init__(message, code=code, param=param)
        self.name = name


class TooLarge(RequestRejected):
    """The body is larger than the gateway takes."""

    default_code = "request_too_large"


class UnknownCoding(RequestRejected):
    """The body is packed in a way that the gateway does not unpack."""

    default_code = "unsupported_content_encoding"


class CapReached(RequestRejected):
    """A cap on calls or money that the caller set leaves no call to make."""

    default_code = "cap_reached"


class BudgetExhausted(CapReached):
    """The budget of the caller's key, or of its team, leaves no call to make.

    Attributes:
        retry_after: Seconds until its next period begins, None if there is none.
    """

    default_code = "budget_exhausted"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OverLimit(RequestRejected):
    """The request alone is more than a rate limit can ever let through: waiting is no help."""

    default_code = "request_over_limit"


class NotLearnt(RequestRejected):
    """The request is strict, and nothing was learnt of the models that there are."""

    default_code = "no_exact_profile"


class Denied(GatewayError):
    """The caller may not do this, or not any more."""

    default_code = "permission_denied"


class Unauthenticated(Denied):
    """No key, or a wrong one."""

    default_code = "invalid_api_key"


class RunConflict(GatewayError):
    """The run cannot go on as it is asked to: it is about something else, or has changed."""

    default_code = "run_conflict"


class RunBusy(GatewayError):
    """The run is at work elsewhere, and its answer is not there yet.

    Attributes:
        retry_after: Seconds after which it is worth asking again.
    """

    default_code = "run_executing"

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class KeyLimited(GatewayError):
    """The caller's key makes more calls than it may.

    Attributes:
        retry_after: Seconds until it may make the next one, None if that is not known.
    """

    default_code = "key_rate_limited"

    def __init__(
        self, message: str, *, retry_after: float | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class DeadlinePassed(GatewayError):
    """The time that the caller gave is over."""

    default_code = "deadline_passed"


class Unavailable(GatewayError):
    """This gateway cannot take the call now: it is stopping, or has lost what it needs for it."""

    default_code = "unavailable"


FailureKind = Literal[
    "transport",
    "timeout",
    "rate_limited",
    "overloaded",
    "server",
    "invalid_answer",
    "rejected",
    "unknown_model",
    "authentication",
    "quota",
    "context_overflow",
]
"""What sort of failure of a provider. ``rate_limited`` and ``overloaded`` (503, 529) ask for less
traffic; ``quota``: the account is used up, waiting does not help; ``rejected``: the provider calls
the request wrong; ``unknown_model``: it has no model of the name that it was asked for, or has none
for this account; ``authentication``: it does not take the gateway's own key."""


@dataclass(frozen=True, slots=True)
class Said:
    """The provider's own words: its HTTP status and the error in its body, as far as it gave one.

    ``message`` is short plain text, never a document. ``usage`` are tokens that the provider
    counted although it failed.
    """

    status: int | None = None
    message: str = ""
    type: str | None = None
    code: str | None = None
    param: str | None = None
    usage: Usage | None = None


class UpstreamFailed(GatewayError):
    """A provider did not answer as asked.

    Attributes:
        kind: What sort of failure it was.
        retryable: Whether the same call may work later or elsewhere.
        retry_after: Seconds the provider asked us to wait, if it said.
        said: The provider's own words.
        provider: The name that it has in the configuration, "" until the call is recorded.
    """

    default_code = "upstream_failed"
    provider = ""

    def __init__(
        self,
        message: str,
        kind: FailureKind = "server",
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        said: Said | None = None,
    ) -> None:
        said = said or Said()
        super().__init__(message, code=said.code, param=said.param)
        self.kind: FailureKind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.said = said


class StreamBroken(UpstreamFailed):
    """The stream ended, or reported a failure, before the model finished."""

    default_code = "stream_broken"

    def __init__(
        self, message: str, kind: FailureKind = "transport", *, said: Said | None = None
    ) -> None:
        super().__init__(message, kind, retryable=True, said=said)


class HeldBack(UpstreamFailed):
    """The call was not made: the account's rate limit would refuse it.

    ``retry_after`` is the seconds until it would be let through, None if that is not known.
    """

    default_code = "rate_limited_upstream"

    def __init__(
        self, message: str, *, retry_after: float | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, "rate_limited", retry_after=retry_after)
        self.code = code or self.default_code


class RunSuspended(HeldBack):
    """The run is put away at a rate limit; who sends the request again has it go on.

    Attributes:
        run: Its name.
    """

    default_code = "run_suspended"

    def __init__(self, message: str, run: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.run = run


class TechniqueFailed(GatewayError):
    """No acceptable answer within the technique's budget."""

    default_code = "technique_failed"
