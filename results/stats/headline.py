"""The words for the rates of a study, each with one meaning: the fastest run, which may be an Rmax, and its size.

- Rmax: the rate of the fastest full run of a study that counts, whatever its configuration. Where the matrix of that
  run takes less than half of what HPL's rule fills, or its time is too short for HPL's clock, it is only the rate at
  that N. So are imported and replayed rates, because an output and a table tell nothing of the memory, and simulated
  ones, because no machine gave them.
- Median of n runs, slowest, fastest: of the runs of one configuration that count (`ranking.Ranked`).
- Expected: the rate of one more run of a configuration, an estimate from the runs of all, with its interval.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hpl.workload import HPL, Workload

from ..columns import doubts
from ..disturbance import Conditions
from ..metrics import rate_text
from ..record import MEASURED, SIMULATED_TABLE, Kind, Study, TrialRecord
from .disturbed_runs import undisturbed
from .ranking import Ranked, hosts_of, is_full_run, n_of_run, unclear_runs

UNFINISHED = frozenset({Kind.PREFIX, Kind.GIVEN_UP})
"""Kinds of runs that ended before the whole matrix was factorised."""


def half_rate_n(best: TrialRecord, records: Sequence[TrialRecord]) -> float | None:
    """Interpolate N½ between two sizes at which the configuration of the best run ran.

    None where no undisturbed run of it was slower than half of the best. Small runs count, as those are what it takes.
    Of several runs at one N the fastest counts.
    """
    alike = _but_size(best)
    points: dict[int, float] = {}
    told = [record for record in undisturbed(records) if record.disturbed is None or record.hpl == best.hpl]
    for record in told:
        if record.kind not in UNFINISHED and record.ranked and record.hpl is not None and _but_size(record) == alike:
            points[record.hpl.N] = max(record.gflops or 0.0, points.get(record.hpl.N, 0.0))
    half = (best.gflops or 0.0) / 2
    for low, high in pairwise(sorted(points)):
        if points[low] <= half < points[high]:
            return low + (high - low) * (half - points[low]) / (points[high] - points[low])
    return None


def _but_size(record: TrialRecord) -> dict[str, object]:
    """Return the parameters of a trial without N."""
    return {name: value for name, value in record.params.items() if name != "N"}


ADVISED = 0.8
"""Part of the memory that the matrix should fill, by HPL's FAQ."""
LEAST_FILLED = 0.5
"""Part of what is advised below which a rate is not called Rmax. At half of it N is 71 % of what it may be, and the
parts of the time that grow with N^2 have 1.4 times their share: a reader of lists would be misled by more."""
DOUBLE = 8
"""Bytes of an element of the matrix."""
_MEMORY = ("memory_total_bytes", "memory_bytes", "memory_available_bytes")
"""Facts of a machine that tell its memory: all of it first, because what others hold is no reason for a smaller N."""


@dataclass(frozen=True)
class FastestRun:
    """The fastest full run of a study that counts.

    Attributes:
        record: the run; of several that are equally fast the first.
        N: its size; None where that is not known.
        filled: part of the memory of its nodes that its matrix takes; None where that is not known, and where it would
            be more than all of it, so that what is stored of the memory cannot be right.
        source: how its rate came about, "imported", "replayed" or "simulated"; "" where a machine ran it for us.
        workload: what its program computes: only HPL has an Rmax.
    """

    record: TrialRecord
    N: int | None
    filled: float | None
    source: str = ""
    workload: Workload = HPL

    @classmethod
    def of(cls, study: Study, record: TrialRecord) -> "FastestRun":
        """Hold the fastest run of a study against the study's memory."""
        N, memory_bytes = n_of_run(record), _memory_bytes(study, record)
        source = "simulated" if study.host.get(SIMULATED_TABLE) else "" if study.how == MEASURED else study.how
        filled = DOUBLE * N * N / memory_bytes if N and memory_bytes and study.workload.is_hpl else None
        return cls(record, N, filled if filled and filled <= 1 else None, source, study.workload)

    @property
    def gflops(self) -> float:
        """Its rate."""
        return self.record.gflops or 0.0

    @property
    def trial(self) -> int:
        """Its number."""
        return self.record.number

    @property
    def is_rmax(self) -> bool:
        """Whether its rate may be called Rmax: it took long enough, and its matrix fills the memory, if one knows."""
        return (
            self.workload.is_hpl
            and not (self.source or self.record.too_short or self.record.disturbed)
            and (self.filled is None or self.filled >= LEAST_FILLED * ADVISED)
        )

    @property
    def called(self) -> str:
        """The word for its rate: "Rmax", "rate at N=1,856", "imported rate at N=1,856", or "HPCG rating"."""
        if not self.workload.is_hpl:
            return f"{self.workload.rate}{self._at_n}"
        return "Rmax" if self.is_rmax else f"{self.source} rate{self._at_n}".lstrip()

    @property
    def _rate(self) -> str:
        beside = ", ".join(doubts(self.record, Conditions.UNKNOWN))
        return f"{rate_text(self.gflops)} GFLOPS{f' ({beside})' if beside else ''}"

    @property
    def _at_n(self) -> str:
        return f" at N={self.N:,}" if self.N else ""

    def place(self, ranking: Sequence[Ranked]) -> int | None:
        """Find the rank of its configuration, from 1; None where that is not ranked, as after nodes were lost."""
        return next((rank for rank, entry in enumerate(ranking, start=1) if entry.key == self.record.key), None)

    def where(self, ranking: Sequence[Ranked]) -> str:
        """Say which run it is, as "trial 12, of no. 3"."""
        place = self.place(ranking)
        return f"trial {self.trial}" if place is None else f"trial {self.trial}, of no. {place}"

    def _which(self, ranking: Sequence[Ranked]) -> str:
        """Say that it was not disturbed, as far as that is known, where others were, which may have been faster."""
        others = any(map(has_doubtful_runs, ranking))
        return "undisturbed" if others and self.record.undisturbed and not self.source else ""

    def sentence(self, ranking: Sequence[Ranked]) -> str:
        """Say what it gave, which run it was, and why its rate is no Rmax where it is none."""
        if not self.workload.is_hpl:
            return (
                f"The {self.workload.rate} is {self._rate}{self._at_n}: {self.where(ranking)}.{self._at_least(ranking)}"
            )
        if self.is_rmax:
            fastest = " ".join(filter(None, ("the fastest", self._which(ranking), "full run")))
            return f"Rmax, {fastest}, is {self._rate}: {self.where(ranking)}.{self._at_least(ranking)}"
        fastest = " ".join(filter(None, ("The fastest", self._which(ranking), self.source, "full run")))
        told = f"{fastest} gave {self._rate}{self._at_n}: {self.where(ranking)}."
        return f"{told} {self.no_rmax}{self._at_least(ranking)}"

    def _at_least(self, ranking: Sequence[Ranked]) -> str:
        """Say that it was disturbed, as all other runs were, with a space before it.

        "" where it was not, and where it is of no. 1, of which `disturbed_sentence` says so.
        """
        why = self.record.disturbed
        if not why or self.place(ranking) == 1:
            return ""
        return f" No full run is known to be undisturbed, this one was not: {why}. The machine does at least that."

    @property
    def no_rmax(self) -> str:
        """Why its rate is not called Rmax; "" where it is, and where nothing of its workload is."""
        if not self.workload.is_hpl:
            return ""
        if self.record.too_short:
            return f"That is no Rmax: {short_sentence(self.record)}."
        if self.source:
            return (
                "That is no Rmax: no machine ran it."
                if self.source == "simulated"
                else "Whether that is an Rmax is not known: nothing tells the memory of its machine."
            )
        if self.record.disturbed:
            return "That is no Rmax: the machine can do more."
        filled = percent_text(self.filled or 0.0)
        return "" if self.is_rmax else f"That is no Rmax: its matrix takes {filled} of the memory."

    def to_json(self, ranking: Sequence[Ranked] = ()) -> dict[str, object]:
        """Write the same for scripts."""
        return {
            "gflops": self.gflops,
            "trial": self.trial,
            "N": self.N,
            "rank": self.place(ranking),
            "called": self.called,
            "part_of_memory": self.filled,
        }


@dataclass(frozen=True)
class HeadlineRates:
    """What lists, messages and pages tell of a study's rates.

    Attributes:
        fastest_gflops, fastest_trial: of the fastest run.
        called: the word for its rate, as "Rmax".
        trial: number of the run that stands for no. 1, the configuration that is expected to be the fastest.
        median_gflops, runs: of the runs of no. 1.
        expected_gflops: of one more run of no. 1, as an estimate; None where only its own runs tell of it.
        interval_gflops: its usual rate is between these with 95 % probability; None where that is not known.
        range_gflops: the slowest and fastest run of no. 1.
        fastest_conditions, conditions: whether the fastest run, and those of no. 1, were disturbed.
        doubts: what must be told beside the rate of the fastest run.
    """

    fastest_gflops: float
    fastest_trial: int
    called: str
    trial: int
    median_gflops: float
    runs: int
    expected_gflops: float | None
    interval_gflops: tuple[float, float] | None
    range_gflops: tuple[float, float]
    fastest_conditions: Conditions
    conditions: Conditions
    doubts: tuple[str, ...]

    @classmethod
    def of(cls, fastest: FastestRun, first: Ranked, interval: tuple[float, float] | None) -> "HeadlineRates":
        """Take them from the fastest run and from no. 1."""
        expected = first.believed_gflops
        rates = fastest.gflops, fastest.trial, fastest.called
        runs = first.best_record_number, first.median_gflops, first.runs
        conditions = fastest.record.conditions, first.conditions
        return cls(*rates, *runs, expected, interval, first.range_gflops, *conditions, tuple(doubts(fastest.record)))

    @property
    def fastest_text(self) -> str:
        """Write the fastest run: "70.10", or "70.10 (disturbed)", or "70.10 (not known)" whether it was."""
        return rate_text(self.fastest_gflops) + (f" ({', '.join(self.doubts)})" if self.doubts else "")

    @property
    def best_gflops(self) -> float:
        """What one more run of no. 1 should give: the estimate, or its median where there is none."""
        return self.median_gflops if self.expected_gflops is None else self.expected_gflops

    def expected_text(self) -> str:
        """Write what one more run of no. 1 should give, as "70.10 (65.00 to 74.00)"; "" where nothing tells it.

        Without an interval its slowest and fastest run are told, as "70.10 (runs gave 65.00 to 74.00)".
        """
        if self.expected_gflops is None:
            return ""
        if self.interval_gflops is not None:
            told = " to ".join(map(rate_text, self.interval_gflops))
        else:
            low, high = self.range_gflops
            told = f"runs gave {rate_text(low)} to {rate_text(high)}" if low < high else ""
        return rate_text(self.expected_gflops) + (f" ({told})" if told else "")

    def to_json(self) -> dict[str, object]:
        """Write them by name, for scripts and messages."""
        return {
            "best_gflops": self.best_gflops,
            "fastest_gflops": self.fastest_gflops,
            "fastest_trial": self.fastest_trial,
            "fastest_called": self.called,
            "expected_gflops": self.expected_gflops,
            "interval_gflops": None if self.interval_gflops is None else list(self.interval_gflops),
            "median_gflops": self.median_gflops,
            "runs": self.runs,
            "fastest_conditions": self.fastest_conditions.value,
            "conditions": self.conditions.value,
        }


NO_RATES: dict[str, object] = {
    "best_gflops": None,
    "fastest_gflops": None,
    "fastest_trial": None,
    "fastest_called": None,
    "expected_gflops": None,
    "interval_gflops": None,
    "median_gflops": None,
    "runs": None,
    "fastest_conditions": None,
    "conditions": None,
}
"""What is written of a study without a run that counts."""


def fastest_run(study: Study, records: Iterable[TrialRecord]) -> FastestRun | None:
    """Find the fastest full run that counts among trials of a study; None without one.

    One that HPL's clock cannot tell, and one that is not known to be undisturbed, is the fastest only where there is no
    other.
    """
    runs = [record for record in records if is_full_run(record)]
    unclear = unclear_runs(runs)

    def place(run: TrialRecord) -> tuple[bool, bool, float, int]:
        return not run.undisturbed, run.number in unclear, -(run.gflops or 0.0), run.number

    best = min(runs, key=place, default=None)
    return None if best is None else FastestRun.of(study, best)


def short_sentence(record: TrialRecord) -> str:
    """Say of a run that is too short why its rate says nothing, in words that may follow others."""
    return (
        f"trial {record.number} took {record.time_s or 0.0:.2f} s, and HPL's clock cannot tell a rate of so short a "
        "run; choose a larger N"
    )


def median_text(entry: Ranked) -> str:
    """Say what the runs of a configuration gave: "the median of 3 runs, 58.20 to 61.00", or "1 run".

    Runs that were disturbed are told: ", all disturbed", or ", beside 2 disturbed ones". That of none anything is known
    is told once of a study (`DisturbedRuns`).
    """
    told = "1 run" if entry.runs == 1 else f"the median of {entry.runs} runs, {range_text(entry)}"
    if entry.disturbance is not None:
        return f"{told}, {disturbed_text(entry)}"
    beside = beside_text(entry.left_out, entry.left_unknown)
    return f"{told}, {beside}" if beside else told


def has_doubtful_runs(entry: Ranked) -> bool:
    """Whether a run of a configuration was disturbed, or may have been."""
    return bool(entry.left_out or entry.left_unknown) or entry.conditions is not Conditions.UNDISTURBED


def disturbed_text(entry: Ranked) -> str:
    """Say that no run of a configuration is known to be undisturbed: "all disturbed", or "disturbed" of one run.

    "" where none of those that count is known to be disturbed.
    """
    if entry.disturbance is None:
        return ""
    if entry.unknown:
        return f"{entry.runs - entry.unknown} disturbed, and of {entry.unknown} it is not known"
    return "disturbed" if entry.runs == 1 else "all disturbed"


def beside_text(left_out: int, left_unknown: int = 0) -> str:
    """Say beside which runs those stand that count: "beside 2 disturbed ones"; "" where all count."""
    disturbed = f"{left_out} disturbed one{'' if left_out == 1 else 's'}" if left_out else ""
    unknown = f"{left_unknown} of which that is not known" if left_unknown else ""
    said = " and ".join(filter(None, (disturbed, unknown)))
    return f"beside {said}" if said else ""


def once_text(left_out: int, left_unknown: int = 0) -> str:
    """Say of a configuration of which one run counts how often it ran, with those that do not count."""
    beside = beside_text(left_out, left_unknown)
    return f"ran undisturbed once, {beside}" if beside else "ran once"


def gave_text(entry: Ranked) -> str:
    """Say of which runs the rate of a configuration is: `median_text`, or "the fastest of 3 runs, all disturbed"."""
    if entry.disturbance is None or entry.runs == 1:
        return median_text(entry)
    return f"the fastest of {entry.runs} runs, {range_text(entry)}, {disturbed_text(entry)}"


def disturbed_sentence(entry: Ranked, name: str = "no. 1") -> str:
    """Say that runs of a configuration were disturbed, so that its rate is only a bound; "" where one was quiet."""
    if entry.disturbance is None:
        return ""
    if entry.unknown:
        disturbed = entry.runs - entry.unknown
        was = f"{disturbed} {'was' if disturbed == 1 else 'were'} disturbed"
        runs = f"Of {entry.runs} runs of {name} {was}, and of {entry.unknown} it is not known"
    elif entry.runs == 1:
        runs = f"The only run of {name} was disturbed"
    else:
        runs = f"All {entry.runs} runs of {name} were disturbed, also the fastest one"
    fastest = rate_text(max(entry.gflops))
    return f"{runs}: {entry.disturbance}. Its rate is at least {fastest} GFLOPS, and more is not known."


def range_text(entry: Ranked, between: str = " to ") -> str:
    """Write the slowest and the fastest run of a configuration; "" where it ran once."""
    return between.join(map(rate_text, entry.range_gflops)) if entry.runs > 1 else ""


def expected_sentence(entry: Ranked, interval: tuple[float, float] | None) -> str | None:
    """Say what one more run of no. 1 should give; None where nothing but its runs tells that.

    Args:
        interval: as the study's page tells it; without one its slowest and fastest run are told, where they differ.
    """
    if entry.believed_gflops is None:
        return None
    told = f"One more run of no. 1 is expected to give {rate_text(entry.expected_gflops)} GFLOPS"
    if interval is None:
        return f"{told}{of_its_runs(entry)}."
    low, high = map(rate_text, interval)
    return f"{told}; its usual rate is between {low} and {high} with 95 % probability."


def of_its_runs(entry: Ranked) -> str:
    """Say in place of an interval what the runs of a configuration gave; "" where it ran once or always alike."""
    if len(set(entry.gflops)) < 2:
        return ""
    return f"; its {entry.runs} runs gave {range_text(entry)}, slowest to fastest"


def _memory_bytes(study: Study, record: TrialRecord) -> float | None:
    """Return the memory of the nodes that a run used; None where it is not known, as of a table's machine."""
    if study.replayed or study.imported:
        return None
    known = (study.host.get(name) for name in _MEMORY)
    whole = next((value for value in known if isinstance(value, int) and value > 0), None)
    nodes = study.host.get("nodes")
    if whole is None or not isinstance(nodes, int) or nodes < 2:
        return whole
    return whole * min(1.0, (hosts_of(record) or _nodes_filled(study, record, nodes)) / nodes)


def _nodes_filled(study: Study, record: TrialRecord, nodes: int) -> int:
    """Return how many nodes the ranks and threads of a run fill; all of them where that is not known."""
    cores = study.host.get("physical_cores")
    if not isinstance(cores, int) or cores < nodes or not record.ranks or not record.threads:
        return nodes
    return math.ceil(record.ranks * record.threads / (cores / nodes))


def percent_text(part: float) -> str:
    """Write a part in percent, with two digits where it is small."""
    return f"{100 * part:.2g} %" if part < 0.1 else f"{100 * part:.0f} %"
