"""More than 100 % of peak is never shown without a reason."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from record_builders import QUIET, a_study, begun, finished
from report_reading import as_json, printed

from hpl.blas.catalogue import BlasLibrary, Threading
from hpl.blas.probe import Probe
from hpl.build.toolchain import Mpi
from hpl.rpeak import Rpeak
from results.record import StudyNotes
from results.store.store import Store
from runners.hosts.cluster import Cluster, NodeFacts
from runners.hosts.host_facts import host_facts
from tuner.commands.stored.best import best_of_study
from tuner.commands.stored.export import export_study, submission_sheet
from tuner.commands.stored.show import show_trial
from tuner.machine.cluster_nodes import on_nodes
from tuner.machine.inventory import Inventory, Nodes
from tuner.machine.peak import above_peak, dgemm_beats_peak, model_above_peak

LIBRARY = BlasLibrary("openblas", "openblas", "1", Path("/lib/openblas.so"), Threading.SERIAL, "", "test")
MPI = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), Path("/usr/bin/mpirun"), (), "PATH")


def machine(dgemm_gflops: float, rpeak: Rpeak | None = None) -> Inventory:
    """Two cores of 41.6 GFLOPS each, and what dgemm gives on one of them."""
    probes = {"openblas": (Probe(LIBRARY, "auto", "Sapphirerapids", dgemm_gflops),)}
    return Inventory(host_facts(2), rpeak or Rpeak(83.2, 2, 2.6, 16, "", ()), (MPI,), (), probes)


def test_the_ceiling_of_forecasts_is_what_dgemm_gives_on_all_cores_where_that_is_above_rpeak() -> None:
    assert machine(104.0).ceiling_gflops == 208.0
    assert machine(38.0).ceiling_gflops == 83.2


def test_the_ceiling_of_a_hybrid_cpu_counts_dgemm_for_its_strongest_cores_only() -> None:
    assert machine(104.0, Rpeak(60.0, 2, 2.6, 16, "", (), strongest=1.5)).ceiling_gflops == pytest.approx(2 * 104 / 1.5)


def test_dgemm_of_this_host_is_no_ceiling_for_nodes_whose_peak_the_cluster_file_says() -> None:
    cluster = Cluster(name="old", backend="ssh", hosts=("n1", "n2"), node=NodeFacts(rpeak_gflops=3.5))
    nodes = Nodes(("n1", "n2"), 2, 1, 2**30, cluster)
    old = on_nodes(machine(104.0), nodes, Rpeak(7.0, 2, 1.75, 2, "", ()))
    assert old.ceiling_gflops == 7.0
    assert dgemm_beats_peak(old.rpeak, old.dgemm_gflops) is None
    unstated = replace(nodes, cluster=cluster.model_copy(update={"node": NodeFacts()}))
    assert on_nodes(machine(104.0), unstated, old.rpeak).ceiling_gflops == 208.0


def test_a_study_keeps_how_fast_dgemm_is_beside_the_peak_of_a_core() -> None:
    facts = machine(104.0).facts()
    assert (facts["core_dgemm_gflops"], facts["core_rpeak_gflops"]) == (104.0, 41.6)
    assert "core_dgemm_gflops" not in replace(machine(1.0), probes={}).facts()


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"options": {"rpeak_gflops": 4.0}}, "the Rpeak given with ⟦rpeak⟧ (4 GFLOPS) may be too low"),
        (
            {"host": {"core_dgemm_gflops": 104.0, "core_rpeak_gflops": 41.6, "hypervisor": True}},
            "dgemm reaches 104.0 on",
        ),
        (
            {"host": {"core_dgemm_gflops": 30.0, "core_rpeak_gflops": 41.6, "hypervisor": True}},
            "the real clock may be higher",
        ),
        ({"host": {}}, "the CPU may have run at a higher one (turbo)"),
        (
            {"options": {"real_cluster": {"node": {"rpeak_gflops": 4.0}}}},
            "under [node] of the cluster file may be too low",
        ),
        ({"versions": {"simulator": "SimGrid 3.32"}}, "the model of this virtual cluster"),
    ],
)
def test_the_reason_for_more_than_the_peak_is_the_likeliest_one(facts: dict[str, Any], reason: str) -> None:
    told = above_peak(a_study(**facts), [None, 142.7])
    assert told is not None
    of_dgemm = "core_dgemm_gflops" in facts.get("host", {}) and facts["host"]["core_dgemm_gflops"] > 41.6
    assert told.startswith("% of peak is of 336.0 GFLOPS, what dgemm does" if of_dgemm else "More than 100 % of peak: ")
    assert reason in told
    assert (above_peak(a_study(**facts), [None, 99.9, 100.0]) is None) == (not of_dgemm)


def test_a_design_above_its_peak_says_that_its_model_is_too_fast() -> None:
    assert model_above_peak(101.0) == (
        "More than 100 % of peak: the model of this virtual cluster computes faster than its clock_ghz and "
        "flops_per_cycle allow."
    )
    assert model_above_peak(99.0) is model_above_peak(None) is None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A study with 134.4 GFLOPS of Rpeak and one run of 192.7 % of it."""
    with Store.open(tmp_path / "hpltune.db") as opened:
        opened.create_study(a_study())
        number = opened.begin(begun())
        opened.finish(finished(number, 259.0))
        yield opened


def test_the_ranking_says_why_it_is_above_the_peak_to_people_and_to_scripts(store: Store) -> None:
    report = best_of_study(store).report()
    assert "192.7" in printed(report)
    assert "More than 100 % of peak: " in printed(report)
    assert as_json(report)["above_peak"].startswith("More than 100 % of peak: ")


def test_one_trial_and_the_markdown_table_say_why_they_are_above_the_peak(store: Store) -> None:
    assert "More than 100 % of peak: " in printed(show_trial(store, "study", 1).report())
    table, _, below = "".join(export_study(store, "md")).partition("\n\n")
    assert "192.7" in table
    assert below.startswith("More than 100 % of peak: ")


def test_an_interval_does_not_end_at_a_bound_that_a_run_exceeded(store: Store) -> None:
    store.finish(finished(store.begin(begun()), 258.0))
    (entry,) = as_json(best_of_study(store).report())["ranking"]
    low, high = entry["interval_gflops"]
    assert low < entry["expected_gflops"] < high
    assert high > 259.0


def test_more_gflops_for_a_watt_than_any_machine_reaches_are_doubted_wherever_they_are_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kilowatts.db") as store:
        store.create_study(a_study(host={}, notes=StudyNotes(power_source="meter")))
        store.finish(finished(store.begin(begun()), 120.0, measurements={**QUIET, "meter_power_w": 0.25}))
        faces = (
            printed(best_of_study(store).report(), width=200),
            "".join(export_study(store, "md")),
            printed(submission_sheet(store, "study"), width=200),
        )
    for told in faces:
        assert "MFLOPS/W are more than any machine reaches" in told


def test_nothing_is_said_of_a_study_below_the_peak(tmp_path: Path) -> None:
    with Store.open(tmp_path / "below.db") as store:
        store.create_study(a_study())
        store.finish(finished(store.begin(begun()), 100.0))
        assert as_json(best_of_study(store).report())["above_peak"] is None
        assert "More than" not in "".join(export_study(store, "md"))


@pytest.mark.real
def test_doctor_says_that_dgemm_on_one_core_beats_the_peak_of_a_core(hpltune: Run) -> None:
    told = json.loads(hpltune("doctor", "--rpeak", "0.5", "--json").stdout)
    assert "dgemm reaches" in told["above_peak"]
    assert told["above_peak"] in told["advice"]
    assert json.loads(hpltune("doctor", "--rpeak", "1000000", "--json").stdout)["above_peak"] is None


@pytest.mark.usefixtures("prints_hpl")
def test_run_says_why_a_file_is_above_the_peak(hpltune: Run) -> None:
    hpltune("dat", "HPL.dat", "--N", "500", "--NB", "64", "--ranks", "1")
    done = hpltune.well("run", "HPL.dat", "--rpeak", "0.01", "--xhpl", "xhpl")
    assert "the Rpeak given with --rpeak (0.01 GFLOPS) may be too low for this machine." in done.stdout
    again = json.loads(hpltune("run", "HPL.dat", "--rpeak", "0.01", "--xhpl", "xhpl", "--json").stdout)
    assert again["above_peak"].startswith("More than 100 % of peak: ")
