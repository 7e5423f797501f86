"""Sessions sit in slots: they find what they computed, also when they had to give way."""

from __future__ import annotations

import math
from pathlib import Path

import anyio
import pytest

from gateway.upstream.llama_cpp.host import Host, HostPolicy
from gateway.upstream.llama_cpp.seated import Computed
from gateway.upstream.llama_cpp.server import Server
from tests.fakes.llama_cpp import LlamaServer, LlamaTransport
from tests.gateway.upstream.llama_cpp.scene import ANN, BEN, CID, Counts, Home

STORY = "<user> once upon a time there was a fox"
OTHER = "<user> what is the capital of that other country"


async def test_a_session_comes_back_to_its_slot(home: Home) -> None:
    await home.host.look()
    seats = [await home.call(session, STORY) for session in (ANN, BEN, ANN, BEN)]

    assert seats[:2] == seats[2:]
    assert seats[0] != seats[1]
    assert home.llama.moves() == []


async def test_who_names_no_session_takes_what_is_nobodys(home: Home) -> None:
    await home.host.look()
    own = await home.call(ANN, STORY)
    others = {await home.call(None, OTHER) for _ in range(3)}

    assert own not in others
    assert home.host.seats.of(ANN) is not None


async def test_who_gives_way_is_saved_and_brought_back(home: Home) -> None:
    await home.host.look()
    for session in (ANN, BEN, CID):
        await home.call(session, f"{STORY} {session.id}")
        await anyio.sleep(1)
    seat = await home.host.sit(ANN)

    assert seat is not None
    assert home.llama.slots[seat.id].tokens[-1] == "ann"
    assert home.counts.moves.count(("save", "saved")) == 2
    assert home.counts.moves[-1] == ("restore", "restored")


async def test_who_was_not_heard_of_for_longest_gives_way(home: Home) -> None:
    await home.host.look()
    for session in (ANN, BEN, ANN, CID):
        await home.call(session, STORY)
        await anyio.sleep(1)

    assert home.host.seats.of(ANN) is not None
    assert home.host.seats.of(BEN) is None


async def test_a_second_call_of_a_session_at_once_goes_elsewhere(home: Home) -> None:
    await home.host.look()
    first, second = await home.host.sit(ANN), await home.host.sit(ANN)

    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert home.host.seats.of(ANN) is first


async def test_where_all_slots_compute_the_server_chooses(home: Home) -> None:
    await home.host.look()
    for _ in range(2):
        await home.host.sit(None)

    assert await home.host.sit(ANN) is None


async def test_a_host_that_was_never_seen_gives_no_slots(home: Home) -> None:
    home.llama.down = True
    await home.host.look()

    assert await home.host.sit(ANN) is None


async def test_a_session_that_is_idle_is_saved_once(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    for _ in range(20):
        await anyio.sleep(10)
        await home.host.beat()

    assert home.counts.moves[1:] == [("save", "saved")]


async def test_a_session_that_calls_is_not_idle(home: Home) -> None:
    await home.host.look()
    for _ in range(5):
        await home.call(ANN, STORY)
        await anyio.sleep(50)
        await home.host.beat()

    assert home.llama.moves() == []


async def test_a_suspended_session_is_saved_at_once_and_found_again(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)

    assert await home.host.on_suspended(ANN) == "saved"
    assert await home.host.on_suspended(ANN) == "there"
    home.llama.restart()
    await home.host.look()
    assert await home.host.on_resumed(ANN) == "restored"
    assert await home.host.on_resumed(ANN) == "there"
    seat = home.host.seats.of(ANN)
    assert seat is not None
    assert not seat.busy
    assert home.llama.slots[seat.id].tokens == STORY.split()


async def test_a_session_that_sits_nowhere_cannot_be_saved(home: Home) -> None:
    await home.host.look()

    assert await home.host.on_suspended(ANN) == "no_slot"


async def test_a_resumed_session_finds_no_slot_where_all_compute(home: Home) -> None:
    await home.host.look()
    for _ in range(2):
        await home.host.sit(None)

    assert await home.host.on_resumed(ANN) == "no_slot"


async def test_a_session_of_which_nothing_is_kept_begins_anew(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)

    assert home.counts.moves == [("restore", "no_checkpoint")]


async def test_what_cannot_be_saved_is_not_tried_again_until_the_next_call(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, "too few")
    for _ in range(20):
        await anyio.sleep(10)
        await home.host.beat()

    assert home.counts.moves == [("restore", "no_checkpoint"), ("save", "too_small")]


async def test_a_server_that_was_started_anew_is_noticed_and_what_is_kept_restored(
    home: Home,
) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    await home.host.on_suspended(ANN)
    home.llama.restart()
    await home.host.look()

    seat = await home.host.sit(ANN)

    assert seat is not None
    assert home.llama.slots[seat.id].tokens == STORY.split()


async def test_a_restored_slot_is_not_taken_for_an_emptied_one(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    await home.host.on_suspended(ANN)
    home.llama.restart()
    await home.host.look()
    await home.host.on_resumed(ANN)
    await home.host.look()

    assert home.host.seats.of(ANN) is not None


async def test_a_call_that_told_nothing_is_counted_by_the_next_look(home: Home) -> None:
    await home.host.look()
    seat = await home.host.sit(ANN)
    assert seat is not None
    count = home.fill(seat.id, STORY)
    home.host.stand(seat, None)
    await home.host.look()

    assert seat.tokens == count


async def test_a_call_that_ended_while_the_server_was_looked_at_is_not_compared(
    home: Home,
) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    seat = home.host.seats.of(ANN)
    assert seat is not None
    await anyio.sleep(1)

    home.transport.late["/slots"] = lambda: home.host.stand(seat, Computed(0, 900, 2, 1.0))
    await home.host.look()

    assert (seat.session, seat.tokens) == (ANN, 901)


async def test_when_the_gateway_stops_what_is_in_the_slots_is_saved(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    await home.call(BEN, OTHER)
    await home.host.close(10)

    assert home.counts.moves[-2:] == [("save", "saved")] * 2


async def test_when_there_is_no_time_nothing_is_begun(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    await home.host.close(4)  # five seconds are kept for saving as long as nobody has measured it

    assert home.counts.moves[-1] == ("save", "no_time")
    assert home.llama.moves() == []


async def test_a_session_waits_while_what_it_has_is_being_saved(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)

    async with anyio.create_task_group() as group:
        group.start_soon(home.host.on_suspended, ANN)
        seat = await home.moving(ANN)
        again = await home.host.sit(ANN)

    assert again is seat
    assert home.counts.moves[-1] == ("save", "saved")


async def test_leaving_while_a_slot_is_handed_over_frees_it(home: Home) -> None:
    await home.host.look()
    await home.call(ANN, STORY)
    await home.call(BEN, OTHER)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await home.host.sit(CID)

    assert [seat.busy for seat in home.host.seats.rows] == [False, False]


async def test_without_a_folder_sessions_have_slots_and_nothing_is_kept(tmp_path: Path) -> None:
    llama, counts = LlamaServer(tmp_path, count=1), Counts()
    host = Host("llama", Server(LlamaTransport(llama)), counts, HostPolicy())
    await host.look()
    for session in (ANN, BEN, ANN):
        seat = await host.sit(session)
        assert seat is not None
        assert host.seats.of(session) is seat
        host.stand(seat, Computed(0, 900, 2, 1.0))
    await host.beat()
    await host.close(10)

    assert (llama.moves(), counts.moves) == ([], [])


async def test_slots_and_the_tokens_that_still_fit_are_told(home: Home) -> None:
    await home.host.look()

    assert home.counts.state == (0, 2, 2048 - 256)


@pytest.mark.parametrize("free", [1_000_000, 10**9])
async def test_a_cards_memory_bounds_the_tokens_too(tmp_path: Path, free: int) -> None:
    counts = Counts()
    policy = HostPolicy(free=lambda: free, bytes_per_token=1000)
    await Host("m", Server(LlamaTransport(LlamaServer(tmp_path))), counts, policy).look()

    assert counts.state == (0, 2, min(1792, free // 1000))


async def test_a_server_with_more_slots_is_told_of(home: Home) -> None:
    told = []

    async def resized(count: int) -> None:
        told.append(count)

    home.host.resized = resized
    await home.host.look()
    await home.host.look()
    home.llama.count = 4
    home.llama.restart()
    await home.host.look()

    assert told == [2, 4]
    assert len(home.host.seats.rows) == 4


async def test_tokens_that_were_there_are_counted(home: Home) -> None:
    await home.host.look()
    seat = await home.host.sit(ANN)
    assert seat is not None
    home.host.stand(seat, Computed(cached=230, read=1, written=4, read_s=0.03))

    assert (home.counts.tokens, seat.tokens) == (230, 234)
    assert not math.isnan(seat.used_at)


async def test_several_processes_seat_a_session_alike_and_leave_the_rest_to_the_server(
    tmp_path: Path,
) -> None:
    llama = LlamaServer(tmp_path, count=8)
    policy = HostPolicy(alone=False)
    hosts = [Host("m", Server(LlamaTransport(llama)), Counts(), policy) for _ in range(2)]
    seats = []
    for host in hosts:
        await host.look()
        assert await host.sit(None) is None
        seats.append(await host.sit(ANN))

    assert None not in seats
    assert len({seat.id for seat in seats if seat is not None}) == 1
    assert {seat.id for seat in map(hosts[0].seats.take, [BEN, CID]) if seat} != {0, 1}
