from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from techniques.catalog.harq_ir import Options, harq_ir
from techniques.core.channel import Channels, Member
from techniques.core.events import Note
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Image, Message, Request, Text, Tool
from techniques.testing import Line, ScriptedChannel
from tests.techniques import refining
from tests.techniques.refining import (
    DATE,
    DOWN,
    DRAFT,
    GAP,
    GOOD,
    HI,
    MENDED,
    POOR,
    STOP,
    by_step,
    never_content,
    poor,
)
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    calls,
    channels,
    fault,
    faults,
    marks,
    play,
    prefers,
    scripted,
    shown,
    with_judge,
)


async def run(
    channel: ScriptedChannel, request: Request = HI, *, cap: int | None = None, **options: Json
) -> Played:
    return await refining.run(channel, request, technique="harq_ir", cap=cap, **options)


async def test_a_draft_that_scores_well_is_left_as_it_is() -> None:
    played = await run(by_step({"d0": DRAFT, "s0": GOOD}))
    assert played.text == DRAFT
    assert played.roles() == ["candidate", "judge"]
    assert played.note("rounds") == {"used": 0, "accepted": 0, "ended": "good_enough"}
    assert not played.warnings


async def test_the_threshold_can_be_set() -> None:
    answers: dict[str, Answer] = {"d0": DRAFT, "s0": marks("n05"), "k0": faults(DATE)}
    assert (await run(by_step(answers), quality_threshold=0.9)).text == DRAFT
    assert (await run(by_step(answers), quality_threshold=0.91)).text == MENDED


@pytest.mark.parametrize("verdict", ["Hm.", "", "{}", DOWN])
async def test_a_draft_that_cannot_be_judged_is_the_answer(verdict: Answer) -> None:
    played = await run(by_step({"d0": DRAFT, "judge": verdict, "k0": faults(DATE)}))
    assert played.text == DRAFT
    assert "critique" not in played.roles()
    assert played.note("rounds")["ended"] == "unjudged"


async def test_a_poor_draft_is_mended() -> None:
    played = await run(poor({"k0": faults(DATE)}))
    assert played.text == MENDED
    assert played.note("round") == {"round": 0, "accepted": True, "via": "patch"}
    assert played.roles() == ["candidate", "judge", "critique", "judge", "judge", "critique"]


async def test_what_stands_is_shown_early_while_it_is_looked_at() -> None:
    assert (await run(poor({"k0": faults(DATE)}))).early == [DRAFT, MENDED]
    assert (await run(poor({"k0": faults(DATE)}), max_rounds=2)).early == [DRAFT]
    assert (await run(by_step({"d0": DRAFT, "s0": GOOD}))).early == [DRAFT]


async def test_rounds_include_the_draft_and_the_worst_case_is_eighteen_calls() -> None:
    played = await run(scripted(never_content))
    assert played.note("rounds") == {"used": 4, "accepted": 4, "ended": "rounds"}
    assert len(played.asked) == 18


async def test_a_draft_alone_is_one_round() -> None:
    assert (await run(poor({}), max_rounds=1)).roles() == ["candidate"]


async def test_a_critic_that_sees_nothing_ends_it_with_a_warning() -> None:
    played = await run(poor({"k0": STOP}))
    assert played.text == DRAFT
    assert "harq_ir_converged" in played.warnings


async def test_two_rejections_end_it_with_a_warning() -> None:
    answers: dict[str, Answer] = {
        "k0": faults(DATE),
        "k1": faults(fault("was long", "was very long")),
        "p0a": prefers("tie"),
        "p1b": prefers("tie"),
    }
    played = await run(poor(answers))
    assert played.text == DRAFT
    assert played.note("rounds") == {"used": 2, "accepted": 0, "ended": "rejected_twice"}
    assert "harq_ir_rejected_twice" in played.warnings


async def test_an_accepted_revision_makes_up_for_a_rejection() -> None:
    answers: dict[str, Answer] = {
        "k0": faults(fault("The war", "That war")),
        "p0a": prefers("1"),
        "k1": faults(DATE),
        "k2": faults(fault("was long", "lasted")),
        "p2a": prefers("1"),
    }
    played = await run(poor(answers))
    assert played.text == MENDED
    assert played.note("rounds") == {"used": 3, "accepted": 1, "ended": "converged"}


async def test_revisions_that_change_next_to_nothing_end_it_with_a_warning() -> None:
    long = " ".join(f"w{place}" for place in range(200))
    answers: dict[str, Answer] = {
        "d0": long,
        "s0": POOR,
        **{f"k{place}": faults(fault(f"w{place} ", f"v{place} ")) for place in range(4)},
    }
    played = await run(by_step(answers))
    assert played.note("rounds") == {"used": 2, "accepted": 2, "ended": "plateau"}
    assert "harq_ir_plateau" in played.warnings
    patient = await run(by_step(answers), plateau_eps=0.0)
    assert patient.note("rounds")["used"] == 4


async def test_a_small_correction_in_a_long_text_is_kept() -> None:
    long = f"{'word ' * 300}in 1916."
    played = await run(by_step({"d0": long, "s0": POOR, "k0": faults(DATE)}))
    assert played.text.endswith("in 1914.")


async def test_the_critic_learns_which_passages_are_settled_and_nothing_else() -> None:
    played = await run(poor({"k0": faults(DATE), "k1": STOP}))
    first, second = [shown(one) for one in played.asked if one.role == "critique"]
    assert "settled>>" not in first
    assert "settled>>\nin 1916\n<<end" in second
    assert "critical" in second
    assert DATE["fix"] not in second.partition("settled>>")[2]


async def test_no_fault_is_mended_twice() -> None:
    played = await run(poor({"critique": faults(GAP), "r0": f"{DRAFT} It ended in 1918."}))
    assert played.note("rounds") == {"used": 1, "accepted": 1, "ended": "converged"}


async def test_only_so_many_faults_are_mended_and_only_grave_ones() -> None:
    both = faults(fault("was long", "lasted", severity="minor"), DATE)
    assert (await run(poor({"k0": both}), max_items=1)).text == MENDED
    assert (await run(poor({"k0": both}), severity_floor="major")).text == MENDED
    assert (await run(poor({"k0": both}))).text == "The war began in 1914 and lasted."


async def test_what_is_let_be_is_counted() -> None:
    trifle = fault("was long", "lasted", severity="minor")
    played = await run(poor({"k0": faults(DATE, trifle, fault("x", "y"))}), severity_floor="major")
    told = [one.data for one in played.events if isinstance(one, Note)]
    assert {"stage": "refining", "round": 0, "kept": 1, "dropped": 2} in told


async def test_early_exit_off_mends_what_the_critic_lists_although_it_is_content() -> None:
    content = faults(DATE, decision="stop")
    assert (await run(poor({"k0": content}))).text == DRAFT
    assert (await run(poor({"k0": content}), early_exit=False)).text == MENDED


async def test_an_unreadable_critique_is_the_end() -> None:
    played = await run(poor({"critique": "No issues at all."}))
    assert played.text == DRAFT
    assert played.note("rounds")["ended"] == "unreadable"


async def test_a_revision_that_does_not_come_leaves_the_draft() -> None:
    played = await run(poor({"k0": faults(GAP), "refine": DOWN}))
    assert played.text == DRAFT
    assert played.note("rounds")["ended"] == "lost"


async def test_by_score_a_good_enough_revision_ends_it() -> None:
    answers: dict[str, Answer] = {"k0": faults(DATE), "t0": GOOD}
    played = await run(poor(answers), accept="score")
    assert played.text == MENDED
    assert played.note("rounds") == {"used": 1, "accepted": 1, "ended": "good_enough"}
    assert len(played.asked) == 4


async def test_by_score_a_revision_without_one_is_not_taken() -> None:
    played = await run(poor({"k0": faults(DATE), "judge": "Hm."}), accept="score")
    assert played.text == DRAFT


async def test_by_score_a_gain_within_the_noise_is_not_taken() -> None:
    answers: dict[str, Answer] = {"s0": marks("n05", "n06"), "k0": faults(DATE)}
    noise = await run(poor({**answers, "t0": marks("n05", "n06", "n15")}), accept="score")
    assert noise.text == DRAFT
    same = await run(poor({**answers, "t0": marks("n05", "n06")}), accept="score")
    assert same.text == DRAFT


async def test_another_model_of_the_pool_is_the_critic() -> None:
    channel = poor({"k0": STOP})
    await play(harq_ir, channels(channel, pool=2), HI, Setting(Options()))
    assert [one.model for one in channel.asked if one.role == "critique"] == ["model-1"]


async def test_a_configured_critic_comes_before_the_pool() -> None:
    channel = poor({"k0": STOP})
    models = replace(channels(channel, pool=2), critic=Member("c", "critic", channel))
    await play(harq_ir, models, HI, Setting(Options()))
    assert [one.model for one in channel.asked if one.role == "critique"] == ["critic"]


def with_blind(channel: ScriptedChannel) -> Channels:
    models = with_judge(channel)
    able = models.primary.capabilities
    blind = Member("b", "blind", channel, replace(able, vision=False))
    return replace(models, pool=(models.primary, blind))


SEEN = Request("m", (Message("user", (Text("Tell me of this war."), Image(url="u"))),))


async def test_a_picture_is_looked_at_by_a_critic_that_sees() -> None:
    channel = poor({"k0": STOP})
    played = await play(harq_ir, with_blind(channel), SEEN, Setting(Options()))
    assert [one.model for one in channel.asked if one.role == "critique"] == ["model-0"]
    assert "judge_blind" not in played.warnings


async def test_a_configured_critic_that_is_blind_is_told_of() -> None:
    channel = poor({"k0": STOP})
    models = with_blind(channel)
    models = replace(models, critic=models.pool[1])
    played = await play(harq_ir, models, SEEN, Setting(Options()))
    assert played.warnings["judge_blind"] == "blind"


@pytest.mark.parametrize("slow", ["s0", "k0", "r0", "p0a"])
async def test_the_deadline_ends_it_with_what_stands(slow: str) -> None:
    answers: dict[str, Answer] = {"s0": POOR, "k0": faults(GAP), "r0": MENDED, "p0a": prefers("2")}
    late = Line(replied(str(answers[slow])), after=60)
    setting = Setting(Options(), deadline=anyio.current_time() + 10)
    played = await play(harq_ir, with_judge(poor({**answers, slow: late})), HI, setting)
    assert played.text == DRAFT
    assert "deadline_reached" in played.warnings
    assert played.note("rounds")["ended"] == "late"


@pytest.mark.parametrize("cap", [2, 3, 5])
async def test_what_cannot_be_paid_to_its_end_is_not_begun(cap: int) -> None:
    played = await run(poor({"k0": faults(DATE)}), cap=cap)
    assert played.text == DRAFT
    assert played.roles() == ["candidate"]
    assert played.note("rounds")["ended"] == "caps"


async def test_a_tool_call_that_keeps_to_the_form_is_one_call() -> None:
    action = calls("time", "{}")
    played = await run(by_step({"d0": action}), replace(HI, tools=(Tool("time"),)))
    assert played.reply == action
    assert played.roles() == ["candidate"]
    assert played.note("rounds")["ended"] == "final"
