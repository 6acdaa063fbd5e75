"""`hpltune predict`: the tuned Rmax of clusters that may be built."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from results.report.model import Drawable, Report

from ..budget import Budget
from ..errors import OUR_ERRORS, TunerError
from ..events import Listener, Notice
from ..options import TuneOptions
from ..reports.designs import design_facts, design_figures, design_page, design_parts
from ..simulation.cluster import SimulatedCluster, cluster_dict, equipment_of
from ..simulation.design import Design, Prediction, read_designs
from ..simulation.session import say_n, virtual_session, why_nothing
from ..stopping import StopRequest
from ..study.names import free_name
from ..study.session import StudyContext
from .session import open_session

PICTURED = 2
"""Figures that `--plot` draws: the rates within the peaks, and what a GFLOPS costs."""


@dataclass(frozen=True)
class PredictRequest:
    """What is asked of `hpltune predict`.

    Attributes:
        file: the TOML file of designs.
        trials: simulations for each design.
        full: simulate the whole memory, however long it takes.
        jobs: simulations at a time; None for one a core.
        limit_s: real seconds after which one simulation is ended.
        db: a file or a URL; None for the user's own database.
    """

    file: Path
    space: str
    engine: str
    trials: int
    seed: int
    full: bool
    jobs: int | None
    limit_s: float
    db: str | None

    @property
    def command(self) -> str:
        """The command that does the same."""
        file, space, engine = map(shlex.quote, (str(self.file), self.space, self.engine))
        full = " ⟦full⟧" if self.full else ""
        return (
            f"hpltune predict {file} ⟦space⟧ {space} ⟦engine⟧ {engine} ⟦trials⟧ {self.trials} ⟦seed⟧ {self.seed}{full}"
        )


@dataclass(frozen=True)
class PredictResult:
    """What was found.

    Attributes:
        predictions: one for each design, in the order of the file; fewer where somebody stopped it or a design failed.
        interrupted: somebody stopped it.
        failure: why a later design gave no result; those before it are predicted all the same.
        simulator: name and version of what simulated them; None where that is not known.
        command: it does the same again.
    """

    predictions: tuple[Prediction, ...]
    interrupted: bool
    failure: Exception | None = None
    simulator: str | None = None
    command: str = ""

    def report(self) -> Report:
        """The designs side by side."""
        return Report("Designs, tuned in simulation", design_parts(self.predictions), design_facts(self.predictions))

    def page(self) -> Report:
        """The same as a page, which also says what each design is made of."""
        parts = design_page(self.predictions, self.simulator, self.command)
        return replace(self.report(), parts=parts)

    def figures(self) -> Sequence[Drawable]:
        """What a picture of the designs shows; nothing where none is predicted."""
        return design_figures(self.predictions)[:PICTURED] if self.predictions else ()


def predict(request: PredictRequest, listener: Listener, stop: StopRequest) -> PredictResult:
    """Tune every design in simulation.

    Raises:
        TunerError, runners.toml_file.ClusterFileError: the file is wrong, or the first design gave no result.
        hpl.errors.HplError: SimGrid or HPL's source is missing.
        results.errors.ResultsError: the database cannot be used.
    """
    designs = read_designs(request.file)
    result = PredictResult((), interrupted=False, command=request.command)
    with open_session(request.db, listener, stop) as session:
        with stop.preparing():
            first = SimulatedCluster.open(designs[0].cluster, session.user_dirs, None, listener)
        result = replace(result, simulator=first.simulator)
        for number, design in enumerate(designs, start=1):
            if stop.requested:
                break
            listener(Notice(f"Design {number} of {len(designs)}: {design.name}"))
            try:
                prediction = _tuned(request, design, replace(first, cluster=design.cluster), session.context)
            except (*OUR_ERRORS, OSError) as error:
                if not result.predictions:
                    raise
                return replace(result, interrupted=stop.requested, failure=error)
            if prediction is not None:
                result = replace(result, predictions=(*result.predictions, prediction))
    return replace(result, interrupted=stop.requested)


def _tuned(request: PredictRequest, design: Design, site: SimulatedCluster, context: StudyContext) -> Prediction | None:
    """Tune one design; None where somebody stopped it before there was a result."""
    options = _options(request, design)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", design.name).strip("-").lower() or "design"
    with virtual_session(free_name(context.store, f"predict-{slug}"), options, site, context) as study:
        say_n(study, site, options)
        study.search(study.engine(request.engine, request.seed), 1)
    ranking = study.ranking()
    if not ranking and context.stop.requested:
        return None
    if not ranking:
        raise TunerError(f"design {design.name}: {why_nothing(context.store, study.study)}")
    used = equipment_of(design.cluster).used(ranking[0].params)
    return Prediction(design, study.study, ranking[0], used.merit(ranking[0].expected_gflops))


def _options(request: PredictRequest, design: Design) -> TuneOptions:
    """The options of a design's study, which has only the network and the BLAS that the design names."""
    overrides = {"net.network": [design.network_used]}
    if design.blas is not None:
        overrides["blas"] = [design.blas]
    return TuneOptions(
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
