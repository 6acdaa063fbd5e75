"""What can be asked of `compare`."""

from dataclasses import dataclass
from typing import Annotated

from .field import Ask, AskField, Named, Useless

MOST_ROUNDS = 100
"""Rounds of which each tells something."""


def _percent(text: str) -> float:
    from ..units import parse_percent  # noqa: PLC0415 - --help does without

    return parse_percent(text, "difference")


@dataclass(frozen=True)
class CompareAsk(Ask):
    """Studies, or the values of one parameter, against each other."""

    studies: Annotated[
        tuple[str, ...],
        AskField(
            "Two studies or more, DATABASE#STUDY from another database; with ⟦by⟧ one, or none for the newest.",
            described="two campaigns or more; with by one, or none for the newest",
            argument=True,
            metavar="[STUDY]...",
            names=Named.STUDY,
        ),
    ] = ()
    by: Annotated[
        str | None,
        AskField(
            "Compare the values of this parameter within one study: blas, program, mpi, NB or any other; or `date`.",
            metavar="PARAMETER",
            names=Named.PARAMETER,
        ),
    ] = None
    difference_percent: Annotated[
        float,
        AskField(
            "Say how many more runs would show a difference of this size, such as 0.5%.",
            field="difference",
            metavar="PERCENT",
            above=0.0,
            most=100.0,
            typed=str,
            read=_percent,
        ),
    ] = 1.0
    interleaved: Annotated[
        bool,
        AskField(
            "Run the best of the studies in turn now, on this machine, and compare these runs: one occasion.", here=True
        ),
    ] = False
    rounds: Annotated[
        int | None,
        AskField(
            "With ⟦interleaved⟧: how often each side is run. Default: 6.",
            least=1,
            most=MOST_ROUNDS,
            here=True,
            useless=(Useless.WITHOUT_RUNS,),
        ),
    ] = None
    budget: Annotated[
        str | None,
        AskField(
            "With ⟦interleaved⟧: no further round begins that does not fit, as 30m.",
            metavar="TIME",
            here=True,
            useless=(Useless.WITHOUT_RUNS,),
        ),
    ] = None
