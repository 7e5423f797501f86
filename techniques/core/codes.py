"""The codes of warnings, and what each means: the one list of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

WARNINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "answer_continued": "The answer had broken off, and the model went on with what there was.",
        "answer_part_dropped": "The client's API has no place for this part of the answer, and it "
        "was left out.",
        "cache_control_dropped": "The provider takes no marks for its prompt cache.",
        "cap_reached": "A cap ended the technique early; the best answer so far is given.",
        "citations_dropped": "The model named sources, for which there is no place.",
        "client_tool_as_function": "The models of this provider do not know this tool, which the "
        "client carries out; it was offered as a function of the same name.",
        "confidence_source_changed": "That source cannot be had here, and this one was used.",
        "confidence_unavailable": "Nothing can tell how sure the model is; votes were counted.",
        "confidence_unusable": "No draw told how sure the model is of it; votes were counted.",
        "context_summarised": "So many earlier messages were replaced by a summary of them.",
        "context_truncated": "The conversation was too long for the model, and so many earlier "
        "messages were left out.",
        "critique_unusable": "A critique could not be read, and nothing was mended by it.",
        "custom_tool_as_function": "The provider has no tools that take free text; such a tool was "
        "offered as a function of one text.",
        "deadline_reached": "The deadline ended the technique; the best answer so far is given.",
        "effort_changed": "The model does not take that effort; the nearest was asked for.",
        "failover": "A model of the technique's pool failed, and the next one was asked.",
        "fallback": "The model failed, and this one of its fallbacks was asked.",
        "familiar_ignored": "This setting, in another gateway's words, was not acted on.",
        "familiar_overruled": "This setting, in another gateway's words, was left out: the one "
        "beside it counts.",
        "fewer_choices": "There are fewer answers than `n` asks for: no more that differ, or a run "
        "failed.",
        "field_dropped": "The provider has no such field, and it was left out.",
        "harq_ir_converged": "No more faults were found; whether it is good enough was not shown.",
        "harq_ir_plateau": "The last revisions changed next to nothing, and no more were made.",
        "harq_ir_rejected_twice": "Two revisions in a row were no better, and no more were made.",
        "hosted_call_as_text": "An earlier call of a tool that only another provider has, and what "
        "it gave, was told to the model as text.",
        "hosted_call_dropped": "An earlier call of a tool that only another provider has was left "
        "out: there is nothing in it that a model can read.",
        "invalid_answer": "The answer does not keep the form that was asked for.",
        "journal_lost": "The journal of runs cannot be written; what it lacks is paid again if the "
        "run breaks off.",
        "json_object_by_instruction": "The provider has no JSON mode; the prompt asks for JSON.",
        "judge_blind": "The judge or critic sees no pictures, and judged without them.",
        "judge_failed": "So many of the judge's calls failed.",
        "judge_unparsable": "The judge's words gave no verdict; that candidate has none.",
        "max_tokens_raised": "The limit was raised: thinking is a part of it at this provider, or "
        "it takes none that low.",
        "no_consensus": "The draws did not agree enough; the most frequent answer is given.",
        "not_combined": "For this reason no answer could be written from the draws; the best one "
        "is given.",
        "not_escalated": "The answer was not sure enough, and a stronger one was not to be had.",
        "not_in_effect": "This wish is read, and not acted on in this version.",
        "one_model": "The technique is for several models, and `channels` names no second one.",
        "params_ignored": "Options came without a technique.",
        "plan_unusable": "No ideas could be had or read; the draws were made without any.",
        "refusal_kept": "A good part of the draws declined, and one of them is the answer.",
        "response_not_stored": "The response is not kept, as the database does not take it, or it "
        "is too large (`size`): the client cannot come back to it.",
        "router_note": "What the router says of its choice.",
        "router_unavailable": "No router could choose, for this reason, and the default technique "
        "was taken: `slow`, `gone`, `failed` (a bug) or `unread` (the request).",
        "self_judged": "No judge is configured for this model; it judged itself.",
        "signature_missing": "A tool call came without the signature that the model insists on; "
        "the value that stands for a missing one was sent.",
        "step_ambiguous": "A sub-call was sent before its run broke off, what came of it is not "
        "known, and it was made again.",
        "summary_failed": "No summary of earlier messages could be had, for this reason.",
        "summary_rejected": "A summary of earlier messages was not used: `pins_lost` (numbers or "
        "ids were not in it), `longer`, `cut_off` or `empty`.",
        "synthesis_doubtful": "The answer, written from several draws, broke this rule after some "
        "of it was sent: `form`, `key` (what most conclude), `novelty` (numbers, links, "
        "sources, names) or `length`.",
        "system_moved": "Instructions that stood later in the conversation were sent at its start, "
        "where alone the provider takes them.",
        "system_sent_as_user": "There was only a system message, and it was sent as the user's.",
        "technique_failed": "The technique failed with this code; a plain call gave the answer.",
        "technique_masked": "The request has something that the technique cannot keep (`n` > 1, "
        "token probabilities), or names no second model, and a plain call gave the answer.",
        "technique_replaced": "The technique that the question's difficulty called for cannot be "
        "used here (request, key or models), and another one was.",
        "temperature_clamped": "The temperature was lowered to the most that the provider takes.",
        "tests_failed": "No answer passed all tests; one that passed most of them is given.",
        "tests_unused": "Tests could not be run, and a judge selected instead.",
        "thinking_dropped": "Reasoning of an earlier turn cannot be sent to this provider.",
        "thinking_kept": "The model cannot be kept from thinking; it was asked to do little of it.",
        "thinking_off": "Off for this call: a tool turn came without its reasoning.",
        "tool_choice_relaxed": "The provider cannot think and be forced to a tool; it may choose.",
        "tool_dropped": "A tool of this kind was left out, as the model's provider has none "
        "(`hosted_tools: drop`).",
        "tool_results_dropped": "Earlier tool results, pictures and documents were left out, for "
        "the conversation had grown too long.",
        "tool_search_as_function": "The provider knows no search for tools that the client carries "
        "out; it was offered as a function, and what was found as tools.",
        "trace_cut": "So much of what the calls wrote is not shown: the client read too slowly, or "
        "an answer that is not streamed has no room for more.",
        "uncalibrated": "How often these models are right was not measured (`lockgate calibrate`): "
        "unequal ones may outvote the best, and bare probabilities count as they are.",
        "verification_unusable": "What was to check the draft could not be read, and "
        "changed nothing.",
        "voter_unusable": "Meanings could not be compared; only answers of the same words agree.",
    }
)
