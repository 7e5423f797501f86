from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.limits.delays import delay_in, retry_after
from gateway.upstream.redact import redact
from tests.gateway.upstream.openai_chat_bytes import OPENAI

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC).timestamp()
KEY = "sk-proj-Ab12Cd34Ef56Gh78"


def failed(status: int, body: Any, **headers: str) -> Any:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return OPENAI.failure(status, named, raw)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "rejected", False),
        (401, "authentication", False),
        (402, "quota", False),
        (403, "rejected", False),
        (404, "rejected", False),
        (408, "timeout", True),
        (409, "server", True),
        (413, "rejected", False),
        (422, "rejected", False),
        (429, "rate_limited", True),
        (500, "server", True),
        (502, "server", True),
        (503, "overloaded", True),
        (504, "timeout", True),
        (520, "server", True),
        (522, "server", True),
        (524, "timeout", True),
        (529, "overloaded", True),
        *((status, "server", True) for status in (201, 204, 301, 302, 304, 307)),
    ],
)
def test_each_status_has_its_kind_ret_04(status: int, kind: str, *, retryable: bool) -> None:
    error = failed(status, {"error": {"message": "x", "type": "t", "code": None}})

    assert (error.kind, error.retryable, error.said.status) == (kind, retryable, status)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"message": "The model `m-1` does not exist or you do not have access to it."}),
        (404, {"message": "x", "code": "model_not_found"}),
        (403, {"message": "Project `p` has no access to it.", "code": "model_not_found"}),
        (404, {"message": 'model "m:7b" not found, try pulling it first'}),
        (404, {"message": "models/m-1 is not found for API version v1main"}),
        (404, {"message": "The model 'm-1' has been deprecated, learn more here"}),
        (400, {"message": "The model `m-1` is gone.", "code": "model_decommissioned"}),
        (404, {"message": "It does not exist.", "code": "DeploymentNotFound"}),
        (404, {"message": "No endpoints found for acme/m-1.", "code": 404}),
        (400, {"message": "acme/m-1 is not a valid model ID", "code": 400}),
        (400, {"message": "Invalid model: m-1", "type": "invalid_model", "code": "1500"}),
        (400, {"message": "Model Not Exist", "type": "invalid_request_error"}),
        (404, {"message": "Unable to access model m-1. Please visit us"}),
    ],
)
def test_a_provider_that_has_no_such_model_says_so(status: int, error: Any) -> None:
    told = failed(status, {"error": error})

    assert (told.kind, told.retryable, told.said.status) == ("unknown_model", False, status)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"message": "Previous response with id 'resp_1' not found."}),
        (400, {"message": "x", "code": "previous_response_not_found"}),
        (404, {"message": "Item with id 'rs_1' not found. Items are not kept.", "param": "input"}),
        (404, {"message": "No such File object: file-1"}),
        (404, {"message": "Vector store with id [vs_1] not found."}),
        (404, {"message": "No endpoints found that support tool use."}),
        (400, {"message": "The model `m-1` does not support images."}),
        (400, {"message": "Tool choice 'f' not found in 'tools'; the model may not call it."}),
        (404, {"message": "Not Found"}),
    ],
)
def test_what_the_client_named_and_is_not_there_is_its_own_mistake(status: int, error: Any) -> None:
    assert failed(status, {"error": error}).kind == "rejected"


@pytest.mark.parametrize("medium", ["image", "audio"])
def test_a_picture_for_a_model_that_sees_none_is_the_clients_mistake_whatever_the_status(
    medium: str,
) -> None:
    words = f"{medium} input is not supported - hint: you may need to provide the mmproj"
    error = failed(500, {"error": {"code": 500, "message": words, "type": "server_error"}})

    assert (error.kind, error.retryable, error.message) == ("rejected", False, words)
    assert error.said.type is None


@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached"])
def test_a_used_up_account_is_not_a_rate_limit_ret_01(code: str) -> None:
    error = failed(429, {"error": {"message": "quota used up", "type": code, "code": code}})

    assert (error.kind, error.retryable, error.code) == ("quota", False, code)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Rate limit reached on tokens per min (TPM): Limit 0, Used 0, Requested 12.", "quota"),
        ("Quota exceeded for metric: requests, limit: 0, model: gemini-x", "quota"),
        ("Your team has used all available credits", "quota"),
        ("It has reached its monthly spending limit.", "quota"),
        ("Rate limit reached: Limit 0.5, Used 0.5. Please try again in 2s.", "rate_limited"),
        ("Rate limit reached: Limit 10, Used 10. Please try again in 2s.", "rate_limited"),
        ("Quota exceeded for metric: requests, limit: 05", "rate_limited"),
    ],
)
def test_a_limit_of_nothing_is_none_that_one_waits_for(said: str, kind: str) -> None:
    error = failed(429, {"error": {"message": said, "type": "requests"}})

    assert (error.kind, error.retryable) == (kind, kind == "rate_limited")


@pytest.mark.parametrize(
    "error",
    [
        {"message": "maximum context length is 10", "code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 4096 tokens."},
        {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
        {"message": "prompt too long; exceeded max context length by 9 tokens"},
        {"message": "the request exceeds the available context size, try increasing it"},
        {
            "message": "The total length of all messages is too long.",
            "type": "too_many_prompt_tokens",
        },
        {"message": "The input token count (2000000) exceeds the maximum number of tokens allowed"},
        {"message": "Please reduce the length of the messages or completion."},
    ],
)
def test_a_request_beyond_the_context_is_told_by_its_words_ret_03(error: dict[str, str]) -> None:
    failure = failed(400, {"error": error})

    assert (failure.kind, failure.retryable) == ("context_overflow", False)
    assert failure.message == error["message"]


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": {"message": "a", "code": "c"}}, "a", "c"),
        ({"message": "a"}, "a", None),
        ({"detail": "a"}, "a", None),
        ({"detail": [{"loc": ["body"], "msg": "bad"}]}, '[{"loc":["body"],"msg":"bad"}]', None),
        ({"object": "error", "message": "a", "type": "t", "code": 400}, "a", None),
        ({"code": "invalid-argument", "error": "a"}, "a", "invalid-argument"),
        ({"error": ["a", "b"]}, "a", None),
        ([{"error": {"message": "a", "code": 400, "status": "INVALID"}}], "a", None),
        ({"errors": [{"message": "a", "code": 7003}]}, "a", None),
        (
            {
                "error": {
                    "message": "Host failed",
                    "metadata": {"raw": '{"error":{"message":"busy"}}'},
                }
            },
            "Host failed: busy",
            None,
        ),
        (b"plain words", "plain words", None),
    ],
)
def test_the_words_are_found_in_every_form_of_body(body: Any, message: str, code: str) -> None:
    said = failed(422, body).said

    assert (said.message, said.code) == (message, code)


@pytest.mark.parametrize("body", [b"<html><h1>Bad</h1></html>", b"", b"x" * 100_000, b"[[[["])
def test_a_document_is_no_message_ret_05(body: bytes) -> None:
    error = failed(502, body)

    assert error.message in {"HTTP 502 from the provider.", "[[[["}


def test_a_wrong_key_is_told_apart_also_where_the_host_says_400() -> None:
    body = {"code": "invalid-argument", "error": "Incorrect API key provided."}

    assert failed(400, body).kind == "authentication"


def test_no_key_is_repeated_sec_05() -> None:
    error = failed(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}})

    assert KEY not in error.message + repr(error.said)


@given(status=st.integers(300, 599), body=st.binary(max_size=200), value=st.text(max_size=20))
def test_no_answer_makes_it_raise(status: int, body: bytes, value: str) -> None:
    error = OPENAI.failure(status, {"retry-after": value, "retry-after-ms": value}, body)

    assert error.retry_after is None or error.retry_after >= 0
    assert len(error.message) <= 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "code", "metadata", "raw"]), inner)
    ),
    max_leaves=8,
)


@given(body=JSON)
def test_no_json_makes_it_raise(body: Any) -> None:
    assert failed(500, {"error": body}).retryable in {True, False}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "0", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "0"}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, 30.0),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_the_wait_is_read_from_the_body_where_no_header_has_it() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}

    assert failed(429, body).retry_after == 34.0
    assert failed(429, body, retry_after="2").retry_after == 2.0
    assert delay_in("Please retry in 48.9s.") == 48.9


@pytest.mark.parametrize(
    "secret", [KEY, "gsk_abcdEFGH1234", "Bearer abc.def", "AIzaSyA1234567890abcd", "a1" * 20]
)
def test_what_looks_like_a_key_is_masked(secret: str) -> None:
    assert redact(f"wrong key {secret}, sorry") in {
        "wrong key ***, sorry",
        "wrong key *** sorry",
    }


@pytest.mark.parametrize(
    "text", ["The model `gpt-5` does not exist.", "maximum context length is 128000 tokens", "task"]
)
def test_plain_words_are_not_masked(text: str) -> None:
    assert redact(text) == text


def test_what_is_more_than_a_minute_lets_through_is_no_rate_limit() -> None:
    """It would be sent again and again, and hold up whoever shares the account each time."""
    words = (
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41284. The "
        "input or output tokens must be reduced in order to run successfully."
    )
    error = {"message": words, "type": "tokens", "code": "rate_limit_exceeded"}

    told = failed(429, {"error": error})

    assert (told.kind, told.retryable, told.said.status) == ("context_overflow", False, 413)
    assert told.said.message == words
