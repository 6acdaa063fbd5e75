"""Help in plain words: what a value is, in place of the names of Python's types."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from types import ModuleType
from typing import Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

PLAIN: dict[Any, str] = {int: "NUMBER", float: "NUMBER", str: "TEXT"}

MANY = 9
"""Options from which on they stand in groups, where they are of several."""


UNUSED = ("rich.markdown", "rich.traceback")
"""What the help of Typer imports and ours never shows; it would be a third of the time of `--help`."""


class _Nothing(ModuleType):
    """Stands for a module of which nothing is used."""

    def __getattr__(self, name: str) -> type:
        return type(name, (), {})


@contextmanager
def _unused_left_out() -> Iterator[None]:
    """While the block imports Typer's help, what that never uses of Rich is left out, unless it is there already."""
    left_out = [name for name in UNUSED if name not in sys.modules]
    sys.modules.update({name: _Nothing(name) for name in left_out})
    try:
        yield
    finally:
        for name in left_out:
            del sys.modules[name]


class _PlainHelp:
    """Help whose sentences the terminal breaks, with parameters that say NUMBER or TEXT where they name no value."""

    help: str | None

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.help = _unbroken(self.help)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        with _unused_left_out():
            import typer.rich_utils  # noqa: F401 - Typer imports it next
        super().format_help(ctx, formatter)  # type: ignore[misc]  # of Typer's command, beside which it stands

    def get_params(self, ctx: Any) -> Any:
        """All parameters, --help among them."""
        return _plain(super().get_params(ctx))  # type: ignore[misc]  # of Typer's command, beside which it stands


class PlainCommand(_PlainHelp, TyperCommand):
    """A command with plain help; its flags and arguments show no type."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            UsageError: a word stands where none is expected, or a value is none that its option takes.
        """
        if args and not args[0].startswith("-"):
            self._refuse_cluster(args[0])
        ctx.allow_extra_args = True
        try:
            super().parse_args(ctx, args)
        except BadParameter as error:
            _refuse_value(error)
            raise
        if ctx.args and not ctx.resilient_parsing:
            self._refuse_words(ctx.args)
        return list(ctx.args)

    def _refuse_words(self, words: Sequence[str]) -> None:
        """Say which words are too many, and how a study is named where the command takes one."""
        from ..errors import UsageError

        known = {name for parameter in self.params for name in parameter.opts}
        studies = f"; a study is named with --study, as in --study {words[0]}" if "--study" in known else ""
        raise UsageError(f"{' '.join(words)}: no such word is expected here{studies}")

    def _refuse_cluster(self, word: str) -> None:
        """Say how a virtual cluster is named, where the command takes one but no words."""
        takes_words = any(parameter.param_type_name == "argument" for parameter in self.params)
        if takes_words or not any("--cluster" in parameter.opts for parameter in self.params):
            return
        from runners.virtual.load import shipped

        from ..errors import UsageError

        if word in shipped():
            raise UsageError(f"{word} is a virtual cluster: write --cluster {word}")


class PlainGroup(_PlainHelp, TyperGroup):
    """Commands with a name in common, whose help is as plain as theirs."""


def _refuse_value(error: BadParameter) -> None:
    """Say in our words what pydantic found wrong with a value, for Typer repeats its words.

    Raises:
        UsageError: it was pydantic.
    """
    found, parameter = getattr(error.__cause__, "errors", None), error.param
    if found is None or parameter is None:
        return
    from runners.wrong_value import IN_OUR_WORDS, in_our_words

    from ..errors import UsageError

    first = found()[0]
    argument = (parameter.metavar or parameter.name or "").strip("[]")
    name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else argument
    given = str(first["input"])
    shown = f" {given if given.isprintable() else ascii(given)}" if first["type"] in IN_OUR_WORDS else ""
    raise UsageError(f"{name}{shown}: {in_our_words(first).rstrip('.')}") from error


def _unbroken(text: str | None) -> str | None:
    """A help whose paragraphs are lines without an end, which only the terminal breaks; commands stay as they are."""
    if text is None:
        return None
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else part.replace("\n", " ") for part in paragraphs)


def _plain(parameters: Any) -> Any:
    options = [option for option in parameters if option.param_type_name == "option"]
    groups = {option.rich_help_panel for option in options if getattr(option, "rich_help_panel", None)}
    if len(options) <= MANY or len(groups) < 2:  # one of them is --help
        for option in options:
            option.rich_help_panel = None
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
