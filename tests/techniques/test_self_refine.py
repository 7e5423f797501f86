from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pricing.usage import Usage
from techniques.catalog.self_refine import Options, self_refine
from techniques.core.channel import Member
from techniques.core.reply import Reply, replied
from techniques.core.request import (
    Request,
    Text,
    Thinking,
    said,
)
from tests.techniques.refining import (
    DATE,
    DOWN,
    DRAFT,
    GAP,
    HI,
    MENDED,
    by_step,
    never_content,
    run,
)
from tests.techniques.scene import (
    Answer,
    Setting,
    asks,
    channels,
    fault,
    faults,
    marks,
    play,
    prefers,
    scripted,
    shown,
)


async def test_a_critic_that_sees_nothing_leaves_the_draft() -> None:
    played = await run(by_step({"d0": DRAFT}))
    assert played.text == DRAFT
    assert played.roles() == ["candidate", "critique"]


async def test_a_wrong_passage_is_replaced_without_another_call() -> None:
    usage = Usage(7, 9)
    draft = Reply((Thinking("hm", "sig"), Text(DRAFT)), usage=usage, logprobs={"content": []})
    played = await run(by_step({"d0": draft, "k0": faults(DATE)}))
    assert played.text == MENDED
    assert "refine" not in played.roles()
    assert played.reply.parts[0] == Thinking("hm", "sig")
    assert (played.reply.usage, played.reply.logprobs) == (usage, None)
    assert played.note("rounds") == {"used": 1, "accepted": 1, "ended": "converged"}


async def test_what_is_missing_is_written_by_the_model() -> None:
    played = await run(
        by_step({"d0": DRAFT, "k0": faults(GAP), "r0": DRAFT + " It ended in 1918."})
    )
    assert played.text.endswith("1918.")
    revising = next(one for one in played.asked if one.role == "refine")
    assert revising.messages[:-2] == HI.messages
    assert revising.messages[-2] == said("assistant", DRAFT)
    assert "Say when it ended." in revising.messages[-1].text


async def test_patching_can_be_turned_off() -> None:
    played = await run(by_step({"d0": DRAFT, "k0": faults(DATE), "r0": MENDED}), patch=False)
    assert "refine" in played.roles()


async def test_a_revision_that_is_not_preferred_twice_is_not_taken() -> None:
    answers: dict[str, Answer] = {"d0": DRAFT, "k0": faults(DATE), "judge": prefers("2")}
    played = await run(by_step(answers))
    assert played.text == DRAFT
    assert played.note("rounds") == {"used": 1, "accepted": 0, "ended": "converged"}


async def test_two_rejections_in_a_row_are_the_end() -> None:
    answers: dict[str, Answer] = {
        "d0": DRAFT,
        "k0": faults(DATE),
        "k1": faults(fault("and was long", "and was very long")),
        "k2": faults(fault("The war", "That war")),
        "judge": prefers("tie"),
    }
    played = await run(by_step(answers), max_rounds=6)
    assert played.note("rounds")["used"] == 2


async def test_rounds_end_at_their_number() -> None:
    played = await run(scripted(never_content), max_rounds=2)
    assert played.roles().count("critique") == 2
    assert played.text.endswith("r1.")


async def test_a_fault_made_up_or_repeated_is_no_reason_to_go_on() -> None:
    phantom = faults(fault("in 1999", "in 1914"))
    assert (await run(by_step({"d0": DRAFT, "k0": phantom}))).roles() == ["candidate", "critique"]
    repeated = await run(by_step({"d0": DRAFT, "critique": faults(GAP), "r0": MENDED}))
    assert repeated.roles().count("refine") == 1


async def test_a_revision_that_changes_nothing_is_the_end() -> None:
    played = await run(by_step({"d0": DRAFT, "critique": faults(GAP), "r0": DRAFT}))
    assert "judge" not in played.roles()


@pytest.mark.parametrize(
    "revision", ["", "I can't help with that.", DOWN, replied("half", "length")]
)
async def test_a_lost_revision_leaves_what_stands(revision: Answer) -> None:
    played = await run(by_step({"d0": DRAFT, "critique": faults(GAP), "r0": revision}))
    assert played.text == DRAFT


async def test_a_critique_that_cannot_be_read_twice_means_stop() -> None:
    played = await run(by_step({"d0": DRAFT, "critique": "No issues."}))
    assert played.text == DRAFT
    assert played.roles().count("critique") == 2
    assert "critique_unusable" in played.warnings


async def test_a_second_critique_is_taken_if_it_can_be_read() -> None:
    played = await run(by_step({"d0": DRAFT, "k0": "Hm.", "kr0": faults(DATE)}))
    assert played.text == MENDED


def scoring(draft: str, revised: str) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        match request.role:
            case "critique":
                return faults(DATE) if request.step == "k0" else faults(GAP)
            case "judge":
                return revised if "in 1914" in shown(request) else draft
            case "refine":
                return MENDED + " It ended in 1918."
            case _:
                return DRAFT

    return answer


async def test_by_score_only_a_clearly_better_text_is_taken() -> None:
    better = await run(scripted(scoring(marks("n01"), marks())), accept="score", max_rounds=1)
    assert better.text == MENDED
    assert better.roles().count("judge") == 2
    same = await run(scripted(scoring(marks(), marks("n15"))), accept="score", max_rounds=1)
    assert same.text == DRAFT


async def test_by_score_the_standing_text_keeps_its_score() -> None:
    channel = scripted(scoring(marks("n01"), marks("n15")))
    played = await run(channel, accept="score", max_rounds=2)
    assert played.text == MENDED
    assert played.roles().count("judge") == 3


async def test_by_score_without_a_score_the_draft_stays() -> None:
    played = await run(scripted(scoring("Hm.", marks())), accept="score", max_rounds=1)
    assert played.text == DRAFT


async def test_with_the_rule_off_every_revision_is_taken() -> None:
    played = await run(by_step({"d0": DRAFT, "k0": faults(DATE)}), accept="off")
    assert played.text == MENDED
    assert "judge" not in played.roles()


async def test_the_critic_is_another_model_when_one_is_configured() -> None:
    channel = by_step({"d0": DRAFT})
    models = replace(channels(channel), critic=Member("c", "critic", channel))
    await play(self_refine, models, HI, Setting(Options()))
    assert [one.model for one in channel.asked] == ["model-0", "critic"]


async def test_a_round_is_not_begun_that_cannot_be_ended() -> None:
    played = await run(by_step({"d0": DRAFT, "k0": faults(DATE)}), cap=4)
    assert played.text == DRAFT
    assert played.roles() == ["candidate"]
    assert "cap_reached" in played.warnings


async def test_a_cap_may_leave_no_second_critique() -> None:
    played = await run(by_step({"d0": DRAFT, "critique": "Hm."}), cap=5)
    assert played.roles() == ["candidate", "critique"]


@pytest.mark.parametrize(
    "question", ["What is 6 * 7?", "Which?\nA) x\nB) y", "Is the sky blue? Answer yes or no."]
)
async def test_without_the_accept_rule_a_right_answer_is_not_to_be_talked_out_of(
    question: str,
) -> None:
    played = await run(by_step({"a0": "42"}), asks(question), accept="off")
    assert played.text == "42"
    assert played.roles() == ["answer"]
    assert played.warnings["technique_masked"].startswith("self_refine: accept=off")


async def test_with_the_accept_rule_a_number_is_looked_at() -> None:
    answers: dict[str, Answer] = {"d0": "41", "k0": faults(fault("41", "42")), "r0": "42"}
    played = await run(by_step(answers), asks("What is 6 * 7?"))
    assert played.text == "42"
    assert "technique_masked" not in played.warnings


async def test_the_accept_rule_can_be_off_for_prose() -> None:
    assert "technique_masked" not in (await run(by_step({"d0": DRAFT}), accept="off")).warnings


async def test_a_revision_of_next_to_no_words_is_the_last() -> None:
    long = f"{'word ' * 300}in 1916."
    played = await run(by_step({"d0": long, "k0": faults(DATE), "k1": faults(GAP)}))
    assert played.text.endswith("in 1914.")
    assert played.note("rounds") == {"used": 1, "accepted": 1, "ended": "plateau"}


async def test_the_critic_is_the_author_where_none_is_configured() -> None:
    channel = by_step({"d0": DOWN, "d1": DRAFT})
    await play(self_refine, channels(channel, pool=3), HI, Setting(Options()))
    assert [one.model for one in channel.asked] == ["model-0", "model-1", "model-1"]


async def test_without_the_accept_rule_the_worst_case_is_seven_calls() -> None:
    played = await run(scripted(never_content), accept="off")
    assert len(played.asked) == 7


async def test_the_worst_case_is_thirteen_calls() -> None:
    assert len((await run(scripted(never_content))).asked) == 13


async def test_the_best_so_far_is_shown_early() -> None:
    played = await run(by_step({"d0": DRAFT, "k0": faults(DATE)}))
    assert played.early == [DRAFT, MENDED]
