"""Help in plain words: what a value is, in place of the names of Python's types, and options in groups."""

from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, get_type_hints

from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

PLAIN: dict[Any, str] = {int: "NUMBER", float: "NUMBER", str: "TEXT"}

MANY = 9
"""Options from which on a command's help is grouped."""
PANELS = {
    "What to search": (
        "space", "set_", "engine", "objective", "pareto", "points", "seed", "from_simulation", "warm_start",
        "nodes", "weak", "strong", "order", "n", "nb",
    ),
    "Budget": (
        "budget", "trials", "run_time", "full", "memory_fraction", "repeats", "confirm", "limit", "walltime", "time",
    ),
    "Machine": (
        "replay", "replay_speed", "blas", "xhpl", "hpl_source", "rpeak", "price", "power", "kernel", "layout",
        "oversubscribe", "like", "threads", "depth", "binding",
    ),
    "Cluster": ("cluster", "parallel", "jobs", "join"),
    "Study and output": ("study", "resume", "out", "plot", "db", "as_json", "count", "page"),
}  # fmt: skip
"""Panel: the parameters whose options stand in it. What stands nowhere is left in "Options"."""
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class PlainCommand(TyperCommand):
    """A command whose options say NUMBER or TEXT where they name no value of their own; flags and arguments no type."""

    def get_params(self, ctx: Any) -> Any:
        """All parameters, --help among them."""
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """Commands with a name in common, whose help is as plain as theirs."""

    def get_params(self, ctx: Any) -> Any:
        """All parameters, --help among them."""
        return _plain(super().get_params(ctx))


def _plain(parameters: Any) -> Any:
    for parameter in parameters:
        shown: Any = parameter
        if shown.param_type_name == "argument":
            shown.display_type = _no_type
        elif shown.metavar is None:
            kind = getattr(getattr(shown, "type_descriptor", None), "annotation", None)
            shown.metavar = "" if getattr(shown, "is_flag", False) else PLAIN.get(kind)
    return parameters


def _no_type(_context: Any) -> None:
    """The type of an argument as help shows it: none, for its name says what it is."""


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give each option of a command that has many a panel."""
    hints = get_type_hints(command, include_extras=True)
    options = {name: hint for name, hint in hints.items() if _option(hint)}
    if len(options) >= MANY:
        for name, hint in options.items():
            option = copy(_option(hint))
            if option is not None and not option.hidden:
                option.rich_help_panel = PANEL_OF.get(name)
                command.__annotations__[name] = Annotated[hint.__origin__, option]
    return command


def _option(hint: Any) -> OptionInfo | None:
    """What Typer knows of an option; None for an argument."""
    return next((entry for entry in getattr(hint, "__metadata__", ()) if isinstance(entry, OptionInfo)), None)
