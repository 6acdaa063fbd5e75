"""SimGrid's SMPI: one process that simulates all ranks."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..job import Job
from .base import last_words

PLATFORM = "platform.xml"
HOSTS = "hosts"
MODEL = "model"
"""Names of the files in the job's folder that describe the virtual cluster."""


@dataclass(frozen=True)
class SmpiNetwork:
    """The part of the network that SimGrid reads from its configuration, not from the platform file."""

    latency_factors: str
    eager_bytes: int

    def options(self) -> list[str]:
        """Return SimGrid's options; bandwidth factors are off, as our links already have the effective bandwidth."""
        return [
            "network/model:SMPI",
            "network/TCP-gamma:1e12",
            "smpi/bw-factor:0:1",
            f"smpi/lat-factor:{self.latency_factors}",
            f"smpi/async-small-thresh:{self.eager_bytes}",
            f"smpi/send-is-detached-thresh:{self.eager_bytes}",
        ]


QUIET = (
    "smpi/privatization:no",
    "smpi/simulate-computation:no",
    "smpi/iprobe:0",
    "smpi/test:0",
    "smpi/wtime:0",
    "smpi/grow-injected-times:no",
    "contexts/stack-size:256",
    "surf/precision:1e-9",
)
"""Only the program's and the platform's figures cost time; one address space, small stacks."""


@dataclass(frozen=True)
class Smpi:
    """Starts simulated programs with `smpimain` directly, because the script smpirun leaves it running when ended."""

    smpimain: Path
    network: SmpiNetwork

    def command(self, job: Job) -> list[str]:
        """Return the command line; platform, hosts and model are files in the job's folder."""
        options = [*self.network.options(), *QUIET, f"smpi/np:{job.ranks}", f"smpi/hostfile:{HOSTS}"]
        return [
            str(self.smpimain),
            job.program[0],
            *(f"--cfg={option}" for option in options),
            "--log=root.thres:error",
            PLATFORM,
            *job.program[1:],
        ]

    def explain(self, job: Job, exit_code: int, said: str) -> str:  # noqa: ARG002 - the contract's
        """Explain SimGrid's messages in one sentence."""
        if re.search(r"[Dd]eadlock", said):
            return "the simulation stopped in a deadlock: HPL needs more ranks than were started"
        if match := re.search(r"hpltune-virtual: (.+)", said):
            return f"the simulation: {match[1]}"
        return last_words("SimGrid", exit_code, said)
