"""The checklist of the twelve rules: what a report keeps follows from its study."""

from record_builders import a_study, finished

from results.record import SIMULATOR, Study, TrialRecord
from results.stats.headline import fastest_run
from results.stats.ranking import rank
from tuner.reports.twelve_rules import KEPT, NO_MATTER, NOT_KEPT, twelve_rules


def verdicts(study: Study, *runs: TrialRecord) -> dict[int, str]:
    ranking = rank(runs)
    rows = twelve_rules(study, ranking[0], fastest_run(study, runs)).rows
    assert [int(row[0]) for row in rows] == list(range(1, 13)), "each rule once, in their order"
    return {int(row[0]): row[2] for row in rows}


def test_one_run_of_each_configuration_gives_no_interval() -> None:
    told = verdicts(a_study(rpeak_gflops=100.0), finished(1, 70.0, key="a"), finished(2, 60.0, key="b"))
    assert (told[1], told[5], told[11]) == (NO_MATTER, NOT_KEPT, KEPT)


def test_where_the_peak_is_not_known_no_bound_is_shown() -> None:
    assert verdicts(a_study(rpeak_gflops=None), finished(1, 70.0))[11] == NOT_KEPT


def test_simulated_runs_depend_on_no_chance() -> None:
    study = a_study(versions={SIMULATOR: "SimGrid 3.36"}, host={"virtual_cluster": "kronos"})
    assert [verdicts(study, finished(1, 70.0))[rule] for rule in (5, 6, 7)] == [NO_MATTER] * 3


def test_a_matrix_that_leaves_memory_free_is_named() -> None:
    study = a_study(host={"memory_total_bytes": 2**36})
    rows = twelve_rules(study, rank([finished(1, 70.0)])[0], fastest_run(study, [finished(1, 70.0)])).rows
    assert rows[1][3] == "That is no Rmax: its matrix takes 0.42 % of the memory"
