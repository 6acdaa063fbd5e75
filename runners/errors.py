"""Errors of starting programs, by whether trying again would help; and what may befall a launch, with its answer."""

from enum import Enum


class Mishap(Enum):
    """What may befall a launch, and the one answer to it, whoever launched.

    Attributes:
        words: what happened.
        repeats: how often the launch is repeated for it.
        lasting: whether it says nothing about the configuration however often it happens; else only while the launch is
            repeated for it.
    """

    NODE_LOST = ("a node does not answer", 1, True)
    NODE_BACK = ("a node was away or was started anew, and answers again", 1, True)
    LINK_LOST = ("the link of a node carried nothing when a setting was changed, and does so again", 1, True)
    DAEMON_LOST = ("the launcher lost a daemon that it had on a node", 1, True)
    PREEMPTED = ("the batch system gave the nodes to a job of higher priority", 9, True)
    REQUEUED = ("the batch system put the job back into its queue", 9, True)
    JOB_ENDED = ("the batch system ended the job before the run, and does not say why", 1, True)
    ENDED_BY_OTHERS = ("somebody else ended the job", 0, True)
    NO_NODES = ("the batch system gave no nodes", 0, True)
    TIME_LIMIT = ("the batch system gives less time than the run needs", 0, True)
    NO_WAY = ("hosts cannot connect to each other", 0, True)
    DISK_FULL = ("a disk is full", 0, True)
    KILLED = ("a rank was killed, often by the kernel for want of memory", 1, False)
    DISTURBED = ("somebody else changed the network", 1, False)
    BUSY = ("others were at work on a node when a run came to its time limit", 1, False)
    NO_START = ("no rank begins, though hosts can connect to each other", 0, False)

    def __init__(self, words: str, repeats: int, lasting: bool) -> None:  # noqa: FBT001 - values of a table
        self.words = words
        self.repeats = repeats
        self.lasting = lasting


OF_NODES = frozenset({Mishap.NODE_LOST, Mishap.NODE_BACK, Mishap.LINK_LOST})
"""What befalls nodes and their links: by chance, or because a setting has a value that they do not bear."""


class RunnerError(Exception):
    """A program could not be started or ended; the message is one sentence for the user.

    Attributes:
        event: what befell the launch; None where nothing says that the configuration is not to blame.
        lost_nodes: nodes that were lost by it.
    """

    event: Mishap | None = None
    lost_nodes: tuple[str, ...] = ()

    def __init__(self, sentence: str, event: Mishap | None = None) -> None:
        super().__init__(sentence)
        self.event = event or self.event


class InvalidJobError(RunnerError):
    """The job is refused and always will be."""


class SubmitError(RunnerError):
    """The job could not be started.

    Attributes:
        transient: whether the same job may start later.
    """

    def __init__(self, sentence: str, *, transient: bool) -> None:
        super().__init__(sentence)
        self.transient = transient


class ProcessError(RunnerError):
    """A helper program failed, took too long, or never started."""


class UnreachableError(RunnerError):
    """A node does not answer, or refuses the login.

    Args:
        node: the node's name.
    """

    event = Mishap.NODE_LOST

    def __init__(self, sentence: str, node: str) -> None:
        super().__init__(sentence)
        self.lost_nodes = (node,)


class HeldError(RunnerError):
    """We may not change a node's settings: somebody else has, or another machine answers by its name."""


class RefusedError(RunnerError):
    """A node, its driver or the switch refuses a setting; everything is as it was before.

    Attributes:
        setting: the refused setting's name; "" where no single value is at fault.
    """

    def __init__(self, sentence: str, setting: str = "") -> None:
        super().__init__(sentence)
        self.setting = setting
