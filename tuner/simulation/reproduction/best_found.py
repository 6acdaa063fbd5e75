"""The search that the authors of a publication had no time for, and what each setting of its winner is worth."""

from collections.abc import Mapping
from dataclasses import dataclass

from hpl.params import Scalar
from results.record import Kind
from results.stats.ranking import Ranked

from ..study import VirtualStudy
from .published import Published


@dataclass(frozen=True)
class SettingLoss:
    """What is lost by changing one setting of the best configuration.

    Attributes:
        best: its value in the best configuration.
        published: its value in the best published test; None where the publication does not state it.
        assumed: the value that the simulations took where the publication states none, else None.
        loss: part of the best rate that is lost with the published or assumed value; 0 where it is the best value too,
            None where that value cannot run.
        worst: the value that costs most, and `worst_loss` what it costs.
    """

    name: str
    best: Scalar
    published: Scalar | None
    assumed: Scalar | None
    loss: float | None
    worst: Scalar
    worst_loss: float


@dataclass(frozen=True)
class BestFound:
    """What the two searches found.

    Attributes:
        winner: the best configuration.
        settings: what each of its settings is worth, most first.
        advised: the best configuration that follows the published advice; None where none of these gave a result.
    """

    winner: Ranked
    settings: tuple[SettingLoss, ...]
    advised: Ranked | None


def search(study: VirtualStudy, engine: str, seed: int) -> Ranked | None:
    """Search and polish; None where somebody stopped it or nothing gave a result."""
    study.search(study.engine(engine, seed), 1)
    best = polish(study) if study.ranking() else None
    return None if study.stopped else best


def polish(study: VirtualStudy) -> Ranked:
    """Try every value of each setting of the best configuration on its own, until that gains nothing.

    Returns:
        The best configuration then.
    """
    best = study.ranking()[0]
    while not study.stopped:
        study.try_all([point for _, point in neighbours(study, best.params)], Kind.SEARCH)
        better = study.ranking()[0]
        if better.key == best.key:
            break
        best = better
    return best


def neighbours(study: VirtualStudy, params: Mapping[str, Scalar]) -> list[tuple[str, dict[str, Scalar]]]:
    """The legal points that differ from `params` in one setting, with its name."""
    found = []
    for name, parameter in study.space.varying.items():
        for value in parameter.values_in(params):
            point = {**params, name: value}
            if value != params[name] and study.space.why_not(point) is None:
                found.append((name, point))
    return found


def setting_losses(study: VirtualStudy, winner: Ranked, published: Published, cores: int) -> tuple[SettingLoss, ...]:
    """What each setting of a polished winner is worth, most first.

    Args:
        cores: of the virtual cluster.
    """
    test = published.test(int(published.best["test"]))
    simulated = published.params(test, cores)
    rows = []
    for name, lost in _losses(study, winner).items():
        worst = max(lost, key=lambda value: lost[value])
        was = simulated.get(name)
        loss = 0.0 if was == winner.params[name] else lost.get(was) if was is not None else None
        stated, assumed = (None, was) if name in published.unstated and name not in test.params else (was, None)
        rows.append(SettingLoss(name, winner.params[name], stated, assumed, loss, worst, lost[worst]))
    return tuple(sorted(rows, key=lambda row: -row.worst_loss))


def _losses(study: VirtualStudy, winner: Ranked) -> dict[str, dict[Scalar, float]]:
    """The part of the winner's rate that each other value of a setting loses, by setting and value."""
    rates = {entry.key: entry.expected_gflops for entry in study.ranking()}
    losses: dict[str, dict[Scalar, float]] = {}
    for name, point in neighbours(study, winner.params):
        rate = rates.get(study.space.key(point))
        if rate is not None:
            losses.setdefault(name, {})[point[name]] = 1 - rate / winner.expected_gflops
    return losses
