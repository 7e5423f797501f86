"""LlamaIndex: its model for whatever is like OpenAI."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

from tests.clients.programs.serving import IMAGE, Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


def _model(place: Place) -> Any:
    return OpenAILike(
        model=place.model,
        api_base=place.url,
        api_key=place.key,
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
        default_headers=dict(place.headers),
        additional_kwargs=dict(place.more),
    )


def whole(place: Place) -> Any:
    """Ask once."""
    turns = [ChatMessage(role="system", content="Be brief."), ChatMessage(content=place.ask)]
    answer = _model(place).chat(turns)
    used = answer.raw.usage
    return {
        "text": answer.message.content,
        "usage": [used.prompt_tokens, used.completion_tokens],
    }


def stream(place: Place) -> Any:
    """Read a stream."""
    chunks = _model(place).stream_chat([ChatMessage(content=place.ask)])
    return {"pieces": [chunk.delta for chunk in chunks if chunk.delta], "usage": None}


def tools(place: Place) -> Any:
    """Loop by hand."""
    called: list[str] = []

    def weather(city: str) -> str:
        """Tell how warm it is in a city."""
        called.append(city)
        return f"{city}: 21"

    tool, model = FunctionTool.from_defaults(weather), _model(place)
    turns = [ChatMessage(content=place.ask)]
    while True:
        answer = model.chat_with_tools([tool], chat_history=turns, allow_parallel_tool_calls=True)
        turns.append(answer.message)
        calls = model.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
        if not calls:
            return {"text": answer.message.content, "called": called}
        for call in calls:
            said = str(tool(**call.tool_kwargs))
            more = {"tool_call_id": call.tool_id, "name": call.tool_name}
            turns.append(ChatMessage(role="tool", content=said, additional_kwargs=more))


def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    model = _model(place).as_structured_llm(Spot)
    return model.chat([ChatMessage(content=place.ask)]).raw.model_dump()


def image(place: Place) -> Any:
    """Show an image."""
    shown = ImageBlock(image=IMAGE.encode(), image_mimetype="image/png")
    turn = ChatMessage(blocks=[TextBlock(text=place.ask), shown])
    return {"text": _model(place).chat([turn]).message.content}


if __name__ == "__main__":
    serve(
        {
            "whole": whole,
            "stream": stream,
            "tools": tools,
            "structured": structured,
            "image": image,
        }
    )
