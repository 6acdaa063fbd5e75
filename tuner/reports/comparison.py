"""Reports a comparison: its sides, a table of pairs, sentences, a figure of all runs, and the same as facts."""

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from results.metrics import rate_text
from results.printed_run import PrintedRun
from results.record import MEASURED, Study
from results.report.model import (
    FactColumn,
    Figure,
    Folded,
    Heading,
    Part,
    Sentence,
    Series,
    Table,
    Tone,
    Wrap,
    table_of,
)
from results.report.ranking_table import named_values
from results.stats.compare import LEVEL, Contrast, in_percent
from results.stats.headline import disturbed_sentence
from results.stats.levels import did_words
from results.stats.noise import USUAL_NOISE
from results.stats.occasions import Occasions
from results.stats.ranking import Ranked, varying

from ..machine.equipment import CONTAINER, CONTAINER_SHA256, MODULES, WRAP, host_count
from ..words import counted, listed

MOST_SENTENCES = 6
"""Most pairs of which each has sentences of its own."""
TESTS = {"paired": "paired t, by rounds", "rounds": "by rounds, as `blas`", "welch": "Welch's t", "none": "none"}
MOST_RUNS = 100
"""More runs than these are asked of nobody: the runs are too noisy then."""


@dataclass(frozen=True)
class Side:
    """The best configuration of a study, or the best with one value of a parameter.

    Attributes:
        name: the study, or the parameter with its value.
        best: the configuration; its rates are corrected to the last speed of a machine that changed.
        N: of its runs; None if that is not known.
        changed: relative change of the machine's speed in the study; 0 for none.
        noise_seen: something ran twice in the study.
        printed: its runs as HPL printed them; () where they are those of a study that all sides are of.
    """

    name: str
    study: Study
    best: Ranked
    N: int | None
    changed: float = 0.0
    noise_seen: bool = True
    printed: tuple[PrintedRun, ...] = ()

    def shared_with(self, other: "Side") -> int:
        """How many of its runs the other side has, too."""
        return sum(any(run.same_as(one) for one in other.printed) for run in self.printed)


@dataclass(frozen=True)
class InTurn:
    """That the sides were measured in turn, in one occasion, to be compared.

    Attributes:
        study: holds the runs.
        rounds: that were begun, as "6 rounds".
        ended: the sentence why these are fewer than asked for, or "".
        failures: sentences on the runs that do not count.
        unlike: sentences on what the sides were started with, where that differs.
    """

    study: str
    rounds: str
    ended: str = ""
    failures: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Say what this means for the verdict, and what went wrong."""
        told = (
            f"Measured in turn, in one occasion ({self.rounds}, study {self.study}): a difference between occasions "
            "does not count."
        )
        return [told, *([self.ended] if self.ended else []), *self.failures, *self.unlike]


@dataclass(frozen=True)
class Comparison:
    """The sides, and how each differs from each.

    Attributes:
        sides: at least two.
        contrasts: one for each pair of sides, in the order of `itertools.combinations`.
        difference_percent: the difference for which the needed runs are computed.
        in_turn: how the sides were measured in turn; None where each is of an earlier time.
    """

    sides: Sequence[Side]
    contrasts: Sequence[Contrast]
    difference_percent: float
    in_turn: InTurn | None = None

    @property
    def pairs(self) -> list[tuple[Side, Side, Contrast]]:
        """Both sides and the difference of each pair."""
        sides = combinations(self.sides, 2)
        return [(one, other, contrast) for (one, other), contrast in zip(sides, self.contrasts, strict=True)]

    def parts(self) -> list[Part]:
        """Report the configurations, the pairs, and what they amount to."""
        said = [*self._sentences(), *self._turns(), *warnings(self.sides)]
        return [*self._heard(), self._side_table(), self._pair_table(), self._figure(), *map(Sentence, said)]

    def page_parts(self, *beside: Part) -> list[Part]:
        """The verdict in a sentence, the runs of all sides, and what differs; all else is folded.

        Args:
            beside: what stands with the runs.
        """
        why = [text for text in (*self._sentences(), *self._turns()) if text != self._verdict]
        runs = [Heading(self._verdict), *self._heard(), self._figure(), *beside]
        differ: list[Part] = [Heading("What differs"), self._side_table(), *map(Sentence, warnings(self.sides))]
        return [*runs, *differ, Folded("How this was tested", (self._pair_table(), *map(Sentence, why)))]

    def _turns(self) -> list[str]:
        return self.in_turn.sentences() if self.in_turn else []

    def _heard(self) -> list[Sentence]:
        """Cautions about sides whose runs were disturbed."""
        heard = (disturbed_sentence(side.best, side.name) for side in self.sides)
        return [Sentence(text, tone=Tone.CAUTION) for text in heard if text]

    @property
    def _verdict(self) -> str:
        """What is shown of two sides; of several which one is first, and in how many pairs that shows something."""
        if len(self.contrasts) == 1:
            return self._sentences()[0]
        first = max(self.sides, key=lambda side: side.best.median_gflops)
        median = f"{first.name} has the highest median, {rate_text(first.best.median_gflops)} GFLOPS. "
        return ("" if any(_untold(one, other) for one, other, _ in self.pairs) else median) + self._in_how_many()

    def _in_how_many(self) -> str:
        """Say in how many pairs a difference is shown."""
        shown = sum(contrast.shown and not _untold(one, other) for one, other, contrast in self.pairs)
        return f"A difference can be shown in {shown} of {counted(len(self.pairs), 'pair')}."

    def facts(self) -> list[dict[str, object]]:
        """The pairs, as JSON can hold them."""
        return [
            {
                "sides": [_side_facts(one), _side_facts(other)],
                "effect_percent": contrast.effect_percent,
                "interval_percent": _listed(_interval(one, other, contrast)),
                "test": contrast.test,
                "p": None if untold else contrast.p,
                "p_holm": None if untold else contrast.p_holm,
                "difference_shown": contrast.shown and not untold,
                "runs": list(contrast.runs),
                "difference_percent": self.difference_percent,
                "needed_runs": _listed(contrast.needed_runs),
                "confirming_runs": _listed(contrast.confirming_runs),
                "interval_on_these_occasions_percent": _listed(in_percent(contrast.same_occasion)),
                "occasions": (
                    None
                    if (apart := contrast.occasions) is None
                    else {
                        "sd_percent": 100 * apart.sd,
                        "seen": apart.seen,
                        "apart_percent": 100 * math.expm1(apart.reach(LEVEL)),
                    }
                ),
                "measured_in_turn": None if self.in_turn is None else asdict(self.in_turn),
                "conditions": [side.best.conditions.value for side in (one, other)],
                "disturbed": [str(side.best.disturbance) for side in (one, other) if side.best.disturbance],
                "warnings": [*([untold] if untold else []), *warnings((one, other))],
            }
            for one, other, contrast in self.pairs
            for untold in [_untold(one, other)]
        ]

    def _side_table(self) -> Table:
        """Build the table of the best configurations, with the parameters in which they differ."""
        names = varying([side.best for side in self.sides]) or sorted(self.sides[0].best.params)
        shown: tuple[FactColumn[Side], ...] = (
            FactColumn("side", lambda side: side.name, words=True),
            FactColumn("median GFLOPS", lambda side: side.best.median_gflops, rate_text),
            FactColumn("runs", lambda side: side.best.runs),
            FactColumn("configuration", lambda side: named_values(side.best.params, names), words=True),
        )
        return table_of("Each side at its best", shown, self.sides)

    def _pair_table(self) -> Table:
        """Build the table of pairs."""
        tested = sum(contrast.p is not None for contrast in self.contrasts)
        caption = f"p is corrected for {tested} tests, intervals are not." if tested > 1 else ""
        return table_of("Rate of A against that of B", PAIRS, self.pairs, caption=caption)

    def _figure(self) -> Figure:
        """Draw the rates of each side as points."""
        series = [
            Series(
                side.name,
                (side.name,) * runs,
                side.best.gflops,
                points=True,
                hollow=(side.best.disturbance is not None,) * runs,
            )
            for side in self.sides
            for runs in (side.best.runs,)
        ]
        return Figure(
            "Runs of each side at its best configuration",
            "side",
            "GFLOPS",
            tuple(series),
            caption="Each point is one full run.",
        )

    def _sentences(self) -> list[str]:
        """Say what is shown of each pair; of many pairs only in how many something is."""
        pairs = self.pairs
        if len(pairs) > MOST_SENTENCES:
            return [self._in_how_many()]
        return [sentence for pair in pairs for sentence in self._told(*pair)]

    def _told(self, one: Side, other: Side, contrast: Contrast) -> list[str]:
        """Say whether a difference is shown, and otherwise what would show one."""
        if untold := _untold(one, other):
            return [untold]
        if contrast.exact:
            return [_simulated(one, other, contrast)]
        if contrast.interval is None:
            return [_once_each(one, other, contrast)]
        noise = [_untested(one, other, contrast)] if contrast.test == "none" else []
        if contrast.shown:
            return [_shown(one, other, contrast), *noise, *_of_occasions(contrast)]
        if contrast.occasions and contrast.seen_on_these_occasions:
            return [_shown(one, other, contrast, then=True), *noise, _only_then(one, other, contrast.occasions)]
        said = [f"No difference can be shown between {one.name} and {other.name}.", *noise]
        turns = [_in_turn_advice(one, other)] if contrast.occasions and _can_run(one, other) else []
        return [*said, self._more(one, other, contrast), *turns]

    def _more(self, one: Side, other: Side, contrast: Contrast) -> str:
        """Say how many more runs would confirm the difference that was seen, or show one of the stated size."""
        seen = abs(contrast.effect_percent)
        if seen < self.difference_percent:
            more, size = contrast.needed_runs, f"a difference of {self.difference_percent:g} %"
        else:
            more, size = contrast.confirming_runs, f"the {seen:.2g} % that were seen"
        if more is None:
            return _no_number(size, contrast)
        if max(more) > MOST_RUNS:
            return f"Runs differ too much here to show {size}: it would take {max(more):,} more runs."
        named = [
            f"{counted(count, 'more run')} of {side.name}"
            for count, side in zip(more, (one, other), strict=True)
            if count
        ]
        if not named:
            return f"So many runs show {size} with 80 % probability: the difference is probably smaller."
        return f"It takes {' and '.join(named)} to show {size} with 80 % probability."


def _untold(one: Side, other: Side) -> str:
    """Say why two sides cannot be compared, however much their rates differ; "" where they can."""
    cannot = f"Which of {one.name} and {other.name} is faster cannot be told"
    if len({side.study.simulated and not side.study.replayed for side in (one, other)}) > 1:
        return f"{cannot}: a simulated rate and one of a real machine are not compared."
    bounds = [side.name for side in (one, other) if side.best.disturbance]
    return f"{cannot}: all runs of {listed(bounds)} were disturbed." if bounds else ""


def _shown(one: Side, other: Side, contrast: Contrast, *, then: bool = False) -> str:
    """Say which side is faster, and by how much.

    Args:
        then: it holds for the two occasions only.
    """
    ends = in_percent(contrast.same_occasion if then else contrast.interval)
    faster, slower, percent = _faster_first(one, other, contrast)
    if ends and faster is other:
        ends = _inverse(ends[1]), _inverse(ends[0])
    interval = f" (95 % interval {ends[0]:.2f} to {ends[1]:.2f} %)" if ends else ""
    if then:
        return f"On these two occasions {faster.name} was {percent:.2f} % faster than {slower.name}{interval}."
    unknown = [side.name for side in (one, other) if side.best.unknown]
    surely = "probably " if contrast.p_holm is None or unknown else ""
    doubt = f" Whether something disturbed runs of {listed(unknown)} is not known." if unknown else ""
    return f"{faster.name} is {surely}{percent:.2f} % faster than {slower.name}{interval}.{doubt}"


def _once_each(one: Side, other: Side, contrast: Contrast) -> str:
    """Say what two single runs gave, of which nothing tells how much they owe to chance."""
    faster, slower, percent = _faster_first(one, other, contrast)
    ran = f"The run of {faster.name} was {percent:.2f} % faster than that of {slower.name}"
    return f"{ran}. There is no interval: neither side ran twice, so nothing tells how much is chance."


def _of_occasions(contrast: Contrast) -> list[str]:
    """Say that a difference between occasions is in the interval."""
    if contrast.occasions is None:
        return []
    return [f"The interval has the difference between two occasions in it, {contrast.occasions.words}."]


def _no_number(size: str, contrast: Contrast) -> str:
    """Say that no number of runs shows a difference that two occasions may have."""
    if contrast.occasions is None:
        return f"Nothing tells how many runs would show {size}."
    apart = 100 * math.expm1(contrast.occasions.reach(LEVEL))
    return (
        f"More runs on these two occasions would not show {size}: two occasions of one machine may be {apart:.1f} % "
        f"apart ({contrast.occasions.words})."
    )


def _only_then(one: Side, other: Side, occasions: Occasions) -> str:
    """Say why a difference between two occasions may be no difference of the configurations."""
    apart = f"Two occasions of one machine may be {100 * math.expm1(occasions.reach(LEVEL)):.1f} % apart"
    said = "This holds for these two occasions; a difference between occasions is not in the interval"
    if not _can_run(one, other):
        return f"{said}. {apart} ({occasions.words})."
    first, *_ = sorted(shlex.quote(side.name) for side in (one, other))
    days = f"`hpltune check ⟦baseline⟧ {first}` on other days tells how much they are"
    return f"{said}. {apart} ({occasions.words}): {days}. {_in_turn_advice(one, other)}"


def _can_run(one: Side, other: Side) -> bool:
    """Whether both sides are studies of this database whose best configurations can be run again."""
    named = {one.name, other.name} == {one.study.name, other.study.name}
    return named and all(side.study.how == MEASURED for side in (one, other))


def _in_turn_advice(one: Side, other: Side) -> str:
    """Say how one occasion tells it."""
    names = " ".join(sorted(shlex.quote(side.name) for side in (one, other)))
    return f"`hpltune compare {names} ⟦interleaved⟧` runs both in turn now, in one occasion."


def _listed(ends: Sequence[float] | None) -> list[float] | None:
    return None if ends is None else list(ends)


def _simulated(one: Side, other: Side, contrast: Contrast) -> str:
    """Say how two simulated sides differ, whose runs do not depend on chance."""
    certain = "simulated runs do not depend on chance."
    if not contrast.shown:
        return f"{one.name} and {other.name} are equally fast: {certain}"
    faster, slower, percent = _faster_first(one, other, contrast)
    return f"{faster.name} is {percent:.2f} % faster than {slower.name}: {certain}"


def _faster_first(one: Side, other: Side, contrast: Contrast) -> tuple[Side, Side, float]:
    """Return the faster side, the slower one, and how much faster it is in percent."""
    percent = contrast.effect_percent
    return (other, one, _inverse(percent)) if percent < 0 else (one, other, percent)


def _inverse(percent: float) -> float:
    """Return in percent how much faster the second is, from how much faster the first is."""
    return 100.0 * (1.0 / (1.0 + percent / 100.0) - 1.0)


def _untested(one: Side, other: Side, contrast: Contrast) -> str:
    """Say why there is no test, and where the interval is from."""
    once = [side for side, runs in zip((one, other), contrast.runs, strict=True) if runs == 1]
    if not once:
        return "The runs of both do not differ at all, so the interval is from the noise of the study, without a test."
    said = f"Of {' and '.join(side.name for side in once)} only one run counts, which may be luck: the interval is "
    unknown = [side for side in (one, other) if not side.noise_seen]
    if not unknown:
        return f"{said}from the noise of the study, without a test."
    return f"{said}without a test, assuming that runs of {unknown[0].name} differ by {USUAL_NOISE:.0%}, as usual."


def _verdict(one: Side, other: Side, contrast: Contrast) -> str:
    """Say in a few words which of two is faster."""
    faster = "A faster" if contrast.effect > 0 else "B faster"
    if _untold(one, other):
        return "cannot be told"
    if contrast.shown:
        sure = contrast.exact or (contrast.p_holm is not None and not (one.best.unknown or other.best.unknown))
        return faster if sure else f"{faster}, probably"
    if contrast.occasions and contrast.seen_on_these_occasions:
        return f"{faster}, only then"
    return "none shown" if contrast.interval or contrast.exact else "not known"


def _interval(one: Side, other: Side, contrast: Contrast) -> tuple[float, float] | None:
    """The ends of the difference in percent; None where they are not told."""
    return None if contrast.exact or _untold(one, other) else contrast.interval_percent


PAIRS: tuple[FactColumn[tuple[Side, Side, Contrast]], ...] = (
    FactColumn("A", lambda pair: pair[0].name, words=True, wrap=Wrap.ANYWHERE),
    FactColumn("B", lambda pair: pair[1].name, words=True, wrap=Wrap.ANYWHERE),
    FactColumn("difference %", lambda pair: pair[2].effect_percent, "+.2f"),
    FactColumn(
        "95 % interval", lambda pair: _interval(*pair), lambda ends: f"{ends[0]:+.2f} to {ends[1]:+.2f}", none="none"
    ),
    FactColumn(
        "p (Holm)",
        lambda pair: None if _untold(*pair[:2]) else pair[2].p_holm,
        lambda p: "<0.0001" if p < 0.0001 else f"{p:.2g}",
    ),
    FactColumn("test", lambda pair: TESTS[pair[2].test], words=True, aside=True),
    FactColumn("runs", lambda pair: ", ".join(map(str, pair[2].runs)), aside=True),
    FactColumn("verdict", lambda pair: _verdict(*pair), words=True),
)
"""What a table tells of each two sides."""


def _side_facts(side: Side) -> dict[str, object]:
    return {
        "name": side.name,
        "study": side.study.name,
        "simulated": side.study.simulated,
        "replayed": side.study.replayed,
        "N": side.N,
        "configuration": dict(side.best.params),
        "trial": side.best.best_record_number,
        "gflops": list(side.best.gflops),
    }


def _of_runs(study: Study, fact: str) -> object:
    """How a study's ranks were started; None where hpltune did not start them."""
    return str(study.host.get(fact, "none")) if study.how == MEASURED else None


FACTS: tuple[tuple[str, Callable[[Side], object]], ...] = (
    ("N", lambda side: side.N),
    ("CPU", lambda side: side.study.host.get("cpu_model")),
    ("nodes", lambda side: host_count(side.study.host, "nodes")),
    ("cores", lambda side: side.study.host.get("physical_cores")),
    ("container", lambda side: _of_runs(side.study, CONTAINER)),
    ("content of the container", lambda side: _of_runs(side.study, CONTAINER_SHA256)),
    ("words before the program", lambda side: _of_runs(side.study, WRAP)),
    ("modules", lambda side: _of_runs(side.study, MODULES)),
)
"""What should be the same on all sides, by its name in a sentence; unknown values are None."""


def _unlike_origins(sides: Sequence[Side]) -> list[str]:
    """Say which sides were simulated or replayed."""
    hows = {side.study.how for side in sides if side.study.simulated}
    if not hows:
        return []
    if len(hows) == 1 and all(side.study.simulated for side in sides):
        return [f"All rates here were {how}: nothing was measured." for how in hows]
    told = []
    for how in ("simulated", "replayed"):
        names = [side.name for side in sides if side.study.how == how]
        told += [f"{listed(names)} {'was' if len(names) == 1 else 'were'} {how}"] if names else []
    if not all(side.study.simulated for side in sides):
        told.append("the rest ran on a real machine")
    return [f"{listed(told)}."]


def _unknown_machines(sides: Sequence[Side]) -> list[str]:
    """Say of which sides the machine is not known, so that it may be another one."""
    names = list(
        dict.fromkeys(side.name for side in sides if side.study.imported and not side.study.host.get("cpu_model"))
    )
    if not names or len({side.study.name for side in sides}) < 2:
        return []
    return [f"On which machine {listed(names)} ran is not known: it may be another machine."]


def _shared_runs(sides: Sequence[Side]) -> list[str]:
    """Say which sides have runs of each other: a study that was copied, or a log that was imported twice."""
    said = []
    for one, other in combinations(sides, 2):
        count = one.shared_with(other)
        if not count:
            continue
        runs = f"{counted(count, 'run')} {'is' if count == 1 else 'are'} on both sides"
        undated = any(run.stamps is None for run in (*one.printed, *other.printed))
        maybe = ", unless two runs without time stamps printed the same figures" if undated else ""
        said.append(
            f"Of {one.name} and {other.name} {runs}, so they differ by less than runs of their own would{maybe}."
        )
    return said


def warnings(sides: Sequence[Side]) -> list[str]:
    """Say in what the sides differ beside their configurations, so that a difference may be due to that."""
    said = []
    for name, value in FACTS:
        known = [(side.name, found) for side in sides if (found := value(side)) is not None]
        if len({found for _, found in known}) > 1:
            values = listed([f"{side} has {found}" for side, found in known])
            said.append(f"The sides differ in {name}, which may be the reason for a difference: {values}.")
    said += _shared_runs(sides)
    said += _unknown_machines(sides)
    said += _unlike_origins(sides)
    for study, changed in {side.study.name: side.changed for side in sides if side.changed}.items():
        said.append(
            f"The machine {did_words(changed)} during study {study}; its rates are corrected to the last speed."
        )
    return said
