"""`hpltune explain`: what a study learnt, as tables for people and as JSON for scripts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import prod

from rich.console import Console
from rich.table import Table

from results.record import Kind, Study, TrialRecord
from results.store import Store
from search_spaces.dimension import ranks_and_threads
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.space import SearchSpace

from .engines.surrogate.probes import Probes
from .equipment import host_count
from .errors import TunerError
from .explanation import Explanation, explain
from .options import TuneOptions
from .ping_pong import stored
from .sitting import SEARCHED
from .study_names import newest_search
from .variance import Effect, Pair

EXPLAINED = SEARCHED | {Kind.CONFIRMATION}
"""Kinds of trials that tell something: the repeats of the finalists are what tells the noise."""
SHOWN_PAIRS = 6
LEAST_SHARE = 0.002
"""Pairs below this share of the variance, or below its own uncertainty, are not worth a line."""


def run_explain(console: Console, store: Store, name: str | None, *, as_json: bool) -> None:
    """Explain a study of the store, the newest search where none is named.

    Raises:
        TunerError: there is nothing to explain.
        ResultsError: there is no such study.
    """
    study = store.study(name) if name else newest_search(store, "to explain")
    if not study.space_text:
        raise TunerError(f"study {study.name} only measured a file: there is nothing to explain")
    records = [record for record in store.records(study.name) if record.kind in EXPLAINED]
    if not records:
        raise TunerError(f"study {study.name} has no search trial yet: there is nothing to explain")
    known = stored(store, study.name, Probes(nodes=host_count(study.host, "nodes")))
    found = explain(stored_space(study, records), records, known)
    if as_json:
        print(json.dumps({"study": study.name, **asdict(found)}, indent=1))
        return
    _print(console, study, found)


def stored_space(study: Study, records: Sequence[TrialRecord]) -> SearchSpace:
    """The space of a stored study on a machine as its trials show it, so that no machine has to be looked at."""
    options = TuneOptions.from_json(dict(study.options))
    machine = Machine(
        cores=max(prod(ranks_and_threads(record.params["layout"])) for record in records),
        memory_bytes=_memory_bytes(study.host),
        blas=_blas(records),
        N=max(int(record.params["N"]) for record in records),
        nodes=1 if study.simulated else host_count(study.host, "nodes"),
        mpis=_seen(records, "mpi") or Machine.mpis,
    )
    overrides = dict(options.overrides or {})
    if study.simulated:
        overrides.setdefault("binding", ["core"])
    return load(study.space_name, machine, overrides, study.space_text)


def _blas(records: Sequence[TrialRecord]) -> dict[str, BlasFacts]:
    """The libraries with the kernels that were tried; a library has threads where a trial of it had."""
    found = {}
    for name in _seen(records, "blas"):
        own = [record for record in records if record.params["blas"] == name]
        threaded = any(ranks_and_threads(record.params["layout"])[1] > 1 for record in own)
        found[name] = BlasFacts(_seen(own, "kernel") or ("auto",), threaded=threaded)
    return found


def _seen(records: Sequence[TrialRecord], name: str) -> tuple[str, ...]:
    """The values that trials had of a parameter, in the order of their first use."""
    return tuple(dict.fromkeys(str(record.params[name]) for record in records if name in record.params))


def _memory_bytes(host: Mapping[str, object]) -> int:
    known = host.get("memory_available_bytes") or host.get("memory_bytes")
    return int(known) if isinstance(known, int | float) else 2**62


def _print(console: Console, study: Study, found: Explanation) -> None:
    console.print(_effects(study, found))
    pairs = [pair for pair in found.pairs if pair.share >= max(LEAST_SHARE, pair.sd)][:SHOWN_PAIRS]
    if pairs:
        console.print(_pairs(pairs))
    else:
        console.print("No two parameters depend on each other as far as the runs can tell.")
    for sentence in sentences(found):
        console.print(sentence)


def _effects(study: Study, found: Explanation) -> Table:
    title = f"Study {study.name}: what matters, by {found.runs} runs"
    caption = f"parts of the variance of all rates; a repeated run differs by {found.noise_percent:.1f} %"
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
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
        told = f"{100 * pair.share:.1f} ± {100 * pair.sd:.1f} %"
        table.add_row(f"{pair.one} x {pair.other}", told, f"{pair.h:.2f}", depends(pair))
    return table


def depends(pair: Pair) -> str:
    """The best values, as "NB 232 with blis, 192 with openblas", or that it is the same for all."""
    chosen: dict[str, list[str]] = {}
    for other, one in pair.best.items():
        chosen.setdefault(str(one), []).append(str(other))
    if len(chosen) == 1:
        return f"{pair.one} {next(iter(chosen))} for every {pair.other}"
    return f"{pair.one} " + ", ".join(f"{one} with {'/'.join(others)}" for one, others in chosen.items())


def sentences(found: Explanation) -> list[str]:
    """The best configuration, what one-at-a-time tuning would have missed, and what no run had."""
    varying = [effect.name for effect in found.effects]

    def shown(point: Mapping[str, object], names: Sequence[str]) -> str:
        return " ".join(f"{name}={point[name]}" for name in names if name in point)

    told = [
        (
            f"Best by the model: {shown(found.best, varying)}, {found.best_gflops:.4g} GFLOPS "
            f"± {found.best_sd_percent:.1f} %."
        )
    ]
    if found.alone_percent < max(0.1, found.best_sd_percent / 2):
        told.append("One parameter at a time from the textbook would have found it too, or one as good.")
    else:
        changed = [name for name in varying if found.alone.get(name) != found.best.get(name)]
        told.append(
            f"One parameter at a time from the textbook would have ended {found.alone_percent:.1f} % lower, at "
            f"{shown(found.alone, changed)}."
        )
    if found.untested:
        parts = [f"{name} {', '.join(map(str, values))}" for name, values in found.untested.items()]
        told.append(f"No run had {'; '.join(parts)}: what is said of them is inferred.")
    return told
