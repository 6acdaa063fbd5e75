"""What one-at-a-time tuning would have done and missed, as tables and sentences."""

from collections.abc import Sequence

from results.report.model import Column, Part, Sentence, Table
from results.report.ranking_table import named_values

from ..explain.explanation import Explanation
from ..explain.one_at_a_time import WORTH_A_WORD, Missed, OneByOne
from ..units import duration

ALL = 0.9
"""Part of what is missing from which on two parameters together are said to bring all of it."""


def one_by_one_parts(found: Explanation) -> list[Part]:
    """Report its sweeps, their cost, where they end, and why not at the best configuration."""
    way = found.one_at_a_time
    parts: list[Part] = [_sweeps(way), Sentence(cost(found)), Sentence(verdict(way))]
    if not way.found:
        parts.append(_missed(way.missed))
        if way.together:
            parts.append(Sentence(why(way)))
    return parts


def _sweeps(way: OneByOne) -> Table:
    """Build a table with a row for each sweep that changed something."""
    gflops, runs = way.start_gflops, 1
    rows = [("", "", "textbook", f"{gflops:.4g}", "", "1")]
    for sweep in way.sweeps:
        runs += sweep.runs
        if sweep.gflops > gflops:
            to = " ".join([f"{sweep.after}", named_values(sweep.followed, list(sweep.followed), " ")]).rstrip()
            gain = f"{100 * (sweep.gflops / gflops - 1):+.1f} %"
            rows.append((sweep.name, f"{sweep.before}", to, f"{sweep.gflops:.4g}", gain, f"{runs}"))
            gflops = sweep.gflops
    heads = ("swept", "from", "to", "GFLOPS", "gain", "full runs so far")
    columns = tuple(Column(head, words=head in {"swept", "from", "to"}) for head in heads)
    return Table("One parameter at a time, by the model", columns, tuple(rows))


def cost(found: Explanation) -> str:
    """From where it goes how, and what that would have cost, beside what was spent."""
    way = found.one_at_a_time
    order = list(dict.fromkeys(sweep.name for sweep in way.sweeps))
    start = named_values(way.start, [effect.name for effect in found.effects], " ")
    turns = f"{', '.join(order)} in turn, {len(way.sweeps) // len(order)} times"
    told = (
        f"Starting from the textbook's {start} it would have varied {turns}: {way.runs} full runs, about "
        f"{duration(way.machine_s)} of the machine"
    )
    return f"{told}; the trials explained here took {duration(found.spent_s)}." if found.spent_s else f"{told}."


def verdict(way: OneByOne) -> str:
    """Where the sweeps end, against the best configuration."""
    if way.missing_percent < WORTH_A_WORD:
        return "Tuning one parameter at a time would have found the best too, or one as good."
    faster = f"the best, which is {way.missing_percent:.1f} ± {way.missing_sd:.1f} % faster than its result"
    if way.found:
        return f"Tuning one parameter at a time would have ended at a tie with {faster}."
    return f"Tuning one parameter at a time would have missed {faster}:"


def _missed(missed: Sequence[Missed]) -> Table:
    rows = []
    for one in missed:
        left_at, best = ("" if value is None else f"{value}" for value in (one.left_at, one.best))
        gain, back = _percent(one.gain_percent, one.gain_sd), _percent(one.back_percent, one.back_sd)
        rows.append((one.name, left_at, best, gain, back))
    heads = ("missed", "ends at", "best", "changed there alone", "changed back in the best")
    return Table("", tuple(Column(head, words=not head.startswith("changed")) for head in heads), tuple(rows))


def _percent(percent: float | None, sd: float | None) -> str:
    return "not valid" if percent is None else f"{percent:+.1f} ± {sd:.1f} %"


def why(way: OneByOne) -> str:
    """Which two of what was missed bring how much of it, where two do."""
    most = way.together[0]
    if most.gain_percent < max(WORTH_A_WORD, most.gain_sd):
        return "Changing two of these together gains nothing: more of them must change at once."
    part = most.gain_percent / way.missing_percent
    return (
        f"Changing {most.one} and {most.other} together gains {most.gain_percent:+.1f} ± {most.gain_sd:.1f} %: "
        f"{'all' if part >= ALL else f'{100 * part:.0f} %'} of the difference."
    )
