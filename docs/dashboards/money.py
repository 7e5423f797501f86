"""Money: who spends it on what, how well it is known, and whether budgets last."""

from __future__ import annotations

from typing import Final

from docs.dashboards.panels import Dashboard, Panel, Query, Row
from docs.dashboards.queries import hourly, mean, most, or_none, rate, some, within

_COST: Final = "lockgate_cost_usd_total"
_THIRD: Final = (8, 8)
_HALF: Final = (12, 8)

_SPENT: Final = Row(
    "Spent",
    (
        Panel(
            "Spent an hour, by model",
            (Query(some(hourly(_COST, "model")), "{{model}}"),),
            "US dollars, at the pace of the moment.",
            unit="currencyUSD",
            size=(16, 9),
            stack=True,
        ),
        Panel(
            "Spent",
            (Query(within(_COST), "spent"),),
            "US dollars in the time that is looked at. The ledger has every fraction of a cent; "
            "this is for the eye.",
            kind="stat",
            unit="currencyUSD",
            size=(4, 9),
        ),
        Panel(
            "Not paid twice",
            (Query(within("lockgate_run_dollars_saved_total"), "saved"),),
            "US dollars that runs which went on did not spend again.",
            kind="stat",
            unit="currencyUSD",
            size=(4, 9),
        ),
        Panel(
            "By model",
            (Query(some(within(_COST, "model")), "{{model}}"),),
            "In the time that is looked at.",
            kind="piechart",
            unit="currencyUSD",
            size=_THIRD,
        ),
        Panel(
            "By what was read and written",
            (Query(some(within("lockgate_token_cost_usd_total", "type")), "{{type}}"),),
            "input: prompts, what is read from a cache, what is paid for a call as such. output: "
            "answers, reasoning too.",
            kind="piechart",
            unit="currencyUSD",
            size=_THIRD,
        ),
        Panel(
            "By the part a call plays",
            (Query(some(within(_COST, "role")), "{{role}}"),),
            "answer is the plain call; the others are of techniques.",
            kind="piechart",
            unit="currencyUSD",
            size=_THIRD,
        ),
        Panel(
            "By class of key",
            (Query(some(within("lockgate_class_cost_usd_total", "key_class")), "{{key_class}}"),),
            "A key's team, if the configuration names it. Single keys are in the ledger.",
            kind="piechart",
            unit="currencyUSD",
            size=_HALF,
        ),
        Panel(
            "By where the price is from",
            (Query(some(within(_COST, "source")), "{{source}}"),),
            "The better the source, the surer the sum.",
            kind="piechart",
            unit="currencyUSD",
            size=_HALF,
        ),
    ),
)

_KNOWN: Final = Row(
    "How well it is known",
    (
        Panel(
            "Calls without a price",
            (Query(or_none(some(rate("lockgate_price_unknown_total", "model"))), "{{model}}"),),
            "What they cost is in no sum. Give the model a price.",
            unit="reqps",
        ),
        Panel(
            "Calls whose tokens were guessed",
            (Query(or_none(rate("lockgate_usage_estimated_total", "model")), "{{model}}"),),
            "The provider did not count them, or the answer broke off.",
            unit="reqps",
        ),
        Panel(
            "Tokens by type",
            (Query(rate("lockgate_tokens_total", "type"), "{{type}}"),),
            "Tokens a second. What is read from a cache is part of the input, and usually cheaper.",
            unit="short",
        ),
    ),
)

_BUDGETS: Final = Row(
    "Budgets",
    (
        Panel(
            "The fullest budgets",
            (
                Query(
                    some(most("lockgate_budget_used_ratio", "scope, period")),
                    "{{scope}}, {{period}}",
                ),
            ),
            "Of each kind of budget the one of which most is spent or held. At 100 % its key is "
            "refused with 402.",
            kind="bargauge",
            unit="percentunit",
            steps=((0, "green"), (0.8, "yellow"), (0.95, "red")),
            range=(0, 1),
        ),
        Panel(
            "How fast they go",
            (
                Query(
                    some(most("lockgate_budget_pace_ratio", "scope, period")),
                    "{{scope}}, {{period}}",
                ),
            ),
            "The part spent by the part of the period that is over: above 1, a budget does not "
            "last to its end.",
            unit="none",
            steps=((0, "green"), (1, "orange")),
        ),
        Panel(
            "Held for each dollar spent",
            (Query(mean("lockgate_lease_ratio", "model"), "{{model}}"),),
            "The most that a call can cost is held of a budget until it has ended. Far above 1 "
            "calls wait for money "
            "that nobody spends: say max_tokens.",
            unit="none",
        ),
    ),
)

PAGE: Final = Dashboard(
    "lockgate-money",
    "Lockgate / Money",
    "Who spends it on what, how well it is known, and whether budgets last.",
    (_SPENT, _KNOWN, _BUDGETS),
)
