"""What was measured during a run says whether something else took the machine from it."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from present import present
from record_builders import DISTURBED, QUIET, finished

from results.disturbance import LEAST_GOT, Conditions, Disturbance, judge

names = st.sampled_from([*DISTURBED, "throttled_s", "throttled_periods", "swap_pages", "throttle_events", "x"])


def disturbance(measured: dict[str, float], threads_per_node: float | None = None) -> Disturbance | None:
    return judge(measured, threads_per_node)[1]


def told(measured: dict[str, float], threads_per_node: float | None = 2.0) -> str:
    return str(disturbance(measured, threads_per_node) or "")


def test_a_quiet_run_is_not_disturbed() -> None:
    assert disturbance(QUIET, 2.0) is None
    assert finished(1, measurements=QUIET).disturbed is None


@pytest.mark.parametrize("measured", [{}, {"solve_s": 12.0}, {"solve_s": 0.4, "cores": 2.0, "foreign_cpu_s": 0.0}])
def test_of_what_was_measured_too_little_nothing_is_known(measured: dict[str, float]) -> None:
    assert judge(measured, 2.0) == (Conditions.UNKNOWN, None)


def test_an_imported_run_is_not_known_and_a_simulated_one_had_no_machine_to_be_disturbed() -> None:
    imported = finished(1, measurements={}, versions={"imported_from": "hpl.out"})
    assert imported.conditions is Conditions.UNKNOWN
    assert finished(1, measurements=DISTURBED, versions={"simulator": "SimGrid 3.36"}).undisturbed
    assert finished(1, measurements={}, versions={"simulator": "replay of landscape.json"}).undisturbed
    assert finished(1, measurements={}, versions={"simulator": "replay of table.csv"}).conditions is Conditions.UNKNOWN


LARGE = {"solve_s": 183.0, "cores": 64.0, "cpu_s": 64 * 182.0, "waited_s": 91.0, "foreign_cpu_s": 92.0}
"""A process of another user has half of one of 64 cores, so that all ranks wait for the one there."""


def test_however_many_ranks_there_are_the_one_that_waits_most_decides() -> None:
    conditions, why = judge({**LARGE, "most_waited": 0.5}, 64.0)
    assert (conditions, str(why)) == (Conditions.DISTURBED, "a rank got 50 % of its time")
    assert judge({**LARGE, "most_waited": 0.008}, 64.0)[0] is Conditions.UNDISTURBED, "each waited a little"


SHORT = {"solve_s": 0.42, "cores": 2.0, "cpu_s": 0.83, "waited_s": 0.004, "foreign_cpu_s": 0.05}
"""A solve that is far too short for the counters of the node, of which schedstat tells all."""


def test_a_short_solve_is_judged_by_what_its_ranks_got_and_waited_for() -> None:
    assert judge(SHORT, 2.0) == (Conditions.UNDISTURBED, None)
    conditions, why = judge({**SHORT, "cpu_s": 0.13, "waited_s": 0.72, "foreign_cpu_s": 0.74}, 2.0)
    assert conditions is Conditions.DISTURBED
    assert why is not None
    assert why.got < 0.6


def test_a_rank_that_stood_still_while_the_others_asked_for_its_messages_disturbs_a_run() -> None:
    still = {**QUIET, "still_s": 1.03, "least_still_s": 0.01}
    assert told(still) == "a rank stood still for 1 of 12 s"
    assert present(disturbance(still)).got == pytest.approx(1 - 1.03 / 12)
    assert judge({**QUIET, "still_s": 0.02, "least_still_s": 0.01}, 2.0)[0] is Conditions.UNDISTURBED
    all_of_them = {**QUIET, "still_s": 4.0, "least_still_s": 3.0}
    assert judge(all_of_them, 2.0) == (Conditions.UNKNOWN, None), "all were stopped, or wait asleep for messages"


def test_what_is_between_surely_quiet_and_surely_disturbed_is_not_known() -> None:
    waiting = {**SHORT, "cpu_s": 0.78, "waited_s": 0.06, "foreign_cpu_s": 0.03}
    assert judge(waiting, 2.0)[0] is Conditions.UNKNOWN, "others took 0.03 s, or 0.07 s"
    assert judge({**waiting, "solve_s": 42.0, "cpu_s": 83.0, "foreign_cpu_s": 0.0}, 2.0)[0] is Conditions.UNDISTURBED


def test_what_others_took_is_told_with_numbers_and_the_program_that_took_most() -> None:
    assert told(DISTURBED) == "others took 0.8 of 2 cores for 9 of 12 s, mostly python3"


def test_a_program_that_took_little_of_it_is_not_named() -> None:
    named = {**DISTURBED, "foreign_cpu_s:python3": 0.4 * DISTURBED["foreign_cpu_s"]}
    assert told(named) == "others took 0.8 of 2 cores for 9 of 12 s"


@pytest.mark.parametrize(
    ("taken_s", "disturbed"), [(0.031 * 24, False), (0.033 * 24, True)], ids=["near 3 %", "surely above 3 %"]
)
def test_others_may_take_three_percent_of_the_node(taken_s: float, *, disturbed: bool) -> None:
    assert (disturbance({**QUIET, "foreign_cpu_s": taken_s}, 2.0) is not None) is disturbed


def test_a_short_run_is_marked_by_the_counters_where_others_took_far_more_than_these_may_be_wrong() -> None:
    assert told({"solve_s": 0.4, "cores": 2.0, "foreign_cpu_s": 0.4}).startswith("others took 1 of 2 cores")
    assert told({"solve_s": 0.4, "cores": 2.0, "foreign_cpu_s": 0.06}) == "", "2 steps of each CPU are 0.04 s"


@pytest.mark.parametrize("name", ["foreign_cpu_s", "steal_s"])
def test_of_a_short_run_what_the_steps_of_the_counters_make_is_no_disturbance(name: str) -> None:
    short = {"solve_s": 0.6, "cores": 2.0, "cpu_s": 1.16, "waited_s": 0.06, "foreign_cpu_s": 0.0}
    assert disturbance({**short, name: 0.07}, 2.0) is None, "5.8 % of the cores, but each count is wrong by 0.02 s"
    assert disturbance({**short, name: 0.09}, 2.0) is not None


FREE = {**QUIET, "physical_cores": 2.0, "cpu_s": 11.9, "foreign_cpu_s": 11.0, "waited_s": 0.1}
"""One thread that may run on both cores, of which another program keeps the other busy."""


def test_others_on_a_core_that_is_free_disturb_only_where_ranks_waited() -> None:
    assert disturbance(FREE, 1.0) is None
    assert told({**FREE, "waited_s": 2.0}, 1.0).startswith("others took 0.92 of 2 cores")
    assert told(FREE, 2.0).startswith("others took"), "two threads need both"
    assert told({**FREE, "physical_cores": 1.0}, 1.0).startswith("others took"), "both CPUs are of one core"
    unknown = {name: figure for name, figure in FREE.items() if name != "waited_s"}
    assert told(unknown, 1.0).startswith("others took")


def test_no_part_is_told_as_more_than_it_is() -> None:
    assert told({"solve_s": 100.0, "cpu_s": 96.97, "waited_s": 3.03}) == "its ranks got 96.9 % of their time"
    assert told({"solve_s": 100.0, "cpu_s": 60.9, "waited_s": 39.1}) == "its ranks got 60 % of their time"


def test_what_the_hypervisor_took_is_told() -> None:
    assert told({**QUIET, "steal_s": 6.0}) == "the hypervisor took 0.5 of 2 cores"


def test_a_quota_is_told_with_its_periods() -> None:
    measured = {**QUIET, "throttled_s": 8.0, "throttled_periods": 110.0}
    assert told(measured) == "a quota of CPU time stopped 8 s of CPU time in 110 periods"
    assert told({**QUIET, "throttled_s": 0.01, "throttled_periods": 1.0}) == "", "a moment is none"


def test_swap_and_heat_are_told() -> None:
    assert told({**QUIET, "swap_pages": 4000.0}) == "4000 pages of memory were swapped"
    assert told({**QUIET, "throttle_events": 3.0, "temperature_c": 97.0}) == "the CPU throttled itself 3 times at 97 °C"


def test_several_reasons_are_told_together() -> None:
    assert told({**DISTURBED, "swap_pages": 4000.0}).endswith("python3, and 4000 pages of memory were swapped")


def test_ranks_that_waited_where_nothing_tells_of_others_are_disturbed() -> None:
    unwatched = {"solve_s": 12.0, "cpu_s": 17.0, "waited_s": 7.0}
    assert told(unwatched) == "its ranks got 70 % of their time"


def test_ranks_that_only_waited_for_each_other_are_not_disturbed() -> None:
    own_doing = {**QUIET, "cpu_s": 16.0, "waited_s": 8.0}
    assert disturbance(own_doing, 2.0) is None, "bound to one core, and nobody else took anything"
    assert disturbance({"solve_s": 12.0, "cores": 2.0, "cpu_s": 16.0, "waited_s": 8.0}, 4.0) is None


def test_the_worst_rank_got_what_others_left_of_its_core() -> None:
    found = present(disturbance({**QUIET, "foreign_cpu_s": 6.0, "waited_s": 6.0}, 2.0))
    assert found.got == pytest.approx(0.5)
    assert found.most_gflops(30.0) == pytest.approx(60.0)
    assert found.lost == pytest.approx(math.log(2.0))


def test_two_busy_programs_on_two_cores_take_half_of_each_rank() -> None:
    found = present(disturbance({**QUIET, "cpu_s": 12.0, "foreign_cpu_s": 12.0, "waited_s": 12.0}, 2.0))
    assert found.got == pytest.approx(0.5)


def test_the_name_of_a_program_is_told_without_what_a_terminal_obeys() -> None:
    measured = {**QUIET, "foreign_cpu_s": 7.0, "foreign_cpu_s:evil\x1b[2J\n" + "x" * 99: 7.0}
    found = told(measured)
    assert "\x1b" not in found
    assert len(found) < 100


@example({"cpu_s": 1.0, "waited_s": 4e238, "solve_s": 2e-70}, None)
@example({"cores": 10**400, "foreign_cpu_s": 1.0, "solve_s": 5e-324}, None)
@given(st.dictionaries(names, st.floats() | st.none() | st.text(max_size=3), max_size=12), st.none() | st.floats(1, 9))
def test_whatever_was_stored_gives_a_verdict(measured: dict[str, float], threads: float | None) -> None:
    conditions, found = judge(measured, threads)
    assert (found is not None) is (conditions is Conditions.DISTURBED)
    assert found is None or (LEAST_GOT <= found.got <= 1 and found.reasons and str(found))
