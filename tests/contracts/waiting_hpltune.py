"""hpltune as a program that waits with all imported: for each line it reads, a copy of it is one run of hpltune.

Labs start it on a host, where a run in the process of the tests is not possible. A copy begins in 30 ms, and is in all
else a process of its own: its streams, folder, environment, signals and identity are those of a program just started.
"""

import json
import os
import sys
from dataclasses import asdict, dataclass
from importlib import import_module

IMPORTED = (
    "tuner.commands.campaigns.tune",
    "tuner.commands.campaigns.run",
    "tuner.commands.hosts.doctor",
    "tuner.nodes.check",
    "tuner.scaling.scale",
)


@dataclass(frozen=True)
class CommandLine:
    """One run of hpltune.

    Attributes:
        argv: the name of the program and its arguments.
        folder: where it runs.
        environment: all variables of its environment.
        stdout: the file that takes its standard output.
        stderr: the file that takes its standard error.
    """

    argv: list[str]
    folder: str
    environment: dict[str, str]
    stdout: str
    stderr: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def run(self) -> None:
        """Become this run: ends as the program does."""
        for number, file, flags in (
            (0, os.devnull, os.O_RDONLY),
            (1, self.stdout, os.O_WRONLY | os.O_CREAT),
            (2, self.stderr, os.O_WRONLY | os.O_CREAT),
        ):
            opened = os.open(file, flags)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv = self.argv
        import_module("tuner.cli").main()
        sys.exit()


def wait() -> None:
    """Run one command line after another, and write how each ended."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for module in IMPORTED:
        import_module(module)
    while line := sys.stdin.readline():
        process = os.fork()
        if process == 0:
            CommandLine(**json.loads(line)).run()
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    wait()
