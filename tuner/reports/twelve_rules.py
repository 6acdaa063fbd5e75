"""The twelve rules of scientific benchmarking, and which of them a report of one study keeps.

Source: Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems: Twelve ways to tell the masses when
reporting performance results", SC 2015. What a rule asks is held against what the study has, not promised.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from results.record import Study
from results.report.model import Column, Table, Wrap
from results.stats.headline import FastestRun
from results.stats.ranking import Ranked

from ..words import counted
from .ranking import interval_of

KEPT, NOT_KEPT, NO_MATTER = "kept", "not kept", "does not apply"


@dataclass(frozen=True)
class RuleCheck:
    """One rule, as its authors number it, in our words, and whether a report keeps it."""

    number: int
    rule: str
    verdict: str
    why: str


def twelve_rules(study: Study, best: Ranked, fastest: FastestRun | None) -> Table:
    """Build the table of the rules.

    Args:
        best: the first of the ranking.
        fastest: the run that the headline is of; None where only configurations are told of.
    """
    clock = f"{study.workload.title}'s own clock, of whole runs, held against hpltune's"
    checks = [
        RuleCheck(1, "name the base of a speedup", NO_MATTER, "rates are told, no speedups"),
        _whole_machine(fastest),
        RuleCheck(3, "summarise costs with their mean, rates not", KEPT, "the median of the rates of runs"),
        RuleCheck(4, "average no ratios", KEPT, "figures of merit are of one rate each, never averaged"),
        *_by_chance(study, best),
        RuleCheck(8, "say whether the middle is what matters", KEPT, "slowest and fastest run stand beside the median"),
        _set_up(study),
        RuleCheck(10, "say how time is measured", KEPT, clock),
        _bound(study),
        RuleCheck(12, "join points by lines only where they show a trend", KEPT, "lines are over N, time or columns"),
    ]
    columns = (
        Column("no."),
        Column("rule", words=True, wrap=Wrap.AT_WORDS),
        Column("here", words=True),
        Column("why", words=True, wrap=Wrap.AT_WORDS),
    )
    rows = tuple((str(one.number), one.rule, one.verdict, one.why) for one in checks)
    caption = "The rules are those of Hoefler and Belli (SC 2015), in our words."
    return Table("", columns, rows, caption=caption)


def _whole_machine(fastest: FastestRun | None) -> RuleCheck:
    rule = "say why not all of the machine is used"
    if fastest is None or not fastest.no_rmax:
        return RuleCheck(2, rule, KEPT, "the matrix fills the memory as the TOP500 would have it")
    return RuleCheck(2, rule, KEPT, fastest.no_rmax.rstrip("."))


def _by_chance(study: Study, best: Ranked) -> Iterator[RuleCheck]:
    """Yield rules 5 to 7, of runs that depend on chance."""
    rules = {
        5: "give intervals where chance matters",
        6: "do not assume that noise is normal",
        7: "compare as chance demands",
    }
    if study.how == "simulated":
        yield from (RuleCheck(at, rule, NO_MATTER, "simulated runs depend on no chance") for at, rule in rules.items())
        return
    known = interval_of(study, best) is not None
    why = f"no. 1 has one, from {counted(best.runs, 'run')}" if known else "no interval can be told, and none is"
    yield RuleCheck(5, rules[5], KEPT if known else NOT_KEPT, why)
    yield RuleCheck(6, rules[6], KEPT, "slow outliers are part of the noise; drift and two speeds are tested")
    yield RuleCheck(7, rules[7], KEPT, "how sure the order is, or that this cannot be told, stands with the answer")


def _set_up(study: Study) -> RuleCheck:
    rule = "tell all factors, levels and the set-up"
    if study.imported or study.replayed:
        return RuleCheck(9, rule, NOT_KEPT, "of the machine no more is known than its outputs, or the table, say")
    if study.simulated:
        return RuleCheck(9, rule, KEPT, "the virtual cluster, versions and the input file stand on this page")
    return RuleCheck(9, rule, KEPT, "machine, versions, input, command and what the machine did stand on this page")


def _bound(study: Study) -> RuleCheck:
    rule = "show an upper bound"
    if not study.workload.has_peak:
        return RuleCheck(11, rule, NO_MATTER, "the peak in double precision is no bound of it")
    if study.rpeak_gflops:
        return RuleCheck(11, rule, KEPT, f"Rpeak is {study.rpeak_gflops:,.4g} GFLOPS")
    return RuleCheck(11, rule, NOT_KEPT, "the peak of the machine is not known")
