"""`hpltune explain`: what a study learnt, as tables for people and as JSON for scripts."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from results.record import Study
from results.store.store import Store
from search_spaces.glossary import meaning
from search_spaces.space import SearchSpace

from ..engines.perf.probes import Probes
from ..explain.explanation import Explanation, explain
from ..explain.pairs import explain_pair, parse_pair
from ..explain.stored_space import cluster_of, searched, stored_space
from ..explain.variance import Effect, Pair
from ..machine.equipment import host_count
from ..reports.one_at_a_time import print_one_by_one, shown
from ..reports.pairs import print_crossing
from ..simulation.known import probes_of
from ..tuning.ping_pong import stored
from ..words import counted

SHOWN_PAIRS = 6
MATTERS = 0.01
"""A parameter with at least this share of the differences, with others, has its meaning told."""
LEAST_SHARE = 0.002
"""Pairs below this share of the variance, or below its own uncertainty, are not worth a line."""


def run_explain(console: Console, store: Store, name: str | None, *, pair: str | None = None, as_json: bool) -> None:
    """Explain a study of the store, the newest search where none is named, or two of its parameters.

    Args:
        pair: these two, with a comma between them.

    Raises:
        TunerError: there is nothing to explain, or these do not vary.
        ResultsError: there is no such study.
    """
    study, records = searched(store, name)
    space = stored_space(study, records)
    known = known_before(store, study, space)
    if pair is not None:
        crossing = explain_pair(space, records, parse_pair(pair, space), known)
        if as_json:
            print(json.dumps({"study": study.name, **asdict(crossing)}, indent=1))
        else:
            print_crossing(console, study, crossing)
        return
    found = explain(space, records, known)
    if as_json:
        print(json.dumps({"study": study.name, **asdict(found), "glossary": glossary(found)}, indent=1))
    else:
        _print(console, study, found)


def known_before(store: Store, study: Study, space: SearchSpace) -> Probes:
    """What the search knew of its machine before any run, as far as it is stored."""
    cluster = cluster_of(study)
    if cluster is not None:
        return probes_of(cluster, space)
    return stored(store, study.name, Probes(nodes=host_count(study.host, "nodes")))


def _print(console: Console, study: Study, found: Explanation) -> None:
    console.print(_effects(study, found))
    console.print(
        "Share of the speed differences that each setting explains. "
        f"The model is off by about {found.noise_percent:.1f} %."
    )
    pairs = [pair for pair in found.pairs if pair.share >= max(LEAST_SHARE, pair.sd)][:SHOWN_PAIRS]
    if pairs:
        console.print(_pairs(pairs))
    else:
        console.print("These runs show no two parameters that depend on each other.")
    best = shown(found.best, [effect.name for effect in found.effects])
    console.print(f"Best by the model: {best}, {found.best_gflops:.4g} GFLOPS ± {found.best_sd_percent:.1f} %.")
    print_one_by_one(console, found)
    if found.untested:
        console.print(untested(found))
    for name, text in glossary(found).items():
        console.print(f"{name}: {text}", soft_wrap=True)


def glossary(found: Explanation) -> dict[str, str]:
    """What the parameters that matter do, most first."""
    names = [effect.name for effect in found.effects if effect.total >= MATTERS]
    return {name: text for name in names if (text := meaning(name)) is not None}


def _effects(study: Study, found: Explanation) -> Table:
    title = f"Study {study.name}: what matters, from {counted(found.runs, 'run')}"
    table = Table(title=title, title_justify="left")
    for head in ("parameter", "alone", "with others", "best value", "worst value"):
        table.add_column(head, justify="right" if head in {"alone", "with others"} else "left")
    for effect in found.effects:
        table.add_row(
            effect.name,
            f"{100 * effect.share:.0f} ± {100 * effect.sd:.0f} %",
            f"{100 * effect.total:.0f} %",
            *(_value(effect, place) for place in (0, -1)),
        )
    return table


def _value(effect: Effect, place: int) -> str:
    if not effect.values:
        return ""
    value = effect.values[place]
    return f"{value.value} ({value.percent:+.1f} ± {value.sd:.1f} %)"


def _pairs(pairs: Sequence[Pair]) -> Table:
    table = Table(title="What goes together", title_justify="left")
    for head in ("pair", "only together", "H", "best value by the other's"):
        table.add_column(head, justify="right" if head in {"only together", "H"} else "left")
    for pair in pairs:
        share, strength = f"{100 * pair.share:.1f} ± {100 * pair.sd:.1f} %", f"{pair.h:.2f} ± {pair.h_sd:.2f}"
        table.add_row(f"{pair.one} x {pair.other}", share, strength, depends(pair))
    return table


def depends(pair: Pair) -> str:
    """The best values, as "NB 232 with blis, 192 with openblas", or that it is the same for all."""
    chosen: dict[str, list[str]] = {}
    for other, one in pair.best.items():
        chosen.setdefault(str(one), []).append(str(other))
    if len(chosen) == 1:
        return f"{pair.one} {next(iter(chosen))} for every {pair.other}"
    return f"{pair.one} " + ", ".join(f"{one} with {'/'.join(others)}" for one, others in chosen.items())


def untested(found: Explanation) -> str:
    """The sentence that names the values that no run had."""
    parts = [f"{name} {', '.join(map(str, values))}" for name, values in found.untested.items()]
    return f"Not run: {'; '.join(parts)}. What is said of these values is an estimate."
