"""`hpltune predict`: the tuned Rmax of clusters that may be built."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from results.metrics import Merit
from results.report.plots import DesignPoint, plot_designs
from results.stats.ranking import Ranked

from ..budget import Budget
from ..console.progress import display, output
from ..console.tables import of_cells, print_fitting
from ..database import folder_of, open_store
from ..errors import TunerError, UsageError
from ..events import Notice
from ..hold_folders import hold_folders
from ..machine.peak import model_above_peak
from ..options import TuneOptions
from ..signals import announce_stop, stop_on_signals
from ..simulation.cluster import SimulatedCluster, cluster_dict, equipment_of
from ..simulation.design.designs import Design, read_designs
from ..simulation.session import say_n, sitting, why_nothing
from ..study.names import free_name
from ..study.session import StudyContext
from ..user_dirs import UserDirs
from .tune import INTERRUPTED

NARROW = ("design", "Rmax GFLOPS", "% of peak", "$/GFLOPS", "MFLOPS/W")
"""Columns where not all of them fit; the others' figures then stand below."""
LEFT = frozenset({"design", "grid", "blas"})


@dataclass(frozen=True)
class PredictRequest:
    """The options of `hpltune predict`."""

    file: Path
    space: str
    engine: str
    trials: int
    seed: int
    full: bool
    jobs: int | None
    limit_s: float
    plot: Path | None
    db: str | None
    as_json: bool


@dataclass(frozen=True)
class Prediction:
    """A design and the best configuration found for it; `merit` counts the nodes that this uses."""

    design: Design
    study: str
    best: Ranked
    merit: Merit

    @property
    def nodes(self) -> int:
        """Of the design."""
        return len(self.design.cluster.node_list)

    @property
    def nodes_used(self) -> int:
        """Of them, those that the best configuration uses."""
        return equipment_of(self.design.cluster).used(self.best.params).nodes

    @property
    def price_usd(self) -> float | None:
        """Of the design with its network."""
        return self.design.cluster.price_with(network_of(self.design))

    @property
    def power_w(self) -> float | None:
        """Of the design with its network."""
        return self.design.cluster.power_with(network_of(self.design))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Its price or power, where the base has one and this design's nodes are others."""
        return tuple(name for name in self.design.dropped if getattr(self, name) is None)


def run_predict(request: PredictRequest) -> int:
    """Tune every design in simulation and set them side by side.

    Returns:
        0, or 130 when the user stopped it.
    """
    designs = read_designs(request.file)
    if request.plot is not None and request.plot.suffix not in {".png", ".svg", ".pdf"}:
        raise UsageError(f"--plot {request.plot}: expected a name that ends in .png, .svg or .pdf")
    console, places = output(stderr=request.as_json), UserDirs.of_user()
    found: list[Prediction] = []
    with (
        hold_folders(places),
        open_store(request.db, places) as store,
        stop_on_signals(announce_stop) as stop,
        display(console) as listener,
    ):
        with stop.preparing():
            first = SimulatedCluster.open(designs[0].cluster, places, None, listener)
        for number, design in enumerate(designs, start=1):
            if stop.requested:
                break
            listener(Notice(f"Design {number} of {len(designs)}: {design.name}"))
            site = replace(first, cluster=design.cluster)
            prediction = _tuned(
                request, design, site, StudyContext(store, listener, stop, folder_of("runs", store, places))
            )
            if prediction is not None:
                found.append(prediction)
    if request.as_json:
        print(json.dumps([to_json(entry) for entry in found], indent=1))
    elif found:
        show_designs(console, found)
    if request.plot is not None and found:
        plot_designs([_point(entry) for entry in found], request.plot)
        console.print(f"Plot: {request.plot}")
    return INTERRUPTED if stop.requested else 0


def network_of(design: Design) -> str:
    """The network a design is held to: the one it names, or the cluster's first."""
    return design.network or design.cluster.default_network


def _tuned(request: PredictRequest, design: Design, site: SimulatedCluster, bench: StudyContext) -> Prediction | None:
    overrides = {"net.network": [network_of(design)]}
    if design.blas is not None:
        overrides["blas"] = [design.blas]
    options = TuneOptions(
        space=request.space,
        engine=request.engine,
        seed=request.seed,
        budget=Budget(trials=request.trials),
        full=request.full,
        overrides=overrides,
        cluster=cluster_dict(design.cluster),
        jobs=request.jobs,
        limit_s=request.limit_s,
    )
    slug = re.sub(r"[^A-Za-z0-9]+", "-", design.name).strip("-").lower() or "design"
    with sitting(free_name(bench.store, f"predict-{slug}"), options, site, bench) as study:
        say_n(study, options)
        study.search(study.engine(request.engine, request.seed), 1)
    ranking = study.ranking()
    if not ranking and bench.stop.requested:
        return None
    if not ranking:
        raise TunerError(f"design {design.name}: {why_nothing(bench.store, study.study)}")
    used = equipment_of(design.cluster).used(ranking[0].params)
    return Prediction(design, study.study, ranking[0], used.merit(ranking[0].expected_gflops))


def show_designs(console: Console, found: Sequence[Prediction]) -> None:
    """The designs side by side, with their best configurations, and the figures that they lack."""
    rows = [_cells(entry) for entry in found]
    best = max(entry.best.expected_gflops for entry in found)
    styles = ["bold" if entry.best.expected_gflops == best else "" for entry in found]
    rest = [name for name in rows[0] if name not in NARROW]
    below = [f"{row['design']}: " + ", ".join(f"{name} {row[name]}" for name in rest if row[name]) for row in rows]
    whole, narrow = (of_cells("Tuned in simulation", rows, names, LEFT, styles) for names in (rows[0], NARROW))
    print_fitting(console, whole, narrow, below)
    for entry in found:
        if entry.nodes_used < entry.nodes:
            console.print(
                f"{entry.design.name}: {entry.nodes_used} of {entry.nodes} nodes are used; % of peak, $/GFLOPS and "
                f"MFLOPS/W count only those.",
                soft_wrap=True,
            )
        doubt = model_above_peak(entry.merit.percent_of_peak)
        if doubt:
            console.print(f"{entry.design.name}: {doubt}", soft_wrap=True)
        if entry.unknown:
            lost = " and no ".join(entry.unknown)
            sentence = (
                f"{entry.design.name} has no {lost}: the base states it for other nodes. Give the design its own."
            )
            console.print(sentence, soft_wrap=True)


def _cells(entry: Prediction) -> dict[str, str]:
    params, value = entry.best.params, entry.merit
    return {
        "design": entry.design.name,
        "nodes": str(entry.nodes),
        "price $": _number(entry.price_usd, ".0f"),
        "Rmax GFLOPS": f"{entry.best.expected_gflops:.4g}",
        "% of peak": _number(value.percent_of_peak, ".1f"),
        "$/GFLOPS": _number(value.usd_per_gflops, ".4g"),
        "MFLOPS/W": _number(value.mflops_per_watt, ".4g"),
        **{name: str(params[name]) for name in ("N", "NB", "grid", "blas")},
    }


def to_json(entry: Prediction) -> dict[str, Any]:
    """A design's figures for scripts."""
    return {
        "design": entry.design.name,
        "nodes": entry.nodes,
        "nodes_used": entry.nodes_used,
        "price_usd": entry.price_usd,
        "power_w": entry.power_w,
        "rpeak_gflops": entry.design.cluster.rpeak_gflops,
        "gflops": entry.best.expected_gflops,
        "percent_of_peak": entry.merit.percent_of_peak,
        "above_peak": model_above_peak(entry.merit.percent_of_peak),
        "usd_per_gflops": entry.merit.usd_per_gflops,
        "mflops_per_watt": entry.merit.mflops_per_watt,
        "study": entry.study,
        "params": dict(entry.best.params),
    }


def _point(entry: Prediction) -> DesignPoint:
    return DesignPoint(
        entry.design.name, entry.best.expected_gflops, entry.design.cluster.rpeak_gflops, entry.price_usd
    )


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
