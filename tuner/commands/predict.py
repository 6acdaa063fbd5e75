"""`hpltune predict`: the tuned Rmax of clusters that may be built."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.report.model import Drawable, Report

from ..asks.predict import PredictAsk
from ..budget import Budget
from ..errors import OUR_ERRORS, TunerError
from ..events import Listener, Notice
from ..options import DEFAULT_SIMULATION_S, TuneOptions
from ..reports.designs import design_facts, design_figures, design_page, design_parts
from ..simulation.cluster import SimulatedCluster, cluster_dict, equipment_of
from ..simulation.design import Design, Prediction
from ..simulation.session import say_n, virtual_session, why_nothing
from ..stopping import StopRequest
from ..study.names import free_name
from ..study.session import StudyContext
from ..units import parse_duration_s
from .session import open_session

PICTURED = 2
"""Figures that `--plot` draws: the rates within the peaks, and what a GFLOPS costs."""


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
        return replace(self.report(), parts=design_page(self.predictions, self.simulator, self.command))

    def figures(self) -> Sequence[Drawable]:
        """What a picture of the designs shows; nothing where none is predicted."""
        return design_figures(self.predictions)[:PICTURED] if self.predictions else ()


def predict(
    ask: PredictAsk, designs: Sequence[Design], listener: Listener, stop: StopRequest, db: str | None = None
) -> PredictResult:
    """Tune every design in simulation.

    Args:
        designs: at least one.
        db: a file or a URL; None for the user's own database.

    Raises:
        TunerError: the first design gave no result.
        hpl.errors.HplError: SimGrid or HPL's source is missing.
        results.errors.ResultsError: the database cannot be used.
    """
    asked = [(design, _options(ask, design)) for design in designs]
    result = PredictResult((), interrupted=False, command=_command(ask))
    with open_session(db, listener, stop) as session:
        with stop.preparing():
            first = SimulatedCluster.open(designs[0].cluster, session.user_dirs, None, listener)
        result = replace(result, simulator=first.simulator)
        for number, (design, options) in enumerate(asked, start=1):
            if stop.requested:
                break
            listener(Notice(f"Design {number} of {len(designs)}: {design.name}"))
            try:
                prediction = _tuned(design, options, replace(first, cluster=design.cluster), session)
            except (*OUR_ERRORS, OSError) as error:
                if not result.predictions:
                    raise
                return replace(result, interrupted=stop.requested, failure=error)
            if prediction is not None:
                result = replace(result, predictions=(*result.predictions, prediction))
    return replace(result, interrupted=stop.requested)


def _command(ask: PredictAsk) -> str:
    """The command that does the same."""
    file, space, engine = map(shlex.quote, (str(ask.designs), ask.space, ask.engine))
    full = " ⟦full⟧" if ask.full else ""
    return f"hpltune predict {file} ⟦space⟧ {space} ⟦engine⟧ {engine} ⟦trials⟧ {ask.trials} ⟦seed⟧ {ask.seed}{full}"


def _options(ask: PredictAsk, design: Design) -> TuneOptions:
    """The options of a design's study, which has only the network and the BLAS that the design names.

    Raises:
        UsageError: the limit of a simulation is no time.
    """
    return TuneOptions(
        space=ask.space,
        engine=ask.engine,
        seed=ask.seed,
        budget=Budget(trials=ask.trials),
        full=ask.full,
        overrides={"net.network": [design.network_used], **({} if design.blas is None else {"blas": [design.blas]})},
        cluster=cluster_dict(design.cluster),
        jobs=ask.jobs,
        limit_s=parse_duration_s(ask.limit, "limit") if ask.limit else DEFAULT_SIMULATION_S,
    )


def _tuned(design: Design, options: TuneOptions, site: SimulatedCluster, context: StudyContext) -> Prediction | None:
    """Tune one design; None where somebody stopped it before there was a result.

    Raises:
        TunerError: it has no result.
    """
    slug = re.sub(r"[^A-Za-z0-9]+", "-", design.name).strip("-").lower() or "design"
    name = free_name(context.store, f"predict-{slug}")
    with virtual_session(name, options, site, context) as study:
        say_n(study, site, options)
        study.search()
    ranking = study.session.ranking()
    if not ranking and context.stop.requested:
        return None
    if not ranking:
        raise TunerError(f"design {design.name}: {why_nothing(context.store, study.session.study)}")
    best, cluster = ranking[0], equipment_of(design.cluster)
    return Prediction(design, study.session.study, best, cluster.used(best.params).merit(best.expected_gflops))
