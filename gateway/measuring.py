"""Asks models, and a judge, what a calibration is made of, through the pipeline itself."""

from __future__ import annotations

import secrets as dice
from dataclasses import dataclass

from gateway.app import CHAT
from gateway.calibrate import Judge, Marked, Question, marked, plain, unjudged
from gateway.config import Config, DatabaseConfig, Secrets
from gateway.config.database import NO_DATABASE
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.policy.keys import OPEN
from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.wiring import running
from techniques.core.channel import Member
from techniques.core.errors import UpstreamFailed
from techniques.core.reply import Reply, fold
from techniques.core.request import Request
from techniques.parts.aside import Aside
from techniques.parts.judge import read_score, verdict_request
from techniques.parts.transcript import Fence


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured: of which models, by which questions, and of which judge."""

    models: list[str]
    questions: list[Question]
    judge: str | None
    parallel: int


async def measured(config: Config, secrets: Secrets, wanted: Wanted) -> list[Marked]:
    """Ask what is *wanted* of the gateway that *config* describes, and mark the answers.

    Raises:
        UnknownModel: A model or the judge is not there.
    """
    apart = config.model_copy(update={"database": DatabaseConfig(url=NO_DATABASE)})
    async with running(apart, secrets) as parts:
        pipeline = parts.front.pipeline
        found = {name: parts.catalogue.find(name) for name in wanted.models}
        tells = {name: model.target.capabilities.logprobs for name, model in found.items()}
        judge = unjudged if wanted.judge is None else _judge(parts.catalogue.find(wanted.judge))

        async def ask(model: str, question: Question) -> tuple[Request, Reply]:
            call = CHAT.decode(plain(model, question, logprobs=tells[model]), b"")
            asked = Asked(call, OPEN, Wishes(technique="baseline", params={"failover": False}))
            try:
                async with pipeline.answer(asked, pipeline.plan(asked), Ledger()) as events:
                    return call.relay.decode(), await fold(events)
            except UpstreamFailed as error:
                if error.kind != "rejected" or not tells[model]:
                    raise
            tells[model] = False  # as some models take no wish for log-probabilities
            return await ask(model, question)

        return await marked(
            ask, wanted.models, wanted.questions, judge=judge, width=wanted.parallel
        )


def _judge(model: Model) -> Judge:
    """Return what has *model* score replies, as techniques do, but in one try."""
    target = model.target
    member = Member("judge", target.model, model.channel, target.capabilities, target.shown)

    async def score(request: Request, reply: Reply) -> float | None:
        aside = Aside(request, member, Fence(dice.token_hex(8)), "j0")
        try:
            async with member.open(verdict_request(aside, reply)) as events:
                return read_score((await fold(events)).text)
        except UpstreamFailed:
            return None

    return score
