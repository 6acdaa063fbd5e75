"""`run --like`: which BLAS and kernel a file runs with where its model ran on another machine, or on none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from record_builders import a_study, begun, finished

from hpl.blas.catalogue import Blas, BlasLibrary, Threading
from hpl.blas.probe import Probe
from hpl.build.toolchain import Mpi
from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.rpeak import Rpeak
from results.record import BlasObservation, TrialRecord
from results.store.store import Store
from runners.hosts.host_facts import host_facts
from tuner.commands.campaigns.check import changed_facts
from tuner.commands.campaigns.run import RunRequest, nodes_like, plan_of
from tuner.errors import UsageError
from tuner.machine.inventory import Inventory
from tuner.options import TuneOptions
from tuner.trial.plan import TrialPlan

DAT = HplDat.of(HplParams(200, 32, 1, 2))
MPI = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), Path("/usr/bin/mpirun"), (), "PATH")
SIMULATED = {"simulator": "SimGrid 3.32"}


def library(name: str) -> BlasLibrary:
    return BlasLibrary(name, "openblas", "1", Path(f"/lib/{name}.so"), Threading.SERIAL, "", "test")


@pytest.fixture
def site() -> Inventory:
    """Two cores, on which OpenBLAS is fastest with the kernel Zen, and has another."""
    rates = {"openblas": {"Zen": 50.0, "Haswell": 36.0}, "blis": {"zen3": 25.0}}
    probes = {
        name: tuple(Probe(library(name), kernel, kernel, rate) for kernel, rate in kernels.items())
        for name, kernels in rates.items()
    }
    blas = tuple(Blas(name, "openblas", (library(name),)) for name in rates)
    return Inventory(host_facts(2), Rpeak(80.0, 2, 2.5, 16, "", ()), (MPI,), blas, probes)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "hpltune.db")) as store:
        yield store


def like(store: Store, site: Inventory, asked: str | None = None, **facts: Any) -> TrialPlan:
    """The plan of a file that shall run like a stored trial with these facts."""
    params = {"layout": "2x1"}
    store.create_study(a_study("other", options=TuneOptions().to_json()))
    number = store.begin(begun("other", params=params))
    store.finish(finished(number, 14.0, "other", params=params, **facts))
    request = RunRequest(Path("HPL.dat"), TuneOptions(), like="other#1", kernel=asked)
    return plan_of(request, DAT, render(DAT), site, store)


def test_the_kernel_of_a_trial_is_taken_where_this_machine_has_it(store: Store, site: Inventory) -> None:
    plan = like(store, site, kernel="Haswell")
    assert (plan.blas, plan.kernel) == ("openblas", "Haswell")


def test_a_simulated_trial_ran_no_kernel_so_the_fastest_here_is_taken(store: Store, site: Inventory) -> None:
    plan = like(store, site, kernel="cost model", versions=SIMULATED)
    assert (plan.blas, plan.kernel) == ("openblas", "Zen")


def test_an_output_of_somebody_else_tells_no_blas_so_the_fastest_here_is_taken(store: Store, site: Inventory) -> None:
    plan = like(store, site, blas="", kernel="", observed=None)
    assert (plan.blas, plan.kernel) == ("openblas", "Zen")


def test_a_kernel_of_another_cpu_is_named_with_those_that_are_here(store: Store, site: Inventory) -> None:
    said = "⟦like⟧ other#1 ran the kernel SkylakeX, but openblas has auto, .* on this CPU: choose one by ⟦kernel⟧"
    with pytest.raises(UsageError, match=said):
        like(store, site, kernel="SkylakeX")


def test_the_kernel_that_is_asked_for_counts_before_that_of_the_trial(store: Store, site: Inventory) -> None:
    assert like(store, site, "Haswell", kernel="SkylakeX").kernel == "Haswell"


def on(hosts: tuple[str, ...], **params: Any) -> TrialRecord:
    """A trial that ran on hosts."""
    return finished(1, 14.0, params=params, observed=BlasObservation("/lib/x.so", "1", "Zen", 1, hosts))


def test_a_run_like_a_trial_runs_on_the_nodes_of_the_trial() -> None:
    """Not on the first ones: the node that was lost then may be there again."""
    assert nodes_like(on(("h1", "h2", "h4")), ("h1", "h2", "h3", "h4")) == ["h1", "h2", "h4"]
    assert nodes_like(on(("h1", "h2")), ("h1", "h2")) == ["h1", "h2"]


def test_where_a_node_is_missing_as_many_others_take_its_place() -> None:
    assert nodes_like(on(("h1", "h4")), ("h1", "h2", "h3")) == ("h1", "h2")


def test_a_check_compares_the_nodes_of_the_trials_and_no_facts_of_nodes_that_were_lost() -> None:
    before = a_study(host={"node_names": ["h1", "h2", "h3", "h4"], "physical_cores": 4, "governor": "powersave"})
    now = a_study(host={"node_names": ["h1", "h2", "h3"], "physical_cores": 3, "governor": "performance"})
    changes = changed_facts((before, on(("h1", "h2", "h4"))), (now, on(("h1", "h2", "h3"))))
    assert {change.what: (change.before, change.now) for change in changes} == {
        "nodes": ("h1, h2, h4", "h1, h2, h3"),
        "frequency governor": ("powersave", "performance"),
    }
