"""What a failure is that this API reports: inside an answer, also by a code of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.upstream.openai import failure as openai
from gateway.upstream.openai.payload import as_object, as_text
from gateway.upstream.providers.openai_responses.usage import usage_of
from techniques.core.errors import FailureKind, StreamBroken, UpstreamFailed
from techniques.core.json import Json, JsonObject

_REJECTED: Final = (
    *("invalid_prompt", "bio_policy", "data_residency_mismatch", "misalignment_policy_violation"),
    *("invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url"),
    *("image_too_large", "image_too_small", "image_parse_error", "image_content_policy_violation"),
    *("invalid_image_mode", "image_file_too_large", "unsupported_image_media_type"),
    *("empty_image_file", "failed_to_download_image", "image_file_not_found"),
)
_BY_CODE: Final[Mapping[str, FailureKind]] = {
    **dict.fromkeys(_REJECTED, "rejected"),
    "vector_store_timeout": "timeout",
}


def failed(response: Json) -> UpstreamFailed:
    """Return the failure that a *response* whose status is one reports, with its tokens."""
    fields = as_object(response)
    status = as_text(fields.get("status"))
    error = as_object(fields.get("error"))
    if not error:
        error = {"message": f"The provider's answer is {status or 'a failure'}."}
    return _told(error, fields)


def reported(event: JsonObject) -> UpstreamFailed:
    """Return the failure that an ``error`` *event* reports; its fields may stand at its top."""
    error = event.get("error")
    flat = {name: value for name, value in event.items() if name != "type"}
    return _told(
        error if isinstance(error, dict) else flat, as_object(event.get("response") or event)
    )


def broken_off() -> StreamBroken:
    """Return that the stream ended before the model had finished."""
    return StreamBroken("The provider's stream ended before the model finished.")


def _told(error: JsonObject, response: JsonObject) -> UpstreamFailed:
    found = openai.reported({"error": error}, usage_of(response.get("usage")))
    kind = _BY_CODE.get(as_text(error.get("code")))
    if kind is None:
        return found
    retryable = kind == "timeout"
    return UpstreamFailed(found.message, kind, retryable=retryable, said=found.said)
