"""Help in plain words: what a value is, in place of the names of Python's types."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import cleandoc
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill, wrap
from typing import Any, get_args

from typer import TyperException
from typer.core import TyperCommand, TyperGroup

PLAIN: dict[Any, str] = {int: "NUMBER", float: "NUMBER", str: "TEXT"}

NUMBERS = {int: re.compile(r"[0-9]{1,15}"), float: re.compile(r"[0-9]{1,15}([.][0-9]{1,15})?")}
"""Numbers of a command line that mean the same everywhere."""
MANY = 9
"""Options from which on they stand in groups, where they are of several."""

LEFT, WIDEST = 24, 100
"""Characters before the text of an option, and of a line on a terminal that has room for more."""
EXAMPLES = 3
"""That the short form shows."""
SHORT = "hpltune.short"
"""The key under which a call keeps that it asked for the short form."""


class _PlainHelp:
    """Help whose sentences the terminal breaks, with parameters that say NUMBER or TEXT where they name no value."""

    help: str | None
    most_used: Sequence[str] = ()

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.help = _unbroken(self.help)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the command line, and note whether it asks for the short help."""
        ctx.meta[SHORT] = "-h" in args and "--help" not in args
        return super().parse_args(ctx, args)  # type: ignore[misc]  # of Typer's command, beside which it stands

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help: what the command does, its options, and then examples.

        `-h` prints the main options only, where the command has such.
        """
        width = min(get_terminal_size().columns, WIDEST)
        text, _, examples = (self.help or "").partition("Examples:")
        shown = [line for line in examples.splitlines() if line.strip()]
        parameters = self.get_params(ctx)
        if self.most_used and ctx.meta[SHORT]:
            text, shown = text.partition("\n\n")[0], shown[:EXAMPLES]
            count = sum(parameter.param_type_name == "option" for parameter in parameters)
            parameters = [parameter for parameter in parameters if parameter.name in self.most_used]
            end = f"`{ctx.command_path} --help` shows all {count} options."
        else:
            end = str(getattr(self, "epilog", None) or "")
        formatter.write(f"{self.get_usage(ctx)}\n")  # type: ignore[attr-defined]  # of Typer's command
        for paragraph in text.strip().split("\n\n"):
            formatter.write(f"\n{fill(paragraph, width, break_long_words=False, break_on_hyphens=False)}\n")
        for title, rows in self._sections(ctx, parameters).items():
            formatter.write(f"\n{title}\n" + "".join(map(partial(_row, width), rows)))
        if shown:
            formatter.write("\nExamples\n" + "".join(f"  {line.strip()}\n" for line in shown))
        if end:
            formatter.write(f"\n{fill(end, width)}\n")

    def _sections(self, ctx: Any, parameters: Sequence[Any]) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The rows of names and texts by their group."""
        found: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(parameters, key=lambda one: one.param_type_name):
            usual = f"{parameter.param_type_name.capitalize()}s"
            record = parameter.get_help_record(ctx)
            if record is not None:
                found.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        return found

    def get_params(self, ctx: Any) -> Any:
        """All parameters, --help among them."""
        return _plain(super().get_params(ctx))  # type: ignore[misc]  # of Typer's command, beside which it stands


class PlainCommand(_PlainHelp, TyperCommand):
    """A command with plain help; its flags and arguments show no type."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            UsageError: a word stands where none is expected.
        """
        if args and not args[0].startswith("-"):
            self._refuse_cluster(args[0])
        ctx.allow_extra_args = True
        super().parse_args(ctx, args)
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

    def _sections(self, ctx: Any, parameters: Sequence[Any]) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Options, and the commands with what they do."""
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        rows = [(name, (one.help or "").partition("\n\n")[0]) for name, one in commands if not one.hidden]
        return {**super()._sections(ctx, parameters), "Commands": rows}


@contextmanager
def told_in_a_sentence() -> Iterator[None]:
    """Make one sentence of what Typer finds wrong with the command line while the block runs.

    Raises:
        UsageError: something is.
    """
    try:
        yield
    except TyperException as error:
        from ..errors import UsageError

        context = getattr(error, "ctx", None)
        where = f"; `{context.command_path} -h` lists what there is" if context else ""
        text = " ".join(error.format_message().rstrip(".?").split())
        one = re.sub(r"[.] [A-Z]", lambda begin: f"; {begin[0][-1].lower()}", text)
        said = _in_our_words(error) or one + where
        raise UsageError(said) from error


def _in_our_words(error: TyperException) -> str:
    """What pydantic found wrong with a value, in our words, for Typer repeats its own; "" where it found nothing."""
    found, parameter = getattr(error.__cause__, "errors", None), getattr(error, "param", None)
    if found is None or parameter is None:
        return ""
    from runners.toml_file import IN_OUR_WORDS, in_our_words

    first = found()[0]
    argument = (parameter.metavar or parameter.name or "").strip("[]")
    name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else argument
    given = str(first["input"])
    shown = f" {given if given.isprintable() else ascii(given)}" if first["type"] in IN_OUR_WORDS else ""
    return f"{name}{shown}: {in_our_words(first).rstrip('.')}"


def _value(parameter: Any, ctx: Any, value: Any) -> Any:
    """The value of a parameter, as Typer returns it.

    Typer reads values with pydantic, whose import takes longer than most commands. Read here is what needs no pydantic:
    nothing, a text, a path, a number within its limits, a default that has its type, and several of these.
    """
    kind, limits = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    several = parameter.multiple or parameter.nargs != 1
    one, given = (get_args(kind)[:1] or (kind,))[0], value if several else [value]
    found: Any
    if value is None and not parameter.required:
        found = () if several else None
    elif isinstance(given, list | tuple) and given and all(_is_plain(part, one, limits) for part in given):
        found = [one(part) for part in given] if several else one(value)
    else:
        return type(parameter).process_value(parameter, ctx, value)
    return found if parameter.callback is None else parameter.callback(ctx, parameter, found)


def _is_plain(value: Any, kind: Any, limits: Any) -> bool:
    """Whether a value needs no pydantic: it has its type, is a text or path of usual letters, or a number in limits."""
    if kind in NUMBERS and type(value) is not kind:
        least, most = (
            (-math.inf if limits.min is None else limits.min),
            (math.inf if limits.max is None else limits.max),
        )
        return bool(NUMBERS[kind].fullmatch(str(value))) and least <= kind(value) <= most
    return (type(value) is kind or (kind is Path and isinstance(value, str | Path))) and str(value).isascii()


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
        shown.process_value = partial(_value, shown)
        if shown.param_type_name == "argument":
            shown.display_type = lambda _context: None  # its name says what it is
        elif shown.metavar is None:
            kind = getattr(getattr(shown, "type_descriptor", None), "annotation", None)
            shown.metavar = "" if getattr(shown, "is_flag", False) else PLAIN.get(kind)
    return parameters


def _row(width: int, row: tuple[str, str]) -> str:
    """An option or a command with its text beside it, or below it where the name is long."""
    name, text = row
    lines = wrap(" ".join(text.split()), width - LEFT, break_long_words=False, break_on_hyphens=False)
    if len(name) > LEFT - 4:
        lines = ["", *lines]
    first, *others = lines or [""]
    told = [f"  {name:<{LEFT - 2}}{first}".rstrip(), *(" " * LEFT + line for line in others)]
    return "\n".join(told) + "\n"
