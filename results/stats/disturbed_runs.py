"""Which runs count where some were disturbed, and what is told of those."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from ..disturbance import Cause, Conditions, counting
from ..node_check import NodeRun
from ..record import SMALLER_RUNS, TrialRecord, TrialState

MOST_PROGRAMS = 3
"""Programs that a sentence names."""


def undisturbed(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Return the runs that count, in their order, by `counting`.

    Runs of one configuration at different sizes, or of different parts, are told apart. What gave no rate stays.
    """
    runs = list(records)
    counts = {id(run) for run in counting((run for run in runs if run.state is TrialState.COMPLETE), _same)}
    return [run for run in runs if id(run) in counts or run.state is not TrialState.COMPLETE]


def _same(run: TrialRecord) -> Hashable:
    N = run.hpl.N if run.hpl else run.params.get("N")
    return run.study, run.key, N, run.part, run.kind if run.kind in SMALLER_RUNS else None


@dataclass(frozen=True)
class DisturbedRuns:
    """The runs of a study, or of a check of nodes, that were disturbed.

    Attributes:
        runs: how many runs gave a rate.
        disturbed: how many of them were disturbed.
        told: of how many of them it is known whether they were.
        causes: how many runs each cause disturbed, the most frequent first.
        programs: the programs of others that took most CPU time, each with the runs of which it was so.
    """

    runs: int
    disturbed: int
    told: int
    causes: tuple[tuple[Cause, int], ...] = ()
    programs: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, runs: Iterable[TrialRecord | NodeRun]) -> "DisturbedRuns":
        """Count those that gave a rate."""
        found = [run for run in runs if (run.counts if isinstance(run, NodeRun) else run.state is TrialState.COMPLETE)]
        conditions = Counter(run.conditions for run in found)
        reasons = [reason for run in found if run.disturbed is not None for reason in run.disturbed.reasons]
        causes = Counter(reason.cause for reason in reasons)
        programs = Counter(reason.program for reason in reasons if reason.program)
        return cls(
            len(found),
            conditions[Conditions.DISTURBED],
            len(found) - conditions[Conditions.UNKNOWN],
            tuple(causes.most_common()),
            tuple(programs.most_common(MOST_PROGRAMS)),
        )

    def sentence(self) -> str:
        """Say how many runs were disturbed, by what, and of how many that is not known; "" where all were quiet."""
        if not self.disturbed:
            return self.unknown()
        one, some = self.runs == 1, self.told < self.runs
        named = f" (mostly {', '.join(name for name, _ in self.programs)})" if self.programs else ""
        causes = [
            f"{cause} in {count}{named if cause is Cause.OTHERS else ''}" if not one else f"{cause}{named}"
            for cause, count in self.causes
        ]
        verb = "was" if self.disturbed == 1 else "were"
        of = self.told if some else self.runs
        unknown = f" (of {self.runs - self.told} more it is not known)" if some else ""
        counts = f"{self.disturbed} of {of} runs {verb}" if not one else "The only run was"
        return f"{counts} disturbed{unknown}: {'; '.join(causes)}."

    def unknown(self) -> str:
        """Say of how many runs nothing is known, where none is known to be disturbed."""
        which = f"{self.runs - self.told} of" if self.told else "all"
        of, them = ("the only run", "it") if self.runs == 1 else (f"{which} {self.runs:,} runs", "them")
        return f"Of {of} it is not known whether something disturbed {them}." if self.told < self.runs else ""

    def to_json(self) -> dict[str, object]:
        """Write the same for scripts."""
        return {
            "runs": self.runs,
            "watched": self.told,
            "disturbed": self.disturbed,
            "causes": {cause.value: count for cause, count in self.causes},
            "programs": dict(self.programs),
        }
