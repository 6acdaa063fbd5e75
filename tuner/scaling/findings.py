"""What the runs of a scaling analysis tell together: efficiency, overhead, limit, and HPL on twice the nodes.

What the model misses at the largest number of nodes, it is expected to miss at twice that number too. Where model and
runs, or model and the law of growth that the runs show, are far apart, nothing is predicted.

The model is that of `engines/perf/hpl_time.py`. Before a run each figure of the machine is what it usually is, give or
take a usual factor; the runs move those figures that they can tell. What they cannot tell, such as a network that no
run used, stays uncertain and makes the interval of the prediction wide.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from hpl.output import parse
from hpl.params import Scalar
from hpl.sizing import flop_count
from results.record import TrialRecord, TrialState
from results.stats.disturbed_runs import DisturbedRuns, undisturbed
from results.stats.intervals import half_95

from ..engines.hpl_time import Shapes, shape_row, straightened
from ..engines.points import Vector
from ..engines.probes import Prior, Probes, prior
from ..words import listed
from .runs import COUNT, ORDER, PlannedRun, ScalingPlan, ScalingSite
from .statistics import (
    CountResult,
    Limit,
    NodeOrder,
    OrderComparison,
    Overhead,
    RunGroup,
    Scaling,
    ScalingGrowth,
    ScalingRun,
    alike,
    compare_orders,
    efficiencies,
    groups,
    growth_of,
    limit_of,
    overheads,
    parts_s,
    scatter_of,
)

MISFIT = 0.03
"""By how much the model is off at a number of nodes, as a standard deviation of the logarithm: assumed."""
ALL_DISTURBED = "All runs on {} {} were disturbed: they may be faster, and nothing follows from their rates."
UNFIT = 0.15
"""How far model and runs may be apart, in the logarithm: with more the model is not one of this machine."""
STEPS = 20
"""Steps in which the figures of the machine are fitted."""
LONGEST_STEP = 1.0
"""Of a step, in standard deviations of each figure: beyond it the straight line leads astray."""


@dataclass(frozen=True)
class ExpectedRate:
    """The rate that is expected of a configuration.

    Attributes:
        interval_gflops: holds the rate with a probability of 95 %.
    """

    gflops: float
    interval_gflops: tuple[float, float]


@dataclass(frozen=True)
class NextDoubling:
    """What twice the nodes should give.

    Attributes:
        expected: what the model says; where `why_not` says something, it is no prediction.
        checked: the same prediction of the largest number from the smaller ones; None with fewer than three numbers.
        measured_gflops: what the largest number really gave.
        why_not: the reason why nothing can be predicted, as the end of a sentence; empty where it can.
    """

    scaling: Scaling
    count: int
    N: int
    expected: ExpectedRate
    efficiency: float
    checked: ExpectedRate | None = None
    measured_gflops: float = 0.0
    why_not: str = ""


@dataclass(frozen=True)
class ScalingFindings:
    """What the runs tell.

    Attributes:
        failed: runs that do not count.
        simulated: nothing was measured.
        noun: what is counted: "node", or "core" on one machine.
        depth: of the look-ahead.
        lost_nodes: nodes that no longer answer.
        unknown: on what numbers of nodes all runs were disturbed, or of how many runs nobody knows it; "" for nothing.
    """

    results: tuple[CountResult, ...] = ()
    overheads: tuple[Overhead, ...] = ()
    orders: tuple[OrderComparison, ...] = ()
    growth: tuple[ScalingGrowth, ...] = ()
    limits: tuple[Limit, ...] = ()
    doublings: tuple[NextDoubling, ...] = ()
    failed: tuple[TrialRecord, ...] = ()
    simulated: bool = False
    noun: str = "node"
    depth: int = 0
    lost_nodes: tuple[str, ...] = field(default=())
    unknown: str = ""


@dataclass(frozen=True)
class ScalingContext:
    """What else findings are made from.

    Attributes:
        dgemm_gflops: of one core, by BLAS and kernel.
        exact: a run gives the same each time.
        depth: of the look-ahead.
    """

    plan: ScalingPlan
    site: ScalingSite
    dgemm_gflops: Mapping[str, Mapping[str, float]]
    exact: bool = False
    depth: int = 0


def findings_of(records: Sequence[TrialRecord], known: ScalingContext) -> ScalingFindings:
    """Work out what the runs tell; where all that are alike were disturbed, no more than the rates that they gave.

    Args:
        records: with their outputs.
    """
    counting = [record for record in undisturbed(records) if record.ranked]
    ranked = [record for record in counting if record.disturbed is None]
    seen, disturbed = DisturbedRuns.of(records), {int(record.params[COUNT]) for record in counting if record.disturbed}
    every, found = (groups(run for one in some for run in _runs_of(one, known.plan)) for some in (counting, ranked))
    results = tuple(
        replace(one, interval=None if disturbed & {*group.runs} else one.interval)
        for group in every
        for one in efficiencies(group, exact=known.exact)
    )
    sure = tuple(one for group in found for one in efficiencies(group, exact=known.exact))
    spent = tuple(one for group in found for one in overheads(group))
    compared = [group for group in found if len(group.runs) > 1]
    by_key = {(group.scaling, group.order): group for group in found}
    orders = tuple(
        compare_orders(by_key[scaling, NodeOrder.SORTED], by_key[scaling, NodeOrder.SHUFFLED], exact=known.exact)
        for scaling in Scaling
        if all((scaling, order) in by_key for order in NodeOrder)
    )
    # Growth is told of the sorted order where that was measured.
    mains = [
        group
        for group in compared
        if (group.order is NodeOrder.SORTED) == ((group.scaling, NodeOrder.SORTED) in by_key)
    ]
    return ScalingFindings(
        results=results,
        overheads=spent,
        orders=orders,
        growth=tuple(filter(None, (growth_of(group, exact=known.exact) for group in mains))),
        limits=tuple(limit_of(group, sure, spent) for group in compared),
        doublings=_doublings(ranked, compared, sure, known),
        failed=tuple(record for record in records if not record.ranked and record.state is not TrialState.CANCELLED),
        simulated=any(record.simulated for record in records),
        unknown=ALL_DISTURBED.format(listed(list(map(str, sorted(disturbed)))), "nodes" if known.plan.size else "cores")
        if disturbed
        else ""
        if seen.disturbed
        else seen.unknown(),
        noun="node" if known.plan.size else "core",
        depth=known.depth,
    )


def _runs_of(record: TrialRecord, plan: ScalingPlan) -> list[ScalingRun]:
    """The run of a record, for each kind of scaling that it belongs to."""
    params = record.params
    count, N = int(params.get(COUNT, 0)), int(params.get("N", 0))
    order = NodeOrder(str(params.get(ORDER, NodeOrder.SORTED)))
    if count not in plan.counts or record.gflops is None or order not in plan.orders:
        return []
    time_s = flop_count(N) / record.gflops / 1e9
    printed = parse(record.output).results
    phases_s = parts_s(time_s, printed[0].phases_s) if printed else {}
    run = ScalingRun(Scaling.WEAK, order, count, N, str(params["grid"]), record.gflops, flop_count(N), time_s, phases_s)
    return [replace(run, scaling=one) for one in plan.scalings_of(PlannedRun(count, order, 0, N))]


def _doublings(
    ranked: Sequence[TrialRecord], compared: Sequence[RunGroup], results: Sequence[CountResult], known: ScalingContext
) -> tuple[NextDoubling, ...]:
    """What twice the nodes should give with sorted lists, for each kind of scaling."""
    found = []
    logs = [[math.log(run.gflops) for run in runs] for group in compared for runs in group.runs.values()]
    noise = scatter_of(logs, exact=known.exact).sd
    points = _points(ranked)
    for group in compared:
        own = [point for point in points if point.count <= group.largest]
        if group.order is not NodeOrder.SORTED or not own:
            continue
        first = next(one for one in results if alike(one, group))
        count = 2 * group.largest
        smaller = [point for point in own if point.count < group.largest]
        last = next(one for one in results if alike(one, group) and one.count == group.largest)
        checked = _predicted(smaller, group, group.largest, noise, known).rate() if (len(group.runs) > 2) else None
        predicted = _predicted(own, group, count, noise, known)
        by_model = predicted.rate().gflops
        growth = growth_of(group, exact=known.exact)
        grown = last.usual_gflops * growth.doubled() if growth else by_model
        missed = abs(math.log(checked.gflops / last.usual_gflops)) if checked else 0.0
        expected = predicted.rate(max(MISFIT, missed, predicted.unfit, abs(math.log(grown / by_model))))
        each = expected.gflops / count / (first.usual_gflops / first.count)
        N = known.plan.n_of(group.scaling, count)
        why_not = _why_not(predicted.unfit, by_model, grown)
        found.append(NextDoubling(group.scaling, count, N, expected, each, checked, last.usual_gflops, why_not))
    return tuple(found)


def _why_not(unfit: float, by_model: float, grown: float) -> str:
    """The reason why a prediction cannot be believed, as the end of a sentence; empty where it can.

    Args:
        unfit: of the model, on the runs themselves.
        by_model: the rate that the model says.
        grown: the rate by the law of growth.
    """
    if unfit > UNFIT:
        return f"the model of HPL's time misses by {100 * math.expm1(unfit):.0f} % how these runs grew"
    if abs(math.log(grown / by_model)) > UNFIT:
        return f"the model of HPL's time says {by_model:.3g} GFLOPS, and {grown:.3g} if it goes on as in these runs"
    return ""


@dataclass(frozen=True)
class MeasuredPoint:
    """A configuration that ran.

    Attributes:
        params: complete.
        count: nodes, or ranks on one machine.
        gflops: of each run.
    """

    params: Mapping[str, Scalar]
    count: int
    gflops: Sequence[float]


@dataclass(frozen=True)
class CountPrediction:
    """What a fitted machine says of more nodes.

    Attributes:
        params: of the configuration that is predicted.
        like: the points of its kind of scaling; the last is on the most nodes.
    """

    machine: "FittedMachine"
    params: Mapping[str, Scalar]
    count: int
    like: Sequence[MeasuredPoint]

    def rate(self, misfit: float = MISFIT) -> ExpectedRate:
        """The rate, whose interval holds what the model misses, too."""
        return self.machine.expected(self.params, self.count, self.like[-1], misfit)

    @property
    def unfit(self) -> float:
        """By how much the model misses how the rate grew in the runs themselves, in the logarithm."""
        off = [self.machine.off(point) for point in self.like]
        return max(abs(one - off[-1]) for one in off)


def _predicted(
    points: Sequence[MeasuredPoint], group: RunGroup, count: int, noise: float, known: ScalingContext
) -> CountPrediction:
    """Predict so many nodes from runs on fewer."""
    plan = known.plan
    machine = fit_machine(points, known.dgemm_gflops, noise, one_machine=not plan.size)
    params = known.site.params(PlannedRun(count, group.order, 0, plan.n_of(group.scaling, count)))
    like = [point for point in points if point.params["N"] == plan.n_of(group.scaling, point.count)]
    return CountPrediction(machine, params, count, sorted(like, key=lambda point: point.count))


def _points(ranked: Sequence[TrialRecord]) -> list[MeasuredPoint]:
    """The configurations that ran on sorted lists, each with its rates."""
    found: dict[tuple[int, int], list[TrialRecord]] = {}
    for record in ranked:
        if record.params.get(ORDER) == NodeOrder.SORTED and record.gflops:
            found.setdefault((int(record.params[COUNT]), int(record.params["N"])), []).append(record)
    rates = [(count, own, [one.gflops or 0.0 for one in own]) for (count, _), own in found.items()]
    return [MeasuredPoint(own[-1].params, count, gflops) for count, own, gflops in rates]


@dataclass(frozen=True)
class FittedMachine:
    """A machine whose figures are fitted to runs.

    Attributes:
        moved: how far each figure is from what it usually is, in standard deviations.
        covariance: of `moved`.
        one_machine: counts are ranks of one machine, not nodes.
    """

    dgemm_gflops: Mapping[str, Mapping[str, float]]
    one_machine: bool
    prior: Prior
    moved: Vector
    covariance: Vector

    def expected(
        self, params: Mapping[str, Scalar], count: int, like: MeasuredPoint, misfit: float = MISFIT
    ) -> ExpectedRate:
        """Predict the rate of a configuration on so many nodes.

        Args:
            like: the largest run of that kind, whose distance from the model counts here too.
            misfit: standard deviation of what the model misses, in the logarithm.
        """
        off = self.off(like)
        log, variance = self._log(params, count)
        margin = half_95(math.sqrt(variance + misfit**2))
        return ExpectedRate(math.exp(log + off), (math.exp(log + off - margin), math.exp(log + off + margin)))

    def off(self, point: MeasuredPoint) -> float:
        """How far runs are from the model, in the logarithm."""
        return fmean(map(math.log, point.gflops)) - self._log(point.params, point.count)[0]

    def _log(self, params: Mapping[str, Scalar], count: int) -> tuple[float, float]:
        """Logarithm of the rate by the model, and its variance."""
        shapes = _shapes([(params, count)], self.dgemm_gflops, one_machine=self.one_machine)
        line = straightened(shapes, self.prior, self.moved, 1.0, 1.0)
        variance = float(line.slopes[0] @ self.covariance @ line.slopes[0])
        return float(line.mean[0] + line.slopes[0] @ self.moved), variance


def fit_machine(
    points: Sequence[MeasuredPoint],
    dgemm_gflops: Mapping[str, Mapping[str, float]],
    noise: float,
    *,
    one_machine: bool,
) -> FittedMachine:
    """Fit the figures of a machine to the mean rates of configurations: the most probable ones, by Gauss and Newton.

    Args:
        points: at least one.
        dgemm_gflops: of one core, by BLAS and kernel.
        noise: standard deviation of the logarithm of a run's rate.
    """
    shapes = _shapes([(point.params, point.count) for point in points], dgemm_gflops, one_machine=one_machine)
    logs = np.array([fmean(map(math.log, point.gflops)) for point in points])
    weights = np.array([1 / (MISFIT**2 + noise**2 / len(point.gflops)) for point in points])
    usual = prior(Probes(dgemm_gflops))
    moved = np.zeros_like(usual.usual)
    for _ in range(STEPS):
        line = straightened(shapes, usual, moved, 1.0, 1.0)
        precision = line.slopes.T @ (weights[:, None] * line.slopes) + np.eye(len(moved))
        best = np.linalg.solve(precision, line.slopes.T @ (weights * (logs - line.mean)))
        moved = moved + np.clip(best - moved, -LONGEST_STEP, LONGEST_STEP)
    return FittedMachine(
        dgemm_gflops, one_machine, usual, moved, np.asarray(np.linalg.inv(precision), dtype=np.float64)
    )


def _shapes(
    wanted: Sequence[tuple[Mapping[str, Scalar], int]],
    dgemm_gflops: Mapping[str, Mapping[str, float]],
    *,
    one_machine: bool,
) -> Shapes:
    return Shapes(
        np.array(
            [shape_row(params, Probes(dgemm_gflops, nodes=1 if one_machine else count)) for params, count in wanted]
        )
    )
