"""Errors of starting programs, grouped by whether trying again would help."""

from collections.abc import Sequence


class RunnerError(Exception):
    """A program could not be started or ended; the message is one sentence for the user."""


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
    """A helper program failed; the error keeps its whole output.

    Attributes:
        argv: the command line, as tokens.
        exit_code: None if the program took too long and was ended, or never started.
    """

    def __init__(self, sentence: str, argv: Sequence[str], exit_code: int | None, stdout: str, stderr: str) -> None:
        super().__init__(sentence)
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


class UnreachableError(RunnerError):
    """A node does not answer, or refuses the login.

    Attributes:
        node: the node's name.
    """

    def __init__(self, sentence: str, node: str) -> None:
        super().__init__(sentence)
        self.node = node


class HeldError(RunnerError):
    """Another user or process has changed a node's settings, so we may not; the sentence names the holder."""


class RefusedError(RunnerError):
    """A node, its driver or the switch refuses a setting; everything is as it was before.

    Attributes:
        setting: the refused setting's name; "" where no single value is at fault.
    """

    def __init__(self, sentence: str, setting: str = "") -> None:
        super().__init__(sentence)
        self.setting = setting
