"""Which runs count where some were disturbed, and what is told of those."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from ..disturbance import Cause, Disturbance, can_tell
from ..node_check import NodeRun
from ..record import SMALLER_RUNS, TrialRecord, TrialState

MOST_PROGRAMS = 3
"""Programs that a sentence names."""


def undisturbed(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Return the runs that count, in their order: of each configuration only undisturbed ones, where one exists.

    Runs of one configuration at different sizes, or of different parts, are told apart. What gave no rate stays.
    """
    runs = list(records)
    disturbed = {id(run) for run in runs if run.disturbed is not None and run.state is TrialState.COMPLETE}
    if not disturbed:
        return runs
    quiet = {_same(run) for run in runs if id(run) not in disturbed and run.state is TrialState.COMPLETE}
    return [run for run in runs if id(run) not in disturbed or _same(run) not in quiet]


def _same(run: TrialRecord) -> Hashable:
    N = run.hpl.N if run.hpl else run.params.get("N")
    return run.study, run.key, N, run.part, run.kind if run.kind in SMALLER_RUNS else None


@dataclass(frozen=True)
class DisturbedRuns:
    """The runs of a study, or of a check of nodes, that were disturbed.

    Attributes:
        runs: how many runs gave a rate.
        disturbed: how many of them were disturbed.
        told: how many of them were watched, so that a disturbance would have been seen.
        causes: how many runs each cause disturbed, the most frequent first.
        programs: the programs of others that took most CPU time, each with the runs of which it was so.
    """

    runs: int
    disturbed: int
    told: int
    causes: tuple[tuple[Cause, int], ...] = ()
    programs: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, records: Sequence[TrialRecord]) -> "DisturbedRuns":
        """Count them."""
        runs = [record for record in records if record.state is TrialState.COMPLETE]
        return cls._counted([record.disturbed for record in runs], sum(record.watched for record in runs))

    @classmethod
    def of_nodes(cls, runs: Sequence[NodeRun]) -> "DisturbedRuns":
        """Count those of benchmarks on nodes."""
        right = [run for run in runs if run.counts]
        return cls._counted([run.disturbed for run in right], sum(can_tell(one.measurements) for one in right))

    @classmethod
    def _counted(cls, found: Sequence[Disturbance | None], watched: int) -> "DisturbedRuns":
        reasons = [reason for one in found if one is not None for reason in one.reasons]
        causes = Counter(reason.cause for reason in reasons)
        programs = Counter(reason.program for reason in reasons if reason.program)
        disturbed = sum(one is not None for one in found)
        return cls(
            len(found), disturbed, watched, tuple(causes.most_common()), tuple(programs.most_common(MOST_PROGRAMS))
        )

    def sentence(self) -> str:
        """Say how many runs were disturbed, and by what; "" where none was."""
        if not self.disturbed:
            return ""
        one, some = self.runs == 1, self.disturbed <= self.told < self.runs
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

    def to_json(self) -> dict[str, object]:
        """Write the same for scripts."""
        return {
            "runs": self.runs,
            "watched": self.told,
            "disturbed": self.disturbed,
            "causes": {cause.value: count for cause, count in self.causes},
            "programs": dict(self.programs),
        }
