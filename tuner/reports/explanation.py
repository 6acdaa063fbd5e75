"""What a study learnt of its parameters, and what one-at-a-time tuning would have missed: tables and sentences."""

from collections.abc import Sequence
from dataclasses import replace

from results.metrics import four_digits
from results.record import Study
from results.report.model import FactColumn, Matrix, Part, Sentence, Table, columns, table_of
from results.report.ranking_table import named_values
from results.stats.intervals import half_95

from ..explain.explanation import Explanation
from ..explain.one_at_a_time import WORTH_A_WORD, MissedValue, OneByOne
from ..explain.taught_study import telling_pairs
from ..explain.variance import PLUS_MINUS, Effect, Pair
from ..settings.dimensions import meanings
from ..units import duration
from ..words import counted
from .figures.effects import MATTERS, shares, values

SHOWN_PAIRS = 6
NOT_TOLD_IN_TURN = (
    "What tuning one parameter at a time would have found cannot be told: these runs tell no value from another, or it "
    "ends at values that no run had."
)
MEANS_H = "H, from 0 to 1: the part of what both do together that neither does alone."
SHOWN_EFFECTS = 8
MORE = "⟦all⟧ tells also which pairs depend on each other, each step in turn, and what each parameter does."
ALL = 0.9
"""Part of what is missing from which on two parameters together are said to bring all of it."""


def short_parts(study: Study, found: Explanation) -> list[Part]:
    """Report what matters most, in as many lines as a terminal shows at once."""
    if not found.effects:
        return [Sentence(_not_apart(study, found))]
    if found.all_disturbed:
        return [*map(Sentence, (in_short(found), found.disturbed, MORE))]
    table = _effects(study, replace(found, effects=found.effects[:SHOWN_EFFECTS]))
    seldom = {"alone", "worst on average"}
    shown = table.only(tuple(column.name for column in table.columns if column.name not in seldom))
    way, about = found.one_at_a_time, list(glossary(found).items())[:1]
    in_turn = f"Starting from the textbook, {in_turn_words(way)}." if _tells_in_turn(found) else NOT_TOLD_IN_TURN
    told = (
        *not_told_apart(found),
        *apart(found),
        best_by_model(found),
        in_turn,
        *([untested(found)] if found.untested else []),
    )
    first = map(Sentence, filter(None, (in_short(found), found.disturbed)))
    return [*first, shown, *map(Sentence, (*told, *(f"{name}: {text}" for name, text in about), MORE))]


def _tells_in_turn(found: Explanation) -> bool:
    """Whether the runs tell what tuning one parameter at a time would find."""
    return found.one_at_a_time.had and any(not effect.tied for effect in found.effects)


def best_by_model(found: Explanation) -> str:
    """Name the best configuration by the model, and what it should reach."""
    best = named_values(found.best, found.names, " ")
    ran = "" if found.best_ran else " It did not run in full: this is an estimate."
    rate = f", {four_digits(found.best_gflops)} GFLOPS" if found.best_gflops else ""
    if found.best_sd_percent is not None:
        rate += f" ± {half_95(found.best_sd_percent):.1f} % (95 % interval)"
    return f"Best by the model: {best}{rate}.{ran}"


def explanation_parts(study: Study, found: Explanation, strongest: Sequence[Matrix] = ()) -> list[Part]:
    """Report what matters, what depends on what, the best by the model, and what one-at-a-time tuning would miss.

    Args:
        strongest: the pairs that depend on each other most, drawn.
    """
    if not found.effects:
        return [Sentence(_not_apart(study, found))]
    effects, of_values = _effects(study, found), values(found.effects)
    explains = "Share of the speed differences that each setting explains. "
    parts: list[Part] = [
        *map(Sentence, filter(None, (in_short(found), found.disturbed))),
        effects,
        shares(effects.title, found.effects),
        *([of_values] if of_values else []),
        Sentence(f"{explains}{_noise(study, found)}"),
        *map(Sentence, not_told_apart(found)),
    ]
    pairs = telling_pairs(found.pairs)[:SHOWN_PAIRS]
    none = Sentence("These runs show no two parameters that depend on each other.")
    together = table_of("What goes together", PAIRS, pairs, caption=f"{PLUS_MINUS} {MEANS_H}")
    parts += [together if pairs else none, *strongest]
    in_turn = one_by_one_parts(found) if _tells_in_turn(found) else [Sentence(NOT_TOLD_IN_TURN)]
    parts += [*map(Sentence, apart(found)), Sentence(best_by_model(found)), *in_turn]
    if found.untested:
        parts.append(Sentence(untested(found)))
    return [*parts, *(Sentence(f"{name}: {text}", unbroken=True) for name, text in glossary(found).items())]


def in_short(found: Explanation) -> str:
    """Say in a sentence or two which parameters matter most, and which value of the first is the best."""
    mattering = [effect for effect in found.effects if effect.ran and effect.total >= MATTERS]
    if found.all_disturbed:
        return "Which parameter matters, and which value is best, cannot be told: all runs were disturbed."
    if all(effect.tied for effect in mattering):
        return "These runs do not tell which parameter matters."
    first, *others = sorted(mattering, key=lambda effect: -effect.total)
    others = [effect for effect in others if not effect.tied][:2]
    best = f"{first.ran[0].words} is best on average"
    if first.tied:
        best = "these runs do not tell its best value from its worst"
    explains = f"it explains {100 * first.total:.0f} % of the speed differences, and {best}"
    then = " and ".join(f"{effect.name} ({100 * effect.total:.0f} %)" for effect in others)
    return f"{first.name} matters most: {explains}.{f' Next come {then}.' if then else ''}"


def _noise(study: Study, found: Explanation) -> str:
    """Say by how much runs differ that nothing else explains."""
    if study.simulated and not study.replayed:
        return f"The model is off by about {found.noise_percent:.1f} %."
    counts_on = f"{found.noise_percent:.1f} % (standard deviation)"
    if found.repeats_percent is None:
        return (
            "No configuration ran twice undisturbed, so it is not known by how much repeated runs differ: "
            f"the model counts on {counts_on}."
        )
    return f"Repeated runs differ by {found.repeats_percent:.1f} %: the model counts on {counts_on}."


def not_told_apart(found: Explanation) -> list[str]:
    """Name parameters of which only one value gave a rate, and those whose best value is not told from the worst."""
    alone = [
        f"{name} {value}" + (f" with {found.alone_with[name]}" if name in found.alone_with else "")
        for name, value in found.alone.items()
    ]
    tied = [effect.name for effect in found.effects if effect.tied]
    return [
        *(
            [f"Only one value gave a rate where others could: {', '.join(alone)}. Nothing tells whether one is better."]
            if alone
            else []
        ),
        *([f"These runs do not tell the best value from the worst: {', '.join(tied)}."] if tied else []),
    ]


def _not_apart(study: Study, found: Explanation) -> str:
    """Say why nothing is told of any setting."""
    of = f"Study {study.marked_name}, {counted(found.runs, 'run')}"
    return f"{of}: too few configurations to tell the settings apart, for no two of them differ in one setting alone."


def glossary(found: Explanation) -> dict[str, str]:
    """Say what the parameters that matter do; the one that matters most comes first."""
    names = [effect.name for effect in found.effects if effect.total >= MATTERS]
    known = meanings()
    return {name: known[name] for name in names if name in known}


def _effects(study: Study, found: Explanation) -> Table:
    shown: tuple[FactColumn[Effect], ...] = (
        FactColumn("parameter", lambda effect: effect.name, words=True),
        FactColumn("alone", lambda effect: f"{100 * effect.share:.0f} ± {half_95(100 * effect.sd):.0f} %"),
        FactColumn("with others", lambda effect: f"{100 * effect.total:.0f} %"),
        FactColumn("best on average", lambda effect: _value(effect, 0), words=True),
        FactColumn("in the best run", lambda effect: found.best_run.get(effect.name), words=True),
        FactColumn("worst on average", lambda effect: _value(effect, -1) if len(effect.ran) > 1 else None, words=True),
    )
    title = f"Study {study.marked_name}: what matters, from {counted(found.runs, 'run')}"
    return table_of(title, shown, found.effects, caption=PLUS_MINUS)


def _value(effect: Effect, place: int) -> str:
    if not effect.ran:
        return ""
    value = effect.ran[place]
    return f"{value.words} ({value.percent:+.1f} ± {half_95(value.sd):.1f} %)"


def apart(found: Explanation) -> list[str]:
    """Say where the best value on average is not that of the best run, and which values HPL treats alike."""
    other = [
        f"{effect.name} {effect.ran[0].words} on average, but {found.best_run[effect.name]} in the best run"
        for effect in found.effects
        if effect.total >= MATTERS
        and effect.ran
        and not effect.tied
        and effect.name in found.best_run
        and found.best_run[effect.name] not in (effect.ran[0].value, *effect.ran[0].alike)
    ]
    alike = [f"{effect.name} {value.words}" for effect in found.effects for value in effect.values if value.alike]
    grid = found.best_run.get("grid")
    fixed = grid is not None and all(effect.name != "grid" for effect in found.effects)
    where = f" on {grid}" if fixed else ""
    mattering = {effect.name for effect in found.effects if effect.total >= MATTERS}
    together = [f"{one} and {another}" for one, another in found.confounded if mattering >= {one, another}]
    return [
        *(f"In these runs {pair} changed together: what each of them does cannot be told apart." for pair in together),
        *([f"Best is {'; '.join(other)}: take the values of one run together, not each value alone."] if other else []),
        *([f"HPL runs alike{where}: {'; '.join(alike)}."] if alike else []),
    ]


def depends(pair: Pair) -> str:
    """Name the best values, as "NB 232 with blis, 192 with openblas", or say that it is the same for all."""
    chosen: dict[str, list[str]] = {}
    for other, one in pair.best.items():
        chosen.setdefault(str(one), []).append(str(other))
    if len(chosen) == 1:
        return f"{pair.one} {next(iter(chosen))} for every {pair.other}"
    return f"{pair.one} " + ", ".join(f"{one} with {'/'.join(others)}" for one, others in chosen.items())


PAIRS: tuple[FactColumn[Pair], ...] = (
    FactColumn("pair", lambda pair: f"{pair.one} x {pair.other}", words=True),
    FactColumn("only together", lambda pair: f"{100 * pair.share:.1f} ± {half_95(100 * pair.sd):.1f} %"),
    FactColumn("H", lambda pair: f"{pair.h:.2f} ± {half_95(pair.h_sd):.2f}"),
    FactColumn("best value by the other's", depends, words=True),
)
"""What a table tells of each two parameters."""


def untested(found: Explanation) -> str:
    """Name the values that no run that counts had, in one sentence."""
    parts = [f"{name} {', '.join(map(str, values))}" for name, values in found.untested.items()]
    which = "that counts, as disturbed ones do not," if found.disturbed and not found.all_disturbed else "that counts"
    return f"No run {which} had {'; '.join(parts)}: what is said of these values is an estimate."


def one_by_one_parts(found: Explanation) -> list[Part]:
    """Report its sweeps, their cost, where they end, and why not at the best configuration."""
    way = found.one_at_a_time
    parts: list[Part] = [_sweeps(way), Sentence(cost(found)), Sentence(verdict(way))]
    if not way.found:
        parts.append(table_of("", MISSED, way.missed, caption=PLUS_MINUS))
        if way.together:
            parts.append(Sentence(why(way)))
    elsewhere = other_starts(found)
    return [*parts, Sentence(elsewhere)] if elsewhere else parts


def _sweeps(way: OneByOne) -> Table:
    """Build a table with a row for each sweep that changed something."""
    gflops, runs = way.start_gflops, 1
    rows = [("", "", "textbook", four_digits(gflops), "", "1")]
    for sweep in way.sweeps:
        runs += sweep.runs
        if sweep.gflops > gflops:
            to = " ".join([f"{sweep.after}", named_values(sweep.followed, list(sweep.followed), " ")]).rstrip()
            gain = f"{100 * (sweep.gflops / gflops - 1):+.1f} %"
            rows.append((sweep.name, f"{sweep.before}", to, four_digits(sweep.gflops), gain, f"{runs}"))
            gflops = sweep.gflops
    shown = columns("swept", "from", "to", "GFLOPS", "gain", "full runs so far", words={"swept", "from", "to"})
    return Table("One parameter at a time, by the model", shown, tuple(rows))


def cost(found: Explanation) -> str:
    """From where it goes how, and what that would have cost, beside what was spent."""
    way = found.one_at_a_time
    order = list(dict.fromkeys(sweep.name for sweep in way.sweeps))
    start = named_values(way.start, found.names, " ")
    turns = f"{', '.join(order)} in turn, {counted(len(way.sweeps) // len(order), 'time')}"
    told = (
        f"Starting from the textbook's {start} it would have varied {turns}: {way.runs} full runs, about "
        f"{duration(way.machine_s)} of the machine"
    )
    return f"{told}; the trials explained here took {duration(found.spent_s)}." if found.spent_s else f"{told}."


def verdict(way: OneByOne) -> str:
    """Where the sweeps end, against the best configuration."""
    return f"From there, {in_turn_words(way)}{'.' if way.found else ':'}"


def in_turn_words(way: OneByOne) -> str:
    """The same without from where."""
    would = "tuning one parameter at a time would have"
    if way.missing_percent < WORTH_A_WORD:
        return f"{would} found the best too, or one as good"
    by = f"{way.missing_percent:.1f} ± {half_95(way.missing_sd):.1f} %"
    end = "ended at a tie with" if way.found else "missed"
    return f"{would} {end} the best, which is {by} faster than its result (95 % interval)"


def other_starts(found: Explanation) -> str | None:
    """Say that what it finds depends on the start, where it does."""
    starts = found.one_at_a_time.starts
    if starts is None or starts.found == starts.count:
        return None
    names = found.names
    worst = named_values({name: value for name, value in starts.worst.items() if name in names}, names, " ")
    return (
        f"It depends on the start: from {starts.found} of all {starts.count} configurations it finds the best; from "
        f"{worst} it ends at {four_digits(starts.end_gflops)} GFLOPS ({-starts.missing_percent:+.1f} %)."
    )


def _percent(percent: float | None, sd: float | None) -> str:
    return "not valid" if percent is None else f"{percent:+.1f} ± {half_95(sd or 0.0):.1f} %"


MISSED: tuple[FactColumn[MissedValue], ...] = (
    FactColumn("missed", lambda one: one.name, words=True),
    FactColumn("ends at", lambda one: one.left_at, words=True),
    FactColumn("best", lambda one: one.best, words=True),
    FactColumn("changed there alone", lambda one: _percent(one.gain_percent, one.gain_sd)),
    FactColumn("changed back in the best", lambda one: _percent(one.back_percent, one.back_sd)),
)
"""What a table tells of each value that was missed."""


def why(way: OneByOne) -> str:
    """Which two of what was missed bring how much of it, where two do."""
    most = way.together[0]
    if most.gain_percent < max(WORTH_A_WORD, half_95(most.gain_sd)):
        return "No two of these together are shown to gain anything: more of them may have to change at once."
    part = most.gain_percent / way.missing_percent
    gain = f"{most.gain_percent:+.1f} ± {half_95(most.gain_sd):.1f} % (95 % interval)"
    share = "all" if part >= ALL else f"{100 * part:.0f} %"
    return f"Changing {most.one} and {most.other} together gains {gain}: {share} of the difference."
