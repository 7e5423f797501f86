"""Names that the reader and the writer of this API share."""

from __future__ import annotations

from typing import Final

DIALECT: Final = "openai_responses"
PATH: Final = "/responses"
CUSTOM: Final = "custom"
"""The type of tools whose input is plain text; inside, it is the one argument ``input``."""
LOGPROBS: Final = "message.output_text.logprobs"
ENCRYPTED: Final = "reasoning.encrypted_content"
