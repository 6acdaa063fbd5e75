"""The second half of the report of `hpltune reproduce`: what the same hardware could have done."""

from collections.abc import Sequence
from dataclasses import asdict

from results.report.model import Column, Figure, Part, Sentence, Series, Table

from ..simulation.reproduction import BestFound, ComparedTest, Published, SettingLoss, simulated_gflops
from ..words import listed

HEADS = ("setting", "best", "published", "assumed", "loss with it", "worst", "loss with that")


def best_found_parts(
    published: Published, tests: Sequence[ComparedTest], found: BestFound, study: str
) -> tuple[Part, ...]:
    """How much faster the best configuration is, what its settings are worth, and what following the advice costs.

    Args:
        study: what `hpltune show` needs to find the trials.
    """
    table = Table(
        title="What you lose by changing one setting of the best configuration",
        columns=tuple(Column(head, words="loss" not in head) for head in HEADS),
        rows=tuple(_cells(row) for row in found.settings),
    )
    said = [*remarks(published, found), *_advice_sentences(published, found)]
    return (
        Sentence(_rate_sentence(published, tests, found), unbroken=True),
        *_figures(found),
        table,
        *(Sentence(text, unbroken=True) for text in said),
        Sentence(f"All trials: hpltune show {study}"),
    )


def _rate_sentence(published: Published, tests: Sequence[ComparedTest], found: BestFound) -> str:
    best, number = found.winner.expected_gflops, int(published.best["test"])
    tested = simulated_gflops(tests, number)
    beside = f", {best / tested - 1:.1%} above test {number} as simulated" if tested else ""
    return (
        f"The search found {best:.2f} GFLOPS on the same hardware: {best / published.best['gflops'] - 1:.1%} above the "
        f"published {published.best['gflops']}{beside}."
    )


def _figures(found: BestFound) -> list[Figure]:
    """What each setting is worth; nothing where none was changed."""
    if not found.settings:
        return []
    names = tuple(row.name for row in found.settings)
    worst = Series(
        "worst value",
        names,
        tuple(100 * row.worst_loss for row in found.settings),
        labels=tuple(str(row.worst) for row in found.settings),
    )
    known = [row for row in found.settings if row.loss is not None]
    told = Series(
        "published or assumed value",
        tuple(row.name for row in known),
        tuple(100 * (row.loss or 0.0) for row in known),
        labels=tuple(str(row.assumed if row.published is None else row.published) for row in known),
    )
    title = "What one other setting costs"
    return [Figure(title, "setting", "% of the best rate lost", (worst, told), lying=True)]


def _cells(row: SettingLoss) -> tuple[str, ...]:
    loss = "" if row.loss is None else f"{row.loss:.1%}"
    published, assumed = ("" if value is None else str(value) for value in (row.published, row.assumed))
    return (row.name, str(row.best), published, assumed, loss, str(row.worst), f"{row.worst_loss:.1%}")


def remarks(published: Published, found: BestFound) -> list[str]:
    """Which values the article does not state, and where the model finds another best value than the authors."""
    said = []
    assumed = [row.name for row in found.settings if row.assumed is not None]
    if assumed:
        said.append(
            f'The article does not state {listed(assumed)}. "assumed" is what the simulations took, not what the '
            "authors used: these losses say nothing about the authors' tests."
        )
    best = {row.name: row.best for row in found.settings}
    said += [
        f"{one.setting} was best at {one.published} in the article and at {best[one.setting]} here. {one.why}"
        for one in published.differs
        if best.get(one.setting, one.published) != one.published
    ]
    return said


def _advice_sentences(published: Published, found: BestFound) -> list[str]:
    if found.advised is None:
        return []
    advised = found.advised.expected_gflops
    held = ", ".join(str(found.advised.params[name]) for name in published.advice.values)
    loss = 1 - advised / found.winner.expected_gflops
    sentence = (
        f'The documentation recommends "{published.advice.what}". With {held} you lose {100 * loss:.1f} %, even after '
        f"retuning everything else ({advised:.2f} GFLOPS)."
    )
    return [sentence]


def best_found_facts(published: Published, found: BestFound) -> dict[str, object]:
    """What the searches found, for scripts."""
    return {
        "gflops": found.winner.expected_gflops,
        "params": dict(found.winner.params),
        "settings": [asdict(row) for row in found.settings],
        "remarks": remarks(published, found),
        "advised_gflops": found.advised.expected_gflops if found.advised else None,
        "advised_params": dict(found.advised.params) if found.advised else None,
    }
