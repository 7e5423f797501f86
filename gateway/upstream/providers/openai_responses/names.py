"""Names that the reader and the writer of this API share."""

from __future__ import annotations

from typing import Final

DIALECT: Final = "openai_responses"
PATH: Final = "/responses"
LOGPROBS: Final = "message.output_text.logprobs"
ENCRYPTED: Final = "reasoning.encrypted_content"
