"""What a command tells whoever watches it. Events flow one way: nothing a listener does changes a study."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.record import TrialRecord
from results.report.model import Part

if TYPE_CHECKING:
    from results.node_check import NodeCheck, NodeRun

PHASES = {
    "pilot": "Pilot runs: how fast is this machine?",
    "search": "Search",
    "confirmation": "Confirmation: the best again, interleaved",
    "rounds": "Rounds: the best of each library once a round, in an order drawn anew",
    "turns": "In turn: the best of each study once a round, each round in the other order",
    "extrapolation": "Runs at another N, to tell of the whole memory",
}
"""The parts of a study, and what people read of each."""
CAUTION = "Caution: "
"""Stands before the sentence of a caution."""
OTHERS = "others"
"""What cautions about other programs that take the machine are about."""


@dataclass(frozen=True)
class Notice:
    """A sentence the user should read.

    Attributes:
        caution: readers of the study's rates must know it too, so it is kept with the study.
        detail: only who wants to know all needs it; on a terminal it is told with ⟦verbose⟧ alone.
        doing: it tells what is done now, which a live display shows while that goes on.
        about: of a caution; of those about the same a reader needs only the last. "" where nothing else is about it.
    """

    text: str
    caution: bool = False
    detail: bool = False
    doing: bool = False
    about: str = ""

    @property
    def sentence(self) -> str:
        """The sentence as it is shown."""
        return f"{CAUTION}{self.text}" if self.caution else self.text


@dataclass(frozen=True)
class Remark:
    """A sentence beside the output, such as that a folder was made: it goes where errors go."""

    text: str


@dataclass(frozen=True)
class BuildStep:
    """A program is being built: what is done now, and how many of how many steps are."""

    text: str
    done: int
    total: int


@dataclass(frozen=True)
class WorkStarted:
    """Something that may take long has begun, such as an installation; one such thing is at work at a time."""

    text: str


@dataclass(frozen=True)
class WorkProgress:
    """How far what a WorkStarted told of is.

    Attributes:
        fraction: part that is done, 0 to 1.
        left_s: seconds that it will still take.
    """

    fraction: float
    left_s: float


@dataclass(frozen=True)
class WorkEnded:
    """What a WorkStarted told of is over, whether it succeeded or not."""


@dataclass(frozen=True)
class PhaseStarted:
    """A part of the study begins.

    Attributes:
        name: "pilot", "search", "confirmation", "rounds", "turns" or "extrapolation".
        runs: runs planned in it, or None where the budget decides.
    """

    name: str
    runs: int | None


@dataclass(frozen=True)
class TrialStarted:
    """A run of HPL is about to start.

    Attributes:
        label: the configuration in one line.
        expected_s: seconds it will probably take, or None.
        after: the trial that was before it in the same launch, or None; that one is over.
    """

    number: int
    label: str
    expected_s: float | None
    after: int | None = None


@dataclass(frozen=True)
class TrialProgress:
    """How far the running trial is.

    Attributes:
        fraction: part of its floating-point operations done, 0 to 1.
        elapsed_s: seconds since it was started.
    """

    number: int
    fraction: float
    elapsed_s: float


@dataclass(frozen=True)
class TrialEnded:
    """A trial is committed to the store.

    Attributes:
        best: best valid result of the study's search so far by its objective, with its unit, or None; where a front is
            searched those by both objectives.
        spent: part of the budget that is spent, 0 to 1, or None where nothing is limited.
        left: what is left of it, time in the unit that it was given in, or None.
        again: the same was run before in this study's search.
    """

    record: TrialRecord
    best: str | None = None
    spent: float | None = None
    left: str | None = None
    again: bool = False


@dataclass(frozen=True)
class PartFound:
    """Parts of a report that are known while the command still works; they are in its whole report too."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class NodesMeasured:
    """A check of nodes has found out more; this is all that it knows by now."""

    check: "NodeCheck"


@dataclass(frozen=True)
class NodesRan:
    """A benchmark of a check ran once on nodes; the next NodesMeasured has these runs, too."""

    runs: "tuple[NodeRun, ...]"


Event = (
    Notice
    | Remark
    | PartFound
    | BuildStep
    | WorkStarted
    | WorkProgress
    | WorkEnded
    | PhaseStarted
    | TrialStarted
    | TrialProgress
    | TrialEnded
    | NodesMeasured
    | NodesRan
)
Listener = Callable[[Event], None]
