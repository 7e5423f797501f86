from __future__ import annotations

import pytest

from gateway.context.worth import Deal, Habit, Ways, gain
from pricing.price import Price

PRICE = Price(10, 40, cache_read=1)


def test_a_summary_pays_when_the_turns_to_come_save_more_than_it_costs() -> None:
    deal = Deal(saved=900, kept=0, turns=2, read=1000, written=200)

    assert gain(deal, PRICE, PRICE) == 900 * 10 * 2 - 1000 * 10 - 200 * 40
    assert gain(Deal(saved=900, kept=0, turns=1, read=1000, written=200), PRICE, PRICE) < 0


def test_what_a_cache_holds_saves_only_what_reading_it_costs() -> None:
    deal = Deal(saved=1000, kept=500, turns=3, cached=1.0)

    assert gain(deal, PRICE) == 1000 * 1 * 3 - 500 * (10 - 1)


def test_a_technique_that_sends_it_often_saves_as_often() -> None:
    assert gain(Deal(saved=100, kept=0, turns=1, sent=5), PRICE) == 5 * 100 * 10


@pytest.mark.parametrize(("price", "writer"), [(None, PRICE), (PRICE, None), (None, None)])
def test_tokens_are_compared_where_a_price_is_not_known(
    price: Price | None, writer: Price | None
) -> None:
    deal = Deal(saved=100, kept=40, turns=4, cached=0.5, read=120, written=30)

    assert gain(deal, price, writer) == 100 * 0.5 * 4 - 40 * 0.5 - 120 - 30


def test_a_cheap_writer_makes_a_summary_pay() -> None:
    deal = Deal(saved=900, kept=0, turns=1, read=1000, written=200)

    assert gain(deal, PRICE, PRICE) < 0 < gain(deal, PRICE, Price(1, 4))


def test_a_conversation_goes_on_for_as_long_as_it_has_where_few_are_known() -> None:
    ways = Ways()
    ways.reach("k1", 1)

    assert ways.ahead("k1", 7) == 7


def test_a_conversation_goes_on_as_others_of_the_caller_did() -> None:
    ways = Ways()
    for turn, times in ((1, 40), (2, 40), (3, 20), (4, 10)):
        for _ in range(times):
            ways.reach("k1", turn)

    assert ways.ahead("k1", 2) == 1 + (20 + 10) / 40
    assert ways.ahead("k1", 3) == 1 + 10 / 20
    assert ways.ahead("k2", 3) == 3


def test_old_conversations_count_less_and_long_ones_are_bounded() -> None:
    ways = Ways()
    for _ in range(2001):
        ways.reach("k1", 1)
    ways.reach("k1", 10**6)

    assert ways.ahead("k1", 10**6) == 10**6
    assert ways.ahead("k1", 1) == 1


def test_a_habit_begins_with_what_is_seen_first_and_follows_slowly() -> None:
    habit = Habit()
    habit.learn(cached=0.5, sent=3, ratio=1.5)
    habit.learn(cached=0.0, sent=3, ratio=1.0)

    assert (habit.cached, habit.sent, habit.ratio) == pytest.approx((0.4, 3, 1.4))
