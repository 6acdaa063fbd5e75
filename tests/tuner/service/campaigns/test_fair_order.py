from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState, WantedState
from tuner.service.campaigns.fair_order import fair_order

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def entry(
    name: str,
    user: str,
    age_h: float = 1.0,
    state: QueueState = QueueState.QUEUED,
    priority: int = 0,
    ran_h: float = 0.0,
) -> CampaignEntry:
    """A campaign handed in some hours ago; it ran for so long, until now."""
    began = NOW - timedelta(hours=ran_h) if state is not QueueState.QUEUED else None
    order = CampaignOrder(name, "tune", {}, ("node",), user, priority)
    ended = NOW if state is QueueState.DONE else None
    handed_in = NOW - timedelta(hours=age_h)
    return CampaignEntry(order, handed_in, state, WantedState.RUN, None, 0, began, ended, "")


def names(*entries: CampaignEntry, recent: tuple[CampaignEntry, ...] = ()) -> list[str]:
    return [found.name for found in fair_order(entries, recent, NOW)]


def test_the_oldest_of_one_user_is_first() -> None:
    assert names(entry("new", "ada", 1), entry("old", "ada", 5)) == ["old", "new"]


def test_a_higher_priority_is_first() -> None:
    assert names(entry("old", "ada", 5), entry("urgent", "bob", 1, priority=1)) == ["urgent", "old"]


def test_users_take_turns() -> None:
    many = [entry(f"ada-{number}", "ada", 10 - number) for number in range(3)]
    assert names(*many, entry("bob-0", "bob", 1)) == ["ada-0", "bob-0", "ada-1", "ada-2"]


def test_who_runs_already_waits_for_those_who_do_not() -> None:
    running = entry("now", "ada", 9, QueueState.RUNNING, ran_h=2)
    assert names(running, entry("ada-1", "ada", 8), entry("bob-1", "bob", 1)) == ["bob-1", "ada-1"]


def test_who_used_less_of_the_machine_lately_is_first() -> None:
    done = entry("done", "ada", 9, QueueState.DONE, ran_h=2)
    assert names(entry("ada-1", "ada", 8), entry("bob-1", "bob", 1), recent=(done,)) == ["bob-1", "ada-1"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.floats(0, 100), st.integers(-3, 3), st.sampled_from(["queued", "running"])
        ),
        max_size=20,
    )
)
def test_each_campaign_that_waits_has_one_place(drawn: list[tuple[str, float, int, str]]) -> None:
    entries = [
        entry(str(number), user, age, QueueState(state), priority)
        for number, (user, age, priority, state) in enumerate(drawn)
    ]
    found = fair_order(entries, (), NOW)
    assert sorted(one.name for one in found) == sorted(one.name for one in entries if one.state == "queued")
    priorities = [one.order.priority for one in found]
    assert priorities == sorted(priorities, reverse=True)
