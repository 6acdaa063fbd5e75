"""Repeats a launch once if a lost node or a changed network ended it, and not its configurations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from results.record import TrialRecord

from ..clock import Clock
from ..machine.inventory import Inventory
from ..stopping import Stopping

PAUSE_S = 2.0
"""Seconds between two questions to nodes that do not answer; one that refuses a connection does so at once."""


@dataclass(frozen=True)
class Launched:
    """What came of a launch, and of the further launches that its trials needed.

    Attributes:
        records: one of each trial, committed.
        lost_nodes: nodes that did not answer when a run had failed.
        disturbed: the sentence that somebody else changed a network setting meanwhile, if the launch should be repeated
            for it; else "".
        in_vain: why the nodes did not come for which it waited; "" where they came.
        began: whether HPL began, or a run ended without an error.
    """

    records: Sequence[TrialRecord]
    lost_nodes: tuple[str, ...] = ()
    disturbed: str = ""
    in_vain: str = ""
    began: bool = True


@dataclass(frozen=True)
class Repeater:
    """Launches on one site, and repeats a launch that was not to blame for its end.

    Attributes:
        say: shows the user a sentence.
        stop: after a request nothing is repeated.
    """

    site: Inventory
    say: Callable[[str], None]
    stop: Stopping
    clock: Clock

    def launch(self, start: Callable[[bool], Launched]) -> Launched:
        """Launch, and launch again: at once after a disturbance, as soon as they answer after nodes were lost.

        Args:
            start: launches; True says that no further disturbance will repeat it.

        Returns:
            The last launch; with the nodes that were lost where they do not come back or were lost again.
        """
        done = start(False)
        if done.disturbed and not self.stop.requested:
            self.say(f"{done.disturbed}: the run is repeated.")
            done = start(True)
        if not done.lost_nodes or self.stop.requested:
            return done
        silent = self._still_silent(done.lost_nodes)
        return replace(done, lost_nodes=silent) if silent else start(False)

    def _still_silent(self, lost: tuple[str, ...]) -> tuple[str, ...]:
        """Give lost nodes a moment to answer again, and return those that do not; a batch system gives others."""
        names = ", ".join(lost)
        batch = self.site.nodes.cluster.batch if self.site.nodes else None
        if batch:
            self.say(f"Node {names} failed: the run is repeated on what {batch.words.title} gives.")
            return ()
        from ..machine.cluster_nodes import silent_nodes  # noqa: PLC0415 - only a cluster needs it

        return_s = self.site.nodes.cluster.return_s if self.site.nodes else 0.0
        self.say(f"Node {names} does not answer: waiting {return_s:.0f} s for it.")
        give_up_s = self.clock.now_s() + return_s
        while silent := silent_nodes(self.site):
            if self.stop.requested or self.clock.now_s() > give_up_s:
                return silent
            self.clock.sleep(PAUSE_S)
        self.say("It answers again: the run is repeated.")
        return ()
