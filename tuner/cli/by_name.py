"""All commands by their names; the file of one is imported when it is called, or when help lists all."""

from collections import UserDict
from importlib import import_module
from keyword import iskeyword
from typing import Any

import typer
import typer.main

from .ask_options import asking
from .plain_help import PlainCommand, PlainGroup, told_in_a_sentence

NAMES = (
    "tune",
    "show",
    "best",
    "report",
    "plot",
    "compare",
    "blas",
    "explain",
    "export",
    "import",
    "run",
    "check",
    "dat",
    "reproduce",
    "learn",
    "calibrate",
    "predict",
    "scale",
    "spaces",
    "known",
    "doctor",
    "build",
    "setup",
    "clean",
    "serve",
    "campaign-process",
    "campaign",
    "study",
    "net",
    "nodes",
    "token",
)
"""As help lists them. The file of a command has its name, and so has the function, or the group, in it."""
FILES = {"import": "import_outputs"}
"""Files that are called otherwise."""
HIDDEN = {"campaign-process"}
"""What help does not list."""
MOST_USED = {
    "tune": ("budget", "space", "set", "blas", "cluster", "objective", "full", "study", "resume", "warm_start"),
    "blas": ("budget", "blas", "programs", "full", "space", "cluster", "study", "resume"),
    "run": ("like", "repeats", "layout", "blas", "kernel", "cluster"),
    "dat": ("file", "nodes", "cores", "memory", "network", "cpu", "ghz", "memory_fraction", "N", "NB", "ranks"),
    "scale": ("cluster", "nodes", "weak", "strong", "repeats", "study", "html"),
    "nodes check": ("cluster", "repeats", "benchmarks", "blas", "keep", "baseline", "html"),
}
"""The options of long commands that most people need, by their keys: `-h` shows these alone."""


class CommandsByName(UserDict[str, Any]):
    """The commands as Typer wants them, each made when it is first asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(NAMES))

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) is None:
            self[name] = _made(name)
        return super().__getitem__(name)


class Program(PlainGroup):
    """hpltune with all its commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = CommandsByName()

    def make_context(self, *named: Any, **attributes: Any) -> Any:
        """Read the options before the command."""
        with told_in_a_sentence():
            return super().make_context(*named, **attributes)

    def invoke(self, ctx: Any) -> Any:
        """Find the command, read its options, and run it."""
        with told_in_a_sentence():
            return super().invoke(ctx)


def _made(name: str) -> Any:
    """A command, or a group of commands, as Typer makes it for its parent."""
    word = name.replace("-", "_")
    module = import_module(f".{FILES.get(name, word)}", __package__)
    found = getattr(module, f"{word}_" if iskeyword(word) else word)
    parent = typer.Typer(add_completion=False, rich_markup_mode="rich")
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        parent.command(name, cls=PlainCommand, hidden=name in HIDDEN)(asking(found))
    made = typer.main.get_group(parent).commands[name]
    for part, command in {"": made, **getattr(made, "commands", {})}.items():
        command.most_used = MOST_USED.get(f"{name} {part}".strip(), ())
    return made
