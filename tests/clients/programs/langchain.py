"""LangChain: its chat models of OpenAI and Anthropic, and an agent of LangGraph's."""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from tests.clients.programs.serving import IMAGE, Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


def _model(place: Place) -> Any:
    common = {"model": place.model, "api_key": place.key, "base_url": place.url, "max_retries": 0}
    common |= {"default_headers": dict(place.headers), **place.more}
    if place.surface == "messages":
        return ChatAnthropic(**{"max_tokens": 900, **common})
    return ChatOpenAI(**common, use_responses_api=place.surface == "responses", stream_usage=True)


def _usage(message: Any) -> list[Any]:
    used = message.usage_metadata or {}
    return [used.get("input_tokens"), used.get("output_tokens")]


def whole(place: Place) -> Any:
    """Ask once."""
    answer = _model(place).invoke([("system", "Be brief."), ("user", place.ask)])
    return {"text": answer.text, "usage": _usage(answer)}


def stream(place: Place) -> Any:
    """Read a stream."""
    pieces, total = [], None
    for chunk in _model(place).stream(place.ask):
        pieces.append(chunk.text)
        total = chunk if total is None else total + chunk
    return {"pieces": [piece for piece in pieces if piece], "usage": _usage(total)}


def _weather(called: list[str]) -> Any:
    @tool
    def weather(city: str) -> str:
        """Tell how warm it is in a city."""
        called.append(city)
        return f"{city}: 21"

    return weather


def tools(place: Place) -> Any:
    """Loop by hand, as the documents of LangChain show it."""
    called: list[str] = []
    weather = _weather(called)
    model = _model(place).bind_tools([weather])
    turns: list[Any] = [HumanMessage(place.ask)]
    while (answer := model.invoke(turns)).tool_calls:
        turns.append(answer)
        for call in answer.tool_calls:
            turns.append(ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"]))
    return {"text": answer.text, "called": called}


def graph(place: Place) -> Any:
    """Loop by a graph of LangGraph's, streamed."""
    called: list[str] = []
    weather = _weather(called)
    model = _model(place).bind_tools([weather])

    def agent(state: MessagesState) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("agent", agent)
    built.add_node("tools", ToolNode([weather]))
    built.add_edge(START, "agent")
    built.add_conditional_edges("agent", tools_condition)
    built.add_edge("tools", "agent")
    pieces = [
        chunk.text
        for chunk, _ in built.compile().stream({"messages": [place.ask]}, stream_mode="messages")
        if chunk.type == "AIMessageChunk" and chunk.text
    ]
    return {"text": "".join(pieces), "called": sorted(called)}


def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    return _model(place).with_structured_output(Spot).invoke(place.ask).model_dump()


def image(place: Place) -> Any:
    """Show an image."""
    shown = {"type": "image", "base64": IMAGE, "mime_type": "image/png"}
    turn = HumanMessage(content_blocks=[{"type": "text", "text": place.ask}, shown])
    return {"text": _model(place).invoke([turn]).text}


def reasoning(place: Place) -> Any:
    """Ask for thoughts as well, and send them back with the next turn."""
    model = _model(place)
    first = model.invoke([HumanMessage(place.ask)])
    thought = [block for block in first.content_blocks if block["type"] == "reasoning"]
    second = model.invoke([HumanMessage(place.ask), first, HumanMessage("And then?")])
    return {
        "thought": "".join(block.get("reasoning", "") for block in thought),
        "text": second.text,
    }


def embed(place: Place) -> Any:
    """Ask for vectors."""
    model = OpenAIEmbeddings(
        model=place.model, base_url=place.url, api_key=place.key, check_embedding_ctx_length=False
    )
    return {"vectors": model.embed_documents(["one", "two"])}


if __name__ == "__main__":
    serve(
        {
            "whole": whole,
            "stream": stream,
            "tools": tools,
            "graph": graph,
            "structured": structured,
            "image": image,
            "reasoning": reasoning,
            "embed": embed,
        }
    )
