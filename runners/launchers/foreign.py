"""Why a run ended that somebody started elsewhere, from its output alone: no launcher and no exit code are known."""

from ..batch.registry import batch_systems
from . import mpich, openmpi
from .base import explained

_WITHOUT_MEMORY = "a rank was killed (signal 9): often by the kernel for want of memory"
_UNKNOWN_INSTRUCTION = "a rank met an instruction this CPU lacks: the BLAS kernel does not fit it"
_SAYINGS: tuple[tuple[str, str], ...] = (
    (r"DUE TO TIME LIMIT|PBS: job killed: walltime|TERM_RUNLIMIT", "the job came to the end of its time limit"),
    (r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED", "the job was cancelled"),
    (r"Signal: Illegal instruction|Caught signal 4 ", _UNKNOWN_INSTRUCTION),
    (r"Signal: ([A-Z][\w ]+) \((\d+)\)", r"a rank was ended by signal \2 (\1)"),
    (r"Caught signal (\d+) \(([^):]+)", r"a rank was ended by signal \1 (\2)"),
    (r"(?m)^(?:\S+: line \d+: )?\s*\d* ?Killed\b", _WITHOUT_MEMORY),
    (r"(?m)^(?:\S+: line \d+: )?\s*\d* ?Illegal instruction\b", _UNKNOWN_INSTRUCTION),
    (r"(?m)^(?:\S+: line \d+: )?\s*\d* ?(Segmentation fault|Bus error|Floating point exception|Aborted)\b",
     r"the program was ended: \1"),
    (r"(\S+): command not found|command not found: (\S+)", r"the shell did not find the command \1\2"),
    (r"sh: (?:line )?(?:\d+: )?(\S+): not found", r"the shell did not find the command \1"),
    (r"sh: (?:line )?(?:\d+: )?(\S+): (Permission denied|No such file or directory|cannot execute[^\n]*)",
     r"the shell could not start \1 (\2)"),
)  # fmt: skip
"""Messages of shells, batch systems and programs that no launcher explained."""


def told(said: str) -> str | None:
    """Return the sentence why a run ended; None where its output does not say it."""
    of_batch = (saying for batch in batch_systems() for saying in batch.sayings)
    return explained((*of_batch, *openmpi.SAYINGS, *mpich.SAYINGS, *_SAYINGS), (said,))
