"""Runs the champions of several BLAS in rounds until their order is known."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from results.record import Kind

from ...budget import Meter
from ...events import PhaseStarted
from ...study.incumbent import Incumbent
from ...study.ledger import Ledger
from ...study.rounds import CLAIMED, Order, Rounds, shown_noise
from ...study.search.launch_worker import LaunchWorker
from ...study.session import StudyContext
from .library_search import Champion

MOST_ROUNDS = 30
"""Rounds after which it ends where no time is limited."""
MOST_FAILURES = 2
"""Failed runs in a row with which a champion is out."""


@dataclass(frozen=True)
class Played:
    """What the rounds told, and why they ended.

    Attributes:
        failed: libraries that were taken out, with the reason.
    """

    order: Order
    ended: str
    failed: Mapping[str, str]


def play(champions: Mapping[str, Champion], study: str, context: StudyContext, meter: Meter, session: int) -> Played:
    """Run each champion once a round, each round in an order of its own, so that no library always runs first.

    Args:
        champions: at least one, by library.
        meter: of the whole budget.
        session: its number.

    Raises:
        NodesLostError, TunerError, ResultsError: a sentence says what prevents it.
    """
    draw = random.Random(f"{study} {session}")  # noqa: S311 - no secret
    workers = {name: _in_rounds(champion, study, context, meter, session) for name, champion in champions.items()}
    failures, failed = dict.fromkeys(champions, 0), dict[str, str]()
    store = context.store
    noise = shown_noise(store.study(study), store.records(study, kinds=(Kind.SEARCH,)))
    context.listener(PhaseStarted("rounds", None))
    turn = 0
    while True:
        left = [name for name in champions if name not in failed]
        order = Rounds.of(store.records(study, kinds=(Kind.CONFIRMATION,)), left, noise).order()
        ended = _why_end(order, turn, [champions[name] for name in left], context, meter)
        if ended:
            return Played(order, ended, failed)
        turn += 1
        for name in draw.sample(left, len(left)):
            if context.stop.requested:
                break
            record = workers[name].trial(champions[name].best.params, Kind.CONFIRMATION)
            failures[name] = 0 if record.ranked else failures[name] + 1
            if failures[name] == MOST_FAILURES:
                failed[name] = f"its best configuration failed {MOST_FAILURES} times in a row: {record.reason}"


def _why_end(order: Order, turns: int, left: Sequence[Champion], context: StudyContext, meter: Meter) -> str | None:
    """The sentence why no further round follows, or None."""
    if context.stop.requested:
        return "you asked for it"
    if len(left) < 2:
        return "only one library is near the fastest rate"
    if order.known:
        return f"the order is known with {100 * CLAIMED:.0f} %"
    if turns >= MOST_ROUNDS and not meter.budget.timed:
        return f"{turns} rounds do not tell the order"
    return meter.out_of_time(sum(champion.full_s or 0.0 for champion in left))


def _in_rounds(champion: Champion, study: str, context: StudyContext, meter: Meter, number: int) -> LaunchWorker:
    """The worker of a champion's search, for which now the whole budget counts."""
    worker = champion.worker
    session = replace(worker.session, meter=meter, number=number)
    ledger = Ledger(context=context, study=study, meter=meter, incumbent=Incumbent(session.objective), joinable=False)
    return replace(worker, session=session, book=ledger, limits=replace(worker.limits, session=session))
