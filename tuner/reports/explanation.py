"""What a study learnt of its parameters, as tables and sentences."""

from collections.abc import Sequence

from results.record import Study
from results.report.model import Column, Matrix, Part, Sentence, Table
from results.report.ranking_table import named_values
from search_spaces.parameters.glossary import meaning

from ..explain.explanation import Explanation
from ..explain.taught_study import telling_pairs
from ..explain.variance import Effect, Pair
from ..words import counted
from .figures.effects import MATTERS, shares, values
from .one_at_a_time import one_by_one_parts

SHOWN_PAIRS = 6


def explanation_parts(study: Study, found: Explanation, strongest: Sequence[Matrix] = ()) -> list[Part]:
    """Report what matters, what depends on what, the best by the model, and what one-at-a-time tuning would miss.

    Args:
        strongest: the pairs that depend on each other most, drawn.
    """
    effects, of_values = _effects(study, found), values(found.effects)
    explains = "Share of the speed differences that each setting explains. "
    parts: list[Part] = [
        effects,
        shares(effects.title, found.effects),
        *([of_values] if of_values else []),
        Sentence(f"{explains}The model is off by about {found.noise_percent:.1f} %."),
    ]
    pairs = telling_pairs(found.pairs)[:SHOWN_PAIRS]
    none = Sentence("These runs show no two parameters that depend on each other.")
    parts += [_pairs(pairs) if pairs else none, *strongest]
    best = named_values(found.best, [effect.name for effect in found.effects], " ")
    model = f"Best by the model: {best}, {found.best_gflops:.4g} GFLOPS ± {found.best_sd_percent:.1f} %."
    parts += [Sentence(model), *one_by_one_parts(found)]
    if found.untested:
        parts.append(Sentence(untested(found)))
    return [*parts, *(Sentence(f"{name}: {text}", unbroken=True) for name, text in glossary(found).items())]


def glossary(found: Explanation) -> dict[str, str]:
    """Say what the parameters that matter do; the one that matters most comes first."""
    names = [effect.name for effect in found.effects if effect.total >= MATTERS]
    return {name: text for name in names if (text := meaning(name)) is not None}


def _effects(study: Study, found: Explanation) -> Table:
    rows = (
        (
            effect.name,
            f"{100 * effect.share:.0f} ± {100 * effect.sd:.0f} %",
            f"{100 * effect.total:.0f} %",
            *(_value(effect, place) for place in (0, -1)),
        )
        for effect in found.effects
    )
    heads = ("parameter", "alone", "with others", "best value", "worst value")
    columns = tuple(Column(head, words=head not in {"alone", "with others"}) for head in heads)
    return Table(f"Study {study.name}: what matters, from {counted(found.runs, 'run')}", columns, tuple(rows))


def _value(effect: Effect, place: int) -> str:
    if not effect.values:
        return ""
    value = effect.values[place]
    return f"{value.value} ({value.percent:+.1f} ± {value.sd:.1f} %)"


def _pairs(pairs: Sequence[Pair]) -> Table:
    rows = (
        (
            f"{pair.one} x {pair.other}",
            f"{100 * pair.share:.1f} ± {100 * pair.sd:.1f} %",
            f"{pair.h:.2f} ± {pair.h_sd:.2f}",
            depends(pair),
        )
        for pair in pairs
    )
    heads = ("pair", "only together", "H", "best value by the other's")
    columns = tuple(Column(head, words=head not in {"only together", "H"}) for head in heads)
    return Table("What goes together", columns, tuple(rows))


def depends(pair: Pair) -> str:
    """Name the best values, as "NB 232 with blis, 192 with openblas", or say that it is the same for all."""
    chosen: dict[str, list[str]] = {}
    for other, one in pair.best.items():
        chosen.setdefault(str(one), []).append(str(other))
    if len(chosen) == 1:
        return f"{pair.one} {next(iter(chosen))} for every {pair.other}"
    return f"{pair.one} " + ", ".join(f"{one} with {'/'.join(others)}" for one, others in chosen.items())


def untested(found: Explanation) -> str:
    """Name the values that no run had, in one sentence."""
    parts = [f"{name} {', '.join(map(str, values))}" for name, values in found.untested.items()]
    return f"Not run: {'; '.join(parts)}. What is said of these values is an estimate."
