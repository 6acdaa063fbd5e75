"""`hpltune scale`: how HPL scales over the nodes of a cluster, real or virtual, or over the cores of a machine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.record import Study, TrialRecord
from results.report.model import Report
from results.stats.scaling.runs import NodeOrder, Scaling
from results.store.store import Store

from ..errors import UsageError
from ..options import TuneOptions
from ..reports.scaling import scaling_page, scaling_report
from ..scaling.findings import ScalingFindings
from ..scaling.plan import ScalingPlan
from ..scaling.site import COUNT, ScalingSite
from ..study.lifecycle import SCALE, MachineFacts, begin_scaling, go_on

DEFAULT_TIME_S = 600.0
"""Time for all runs, from which N follows, if nobody gives an N or a time."""
MOST_OF_TIME = 0.8
"""Part of the time that runs are planned for: estimates may be wrong."""


@dataclass(frozen=True)
class ScaleRequest:
    """What is asked of `hpltune scale`.

    Attributes:
        options: the machine or the cluster, its BLAS, and `full` for the whole memory.
        counts: numbers of nodes; none takes 1, 2, 4, … up to all.
        repeats: runs of each kind on each number of nodes.
        n, nb: order of the matrix on the smallest number, and block size; None chooses.
        threads: of each rank.
        depth: of the look-ahead.
        time_s: time for all runs; None for the usual one if N is chosen, and for no limit if it is given.
        study: the study of the runs; None takes a new one.
        command: it does the same again.
    """

    options: TuneOptions
    counts: tuple[int, ...] = ()
    scalings: tuple[Scaling, ...] = tuple(Scaling)
    orders: tuple[NodeOrder, ...] | None = None
    n: int | None = None
    nb: int | None = None
    threads: int = 1
    depth: int = 0
    binding: str = "core"
    time_s: float | None = None
    study: str | None = None
    db: str | None = None
    command: str = ""

    @property
    def repeats(self) -> int:
        """Runs of each kind on each number of nodes."""
        return self.options.repeats


@dataclass(frozen=True)
class ScaleResult:
    """How HPL scales.

    Attributes:
        machine: name of the cluster or of this machine.
        skipped: runs that did not begin.
        interrupted: somebody stopped it; what was measured until then is told.
    """

    study: Study
    machine: str
    plan: ScalingPlan
    findings: ScalingFindings
    skipped: int = 0
    interrupted: bool = False
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all runs count, and no node was lost."""
        return bool(self.findings.results) and not self.findings.failed and not self.findings.lost_nodes

    def report(self) -> Report:
        """The verdict, the table, and the facts for scripts."""
        return scaling_report(self.machine, self.study.name, self.findings)

    def page(self) -> Report:
        """The same with figures."""
        return scaling_page(self.report(), self.findings, self.command)


def checked_n(n: int, plan: ScalingPlan, site: ScalingSite, asked: int | None) -> ScalingPlan:
    """The plan with an N whose largest matrices fit.

    Args:
        asked: the N that the user gave, or None.

    Raises:
        UsageError: a run cannot be had; the sentence tells why.
    """
    made = replace(plan, n=n)
    for run in replace(made, repeats=1).runs():
        why = site.why_not(run)
        if why:
            raise UsageError(f"a run on {run.count} cannot be had: {why}", field="n" if asked else "", given=asked)
    return made


def stored_n(store: Store, name: str | None) -> tuple[int, int] | None:
    """N on the smallest number of nodes, and NB, of a stored study; None if there is no such study, or no run.

    Raises:
        UsageError: `hpltune scale` did not make the study.
    """
    if name is None or name not in {study.name for study in store.studies()}:
        return None
    if store.study(name).space_name != SCALE:
        raise UsageError("that study is not one of `hpltune scale`: give another name", field="study", given=name)
    records = [record for record in store.records(name) if COUNT in record.params]
    if not records:
        return None
    first = min(records, key=lambda record: (int(record.params[COUNT]), int(record.params["N"])))
    return int(first.params["N"]), int(first.params["NB"])


def begun(store: Store, request: ScaleRequest, options: TuneOptions, machine: MachineFacts) -> str:
    """Begin the study of the runs, or go on with it, and return its name."""
    name = request.study
    if name is None or name not in {study.name for study in store.studies()}:
        return begin_scaling(store, options, machine, name)
    return go_on(store, name, options, run="run").name


def known_runs(store: Store, study: str) -> dict[str, TrialRecord]:
    """The valid runs of a study by their key, with their outputs."""
    return {record.key: record for record in store.records(study, outputs=True) if record.ranked}


def one_blas(names: Sequence[str]) -> str | None:
    """The BLAS that was named; None if none was.

    Raises:
        UsageError: there are several.
    """
    if len(names) > 1:
        raise UsageError(f"scale measures one BLAS at a time, not {', '.join(names)}", field="blas", given="")
    return names[0] if names else None
