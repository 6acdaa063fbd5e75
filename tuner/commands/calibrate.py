"""`hpltune calibrate`: a virtual cluster from measurements of this machine or of a real cluster."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from hpl.build.simgrid import find_simgrid
from hpl.params import Scalar
from hpl.search_paths import SearchPaths
from results.report.model import Report
from results.stats.disturbed_runs import DisturbedRuns
from runners.virtual.cluster import VirtualCluster

from ..errors import TunerError
from ..events import Listener, Notice
from ..machine.inventory import Inventory
from ..machine.problem_size import full_memory_n
from ..options import TuneOptions
from ..preflight.looking import before_runs
from ..reports.calibration import calibration_facts, calibration_parts, verdict
from ..simulation.calibration import (
    Check,
    MeasurementPlan,
    calibrated_cluster,
    check_points,
    grown,
    measure,
    simulate_checks,
)
from ..simulation.cluster import SimulatedCluster, cluster_dict
from ..simulation.session import cores_here
from ..stopping import StopRequest
from ..trial.workbench import Workbench
from ..user_dirs import UserDirs, hold_folders
from ..user_files import write_text
from ..words import counted
from .set_up import set_up

LARGEST_CHECK_N = 8192


@dataclass(frozen=True)
class CalibrateRequest:
    """What is asked of `hpltune calibrate`.

    Attributes:
        out: where the cluster file goes; None to get it in the result only.
        options: the machine, its BLAS libraries and HPL's source.
        checks: HPL configurations to check the model against.
        rounds: how often everything is measured.
        binding: what a rank is bound to.
    """

    out: Path | None
    options: TuneOptions
    checks: int
    rounds: int
    binding: str = "core"


@dataclass(frozen=True)
class CalibrateResult:
    """The model and how well it predicts.

    Attributes:
        cluster: the model; None where somebody stopped the measurements.
        checks: real runs beside their simulations.
        interrupted: somebody stopped it.
        unwritten: why the cluster file could not be written; None where it was, or none was asked for.
    """

    cluster: VirtualCluster | None
    checks: tuple[Check, ...] = ()
    interrupted: bool = False
    unwritten: TunerError | None = None

    @property
    def text(self) -> str:
        """The model as the text of a cluster file."""
        return "" if self.cluster is None else model_text(self.cluster)

    @property
    def unchecked(self) -> str | None:
        """Why the model is unchecked although there are checks; None where one of them counts."""
        if not self.checks or verdict(self.checks) is not None:
            return None
        why = self.checks[0].reason or self.checks[0].simulated.reason
        return f"no HPL run gave a result both measured and simulated, so the model is unchecked; the first: {why}"

    def report(self) -> Report:
        """How well the model predicts; the model itself is among the facts."""
        if self.cluster is None:
            return Report("Calibration")
        facts = calibration_facts(self.cluster, self.checks)
        return Report(f"Calibration of {self.cluster.name}", calibration_parts(self.checks), facts)


def calibrate(request: CalibrateRequest, listener: Listener, stop: StopRequest) -> CalibrateResult:
    """Measure, write the cluster file, and check how well the model predicts.

    Raises:
        HplError, TunerError: something is missing, or nothing could be measured.
    """
    user_dirs = UserDirs.of_user()
    if request.checks:
        find_simgrid(SearchPaths(user_dirs.prefix, user_dirs.cache))
    with stop.preparing():
        set_up(request.options, user_dirs, listener)
    with hold_folders(user_dirs):
        with stop.preparing():
            workbench = Workbench.open(request.options, user_dirs, listener)
        with closing(workbench):
            inventory = workbench.site
            for spoiler in before_runs(workbench.whole or inventory, user_dirs.data):
                listener(Notice(f"{spoiler}.", caution=True))
            names = request.options.blas_only or (inventory.ranked_blas()[0].name,)
            kernels = {name: inventory.kernels(name, slow=True)[0] for name in names}
            points = _points(request, inventory, kernels)
            asked = MeasurementPlan(kernels, points, request.rounds, request.binding)
            measured = measure(workbench, asked, listener, stop)
        if stop.requested:
            return CalibrateResult(None, interrupted=True)
        cluster = calibrated_cluster(inventory, measured, inventory.host.hostname or "this machine")
        checked = DisturbedRuns.of(measured.checks).sentence()
        for caution in filter(None, (cluster.caution, checked and f"Of the HPL runs to check against: {checked}")):
            listener(Notice(caution, caution=True))
        unwritten = _write(request.out, cluster)
        checks: list[Check] = []
        if points:
            with stop.preparing():
                virtual = SimulatedCluster.open(cluster, user_dirs, request.options.hpl_source, None)
            listener(Notice(f"Simulating the {counted(len(points), 'checked configuration')}"))
            checks = simulate_checks(virtual, points, measured, cores_here(), stop)
    return CalibrateResult(cluster, tuple(checks), stop.requested, unwritten)


def _points(
    request: CalibrateRequest, inventory: Inventory, kernels: Mapping[str, str]
) -> Sequence[Mapping[str, Scalar]]:
    """The configurations to check, with the first of the BLAS libraries."""
    cores, nodes = inventory.host.physical_cores, inventory.node_count
    own = {**dict(zip(("blas", "kernel"), next(iter(kernels.items())), strict=True)), "binding": request.binding}
    largest_n = min(grown(LARGEST_CHECK_N, nodes), full_memory_n(inventory, NB=64, P=1, Q=cores))
    return check_points(own, cores, largest_n, request.checks, nodes)


def _write(out: Path | None, cluster: VirtualCluster) -> TunerError | None:
    """Write the cluster file as soon as it is known; why that was not possible, or None."""
    if out is None:
        return None
    try:
        write_text(out, model_text(cluster))
    except TunerError as error:
        return error
    return None


def model_text(cluster: VirtualCluster) -> str:
    """A virtual cluster as the text of its file."""
    return tomli_w.dumps(cluster_dict(cluster))
