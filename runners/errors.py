"""Errors of starting programs, told apart by whether trying again would help."""

from collections.abc import Sequence


class RunnerError(Exception):
    """What went wrong with starting or ending a program, as one sentence for the user."""


class InvalidJobError(RunnerError):
    """The same job will always be refused."""


class SubmitError(RunnerError):
    """The job could not be started.

    Attributes:
        transient: the same job may start later.
    """

    def __init__(self, sentence: str, *, transient: bool) -> None:
        super().__init__(sentence)
        self.transient = transient


class ProcessError(RunnerError):
    """A helper program failed; carries all the evidence.

    Attributes:
        argv: the command line as tokens.
        exit_code: None where it was ended for taking too long or never started.
    """

    def __init__(self, sentence: str, argv: Sequence[str], exit_code: int | None, stdout: str, stderr: str) -> None:
        super().__init__(sentence)
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


class UnreachableError(RunnerError):
    """A node does not answer, or does not let us in.

    Attributes:
        node: its name.
    """

    def __init__(self, sentence: str, node: str) -> None:
        super().__init__(sentence)
        self.node = node


class HeldError(RunnerError):
    """Somebody else has changed a node's network, so that we may not; the sentence names the holder."""


class RefusedError(RunnerError):
    """A network setting that a node, its driver or the switch does not take; everything is as it was before.

    Attributes:
        setting: name, without "net.", of the setting whose value cannot be had; "" where it is not one value's fault.
    """

    def __init__(self, sentence: str, setting: str = "") -> None:
        super().__init__(sentence)
        self.setting = setting
