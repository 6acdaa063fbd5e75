"""What is predicted of the whole memory, of the configuration that was the fastest in turn at a larger N."""

import math
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

from results.metrics import four_digits
from results.plain import typed
from results.record import Study
from results.stats.noise import Noise
from results.store.store import Store

from ..names import TEXTBOOK
from .extrapolation import Extrapolation

APART, APART_OF_FIRST = 0.07, 0.05
"""Standard deviations by which the ratio of two configurations changes from a run, or from its first tenth, up to an N
that is e times as large (benchmarks/whole_memory.py: 0.04 to 0.08, and 0.03 to 0.05)."""
NOT_MEASURED = "Nothing was measured against the textbook at a larger N than that of the search"


@dataclass(frozen=True)
class RivalInTurn:
    """A configuration that ran in turn with the one of which the whole memory is predicted.

    Attributes:
        trial: its first run in turn.
        called: its name, as "the textbook" or "NB=256".
        gflops: the median of its runs in turn; 0 where none counts.
        faster: the probability that it is faster than the other at the whole memory; None where that is not known.
        once: it ran in the first round alone, as it was slower there than others.
        quiet: its rate is of no run that is known to be disturbed; else it gives that rate at least.
    """

    trial: int
    called: str
    gflops: float
    faster: float | None
    once: bool = False
    quiet: bool = True


@dataclass(frozen=True)
class NotedPrediction:
    """A prediction, with the trial that stands for the configuration it is made for, and those it ran in turn with.

    Attributes:
        called: its name beside the rivals.
        N: at which they ran in turn; None where they did not.
        part: of the columns that ran in turn; 1 where the runs ended.
        gflops: the median of its runs in turn; 0 without any. `quiet` as that of a rival.
        doubt: the sentence that some of these runs were disturbed, or may have been; "" where all were undisturbed.
    """

    full: Extrapolation
    trial: int
    called: str = ""
    N: int | None = None
    gflops: float = 0.0
    rivals: tuple[RivalInTurn, ...] = ()
    doubt: str = ""
    part: float = 1.0
    quiet: bool = True

    @property
    def at_whole_memory(self) -> str:
        """What a run with the whole memory is expected to give, as a sentence."""
        return f"The whole memory holds N={self.full.N}: {self.full.sentence}."

    @property
    def textbook(self) -> RivalInTurn | None:
        """The textbook, as the faster of its NB gave more in turn; None where it did not run beside the winner."""
        both = (rival for rival in self.rivals if rival.called.startswith(TEXTBOOK))
        return max(both, key=lambda rival: (not rival.once, rival.gflops), default=None)

    @property
    def gain_percent(self) -> float | None:
        """By how much it gave more in turn than the textbook; None where that is not known."""
        textbook = self.textbook
        known = textbook and textbook.gflops and textbook.quiet and self.quiet
        return 100 * (self.gflops / textbook.gflops - 1) if textbook and known else None

    @property
    def against_textbook(self) -> str:
        """What was measured against the textbook and at which N, as a sentence without its stop; all faces say this."""
        if self.N is None or not self.rivals:
            return NOT_MEASURED
        against, textbook, percent = "", self.textbook, self.gain_percent
        side = "" if percent is None else f"{abs(percent):.1f}% {'more' if percent >= 0 else 'less'} than"
        if textbook:
            against = (
                f", {side} {textbook.called} ({_gave(textbook)})"
                if side
                else f"; {textbook.called} gave {_gave(textbook)}"
            )
        where = f"N={self.N}" if self.part == 1 else f"N={self.N} (the first {self.part:.0%} of the columns)"
        return f"In turn at {where}, {self.called} gave {_gave(self)} GFLOPS{against}"

    @property
    def in_turn(self) -> str:
        """What was measured in turn, or that nothing was, as sentences."""
        if self.N is None or not self.rivals:
            return f"{self.against_textbook}."
        gave = "".join(
            f"; {rival.called} gave {_gave(rival)}{' in the first round alone' * rival.once}"
            for rival in self.rivals
            if rival is not self.textbook
        )
        known, sure = [max(0.01, rival.faster) for rival in self.rivals if rival.faster is not None], self.doubt
        if known and not sure:
            sure = f"At N={self.full.N} each of the others is faster with a probability of at most {max(known):.0%}."
        return f"{self.against_textbook}{gave}. HPL-full.dat has the values of {self.called}. {sure}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """What is told of it, as JSON can hold it."""
        turn = {
            "N": self.N,
            "part": self.part,
            "called": self.called,
            "gflops": self.gflops,
            "quiet": self.quiet,
            "textbook_gflops": self.textbook.gflops or None if self.textbook else None,
            "rivals": [asdict(rival) for rival in self.rivals],
            "sentence": self.in_turn,
        }
        return {
            **self.full.to_json(),
            "trial": self.trial,
            "against_textbook": self.against_textbook,
            "in_turn": turn if self.N else None,
        }


def _gave(side: RivalInTurn | NotedPrediction) -> str:
    """The rate of one of those in turn, in words; that of a disturbed run is the least that it gives."""
    return f"{'at least ' * (not side.quiet)}{four_digits(side.gflops)}" if side.gflops else "no result"


def probability_faster(ratio: float, larger: float, part: float, noise: Noise) -> float:
    """The probability that a rival is faster than another at a larger N, by the ratio of their rates in turn.

    Args:
        larger: how many times as large that N is.
        part: of the columns that ran in turn.
    """
    sd = math.hypot((APART if part == 1 else APART_OF_FIRST) * math.log(larger), noise.sd)
    return NormalDist(0.0, max(sd, 1e-9)).cdf(math.log(ratio))


def note_prediction(store: Store, study: str, noted: NotedPrediction) -> None:
    """Keep a prediction in place of an older one."""
    store.note(study, lambda notes: replace(notes, whole_memory=asdict(noted)))


def prediction_of(study: Study) -> NotedPrediction | None:
    """Return what was predicted last; None where nothing was, or by an older hpltune."""
    with suppress(ValueError):
        noted: NotedPrediction = typed(NotedPrediction, study.notes.whole_memory)
        return noted
    return None
