"""Waits for a quiet machine before a study measures, for a stated time at most, and tells what it waits for."""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from results.disturbance import MOST_TAKEN
from runners.errors import RunnerError
from runners.hosts.others import HERE, OthersLoad, others_on
from runners.hosts.transport import Transport

from ..asks.shared import USUAL_QUIET
from ..errors import UsageError
from ..events import OTHERS, Listener, Notice
from ..stopping import StopRequest, may_wait_s
from ..units import duration, parse_duration_s
from .inventory import Inventory

FIELD = "wait_for_quiet"
USUAL = "HPLTUNE_WAIT_FOR_QUIET"
"""Variable that says how long a study waits at most where it was not asked for another time than the usual one."""
MOST_OF_BUDGET = 0.5
"""Of a budget that is shorter than the time that the variable tells."""
PAUSE_S = 2.0
"""Seconds between two looks, each of which takes one."""
STEP_S = 0.2
"""Seconds after which a request to stop is heard."""
HALF_A_CORE = 0.5
"""CPUs that others take, from which on a rank may have half of its core."""
MOST_NAMED = 3
"""Busy nodes that a sentence names."""
Look = Callable[[], Mapping[str, OthersLoad]]


def longest_wait_s(asked: str, part_of_s: float | None = None, budget_s: float | None = None) -> float:
    """Return how long a study waits at most, in seconds.

    Args:
        asked: a time such as 30s, a part such as 10%, or 0.
        part_of_s: of what a part is meant, as the budget; None where no time is limited, and then no part is waited.
        budget_s: the budget of wall time that pays for the wait; None where none does.

    Raises:
        UsageError: it is none of these, or a time that leaves nothing of the budget.
    """
    usual = os.environ.get(USUAL, "") if asked == USUAL_QUIET else ""
    text = (usual or asked).strip()
    if text == "0":
        return 0.0
    part = re.fullmatch(r"(\d{1,3}(?:\.\d{1,3})?)\s*%", text)
    if part is not None:
        if float(part[1]) > 100:
            raise UsageError("it can be 100% of the budget at most", field=FIELD, given=asked)
        return float(part[1]) / 100 * (part_of_s or 0.0)
    try:
        wait_s = parse_duration_s(text, FIELD)
    except UsageError as error:
        raise UsageError(
            "write a part such as 10%, a time such as 30s, or 0 for no wait", field=FIELD, given=text
        ) from error
    if budget_s is None or wait_s < budget_s:
        return wait_s
    if usual:
        return MOST_OF_BUDGET * budget_s
    raise UsageError(
        f"the wait is a part of the budget, which is {duration(budget_s)}: write a shorter time, or a part such as 10%",
        field=FIELD,
        given=asked,
    )


def look_at(machine: Inventory, nodes: Sequence[str] = (), job: str = "") -> Look | None:
    """Return what looks at the nodes of a machine, or at some of them; None where a batch system chooses them.

    Args:
        job: whose processes do not count; "" for none.
    """
    if machine.nodes is None:
        return partial(others_on, None, [HERE], job)
    names, cluster = nodes or machine.nodes.names, machine.nodes.cluster
    return partial(others_on, cluster.reach, names, job) if names and cluster.batch is None else None


def look_on(reach: Transport, nodes: Sequence[str]) -> Look:
    """Return what looks at some nodes."""
    return lambda: others_on(reach, nodes)


@dataclass
class QuietWait:
    """The waits of one study, which together last so long at most.

    Attributes:
        look: measures what programs take of each node; None waits for nothing.
        left_s: seconds that may still be waited.
    """

    look: Look | None
    left_s: float
    listener: Listener
    stop: StopRequest

    @property
    def waits(self) -> bool:
        """Whether it looks at all."""
        return self.look is not None and self.left_s > 0

    def before(self, what: str, budget_left_s: float | None = None) -> None:
        """Wait until others take at most MOST_TAKEN of each node, the time is over, or somebody asks to stop.

        Args:
            what: begins then, as "the first run".
            budget_left_s: what is left of the budget; None where time is not limited.
        """
        if not self.waits:
            return
        began_s, most_s = time.monotonic(), min(self.left_s, may_wait_s(self.stop, budget_left_s))
        busy = busy_nodes(self.look)
        look_s = time.monotonic() - began_s
        if not busy:
            return
        left_s = most_s - look_s
        waits = left_s > look_s and not self.stop.requested
        if waits:
            self.listener(
                Notice(
                    f"Waiting for a quiet machine before {what}: others take {told(busy)}. It waits "
                    f"{duration(left_s)} at most, and ⟦{FIELD}⟧ 0 does without."
                )
            )
        with self.stop.waiting():
            while busy and left_s > look_s and not self.stop.requested:
                self._pause(min(PAUSE_S, left_s - look_s))
                looked_s = time.monotonic()
                busy = busy_nodes(self.look) if not self.stop.requested else busy
                look_s = max(look_s, time.monotonic() - looked_s)
                left_s = most_s - (time.monotonic() - began_s)
        self.left_s = 0.0 if busy and not self.stop.requested else max(0.0, left_s)
        if self.stop.requested:
            return
        if not busy:
            self.listener(Notice("The machine is quiet now."))
            return
        after = "still busy after the wait" if waits else "busy, and no time was left to wait"
        remedy = f"stop them, or give the wait more time with ⟦{FIELD}⟧, as in ⟦{FIELD}⟧ 50%"
        text = f"before {what} the machine was {after}: others took {told(busy)}; {remedy}."
        self.listener(Notice(text, caution=True, about=OTHERS))

    def _pause(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s and not self.stop.requested:
            time.sleep(min(STEP_S, seconds))


def busy_nodes(look: Look | None) -> Mapping[str, OthersLoad]:
    """Look at all nodes, and return those of which others take too much; none where nobody could be asked."""
    try:
        seen = look() if look else {}
    except RunnerError:
        return {}
    return {node: load for node, load in seen.items() if load.part > MOST_TAKEN}


def crowded(machine: Inventory, nodes: Sequence[str], job: str) -> str:
    """Say where others take so much now that a rank has half of its core at most; "" where nowhere, or nobody knows.

    Args:
        nodes: those of the run; none is this machine.
        job: its processes are no others.
    """
    seen = busy_nodes(look_at(machine, nodes, job)).items()
    busy = {node: load for node, load in seen if load.busy >= HALF_A_CORE}
    return told(busy) if busy else ""


def told(busy: Mapping[str, OthersLoad]) -> str:
    """Say what others take of busy nodes: "0.8 of 2 cores, mostly python3", with names where there are several."""
    if set(busy) == {HERE}:
        return str(busy[HERE])
    most = sorted(busy, key=lambda node: -busy[node].part)
    named = "; ".join(f"{busy[node]} on {node}" for node in most[:MOST_NAMED])
    more = len(most) - MOST_NAMED
    return f"{named}; and more on {more} others" if more > 0 else named
