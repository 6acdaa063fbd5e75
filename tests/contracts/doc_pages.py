"""What pages of the documentation show: commands, what these printed, and files to write."""

import inspect
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import typer.main
from click import Context
from typer.testing import CliRunner, Result

from tuner.cli import app

ROOT = Path(__file__).parents[2]
LEFT_OUT = "…"
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`\./hpltune ([^`]+)`")
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"(?:^|[\s(|/])hpltune ((?:--|[a-z]).*)")
_TYPED = re.compile(r"^\s*(?:\$ |\./|echo [^|]*\| )?hpltune |^\s*said=|^\$ ")
_MENTION = re.compile(r"`(?:\./)?hpltune ((?:--|[a-z])[^`|>\n]*)[^`\n]*`|`((?:\w+ )+--[^`\n]+)`")
HELP = "--help"
"""What stands for a page with the examples of all commands."""
PAGES = (HELP, "README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))


@dataclass
class Shown:
    """A block of shell lines with the lines that it printed, as far as the page shows them."""

    lines: list[str]
    printed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Call:
    """A call of hpltune that a page shows, without the program's name and without what a shell does with it.

    Attributes:
        typed: whether it stands in a block, where a reader copies it; in a sentence it may lack a value.
    """

    page: str
    words: tuple[str, ...]
    typed: bool


def calls(name: str) -> list[Call]:
    """All calls of hpltune that a page shows."""
    text = page(name).replace("\\\n", " ")
    lines = [
        line
        for language, body in _FENCED.findall(text)
        for line in body.splitlines()
        if _TYPED.match(line) or (language in {"sh", "bash", "console"} and not line.startswith("#"))
    ]
    typed = [Call(name, _words(call), typed=True) for line in lines for call in _CALL.findall(line)]
    said = [whole or short for whole, short in _MENTION.findall(text)]
    return [*typed, *(Call(name, _words(call), typed=False) for call in said if call.split()[0] in _known())]


@cache
def _known() -> set[str]:
    """The names of all commands, and what stands in front of one."""
    group: Any = typer.main.get_command(app)
    return {*group.commands, "--server"}


def _words(call: str) -> tuple[str, ...]:
    """The words of a call, up to what a shell takes for itself."""
    lexer = shlex.shlex(call, posix=True, punctuation_chars="|>)")
    lexer.whitespace_split, lexer.commenters = True, ""
    return tuple(takewhile(lambda word: word[0] not in "|>)#", lexer))


def examples(command: Any) -> str:
    """The examples in the help of a command and of those below it."""
    below = "".join(map(examples, getattr(command, "commands", {}).values()))
    return f"```text\n{inspect.cleandoc(command.help or '').partition('Examples:')[2]}\n```\n{below}"


def page(name: str) -> str:
    """The text of a page, by its path in the repository."""
    if name == HELP:
        return examples(typer.main.get_command(app))
    return (ROOT / name).read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """The lines of a page that call hpltune, without the program's name."""
    return re.findall(r"^\s*\./hpltune (.*)$", text, re.MULTILINE)


def inline_commands(text: str) -> list[str]:
    """The calls of hpltune inside sentences."""
    return _INLINE.findall(text)


def blocks(text: str) -> list[Shown]:
    """All blocks of shell lines, each with the output that follows it before the next block of shell lines."""
    found: list[Shown] = []
    for kind, body in _BLOCK.findall(text):
        if kind == "sh":
            found.append(Shown(body.splitlines()))
        elif found:
            found[-1].printed += [line for line in body.splitlines() if line != LEFT_OUT]
    return found


def write_files(text: str, folder: Path) -> None:
    """Write the files that a page tells to write."""
    for name, body in _FILE.findall(text):
        (folder / name).write_text(body, encoding="utf-8")


def run_line(line: str, *more: str) -> str:
    """Run a shell line of a page as its reader would, and return what it printed.

    Args:
        line: a call of hpltune, which runs in this process, or another command.
        more: options that make a call of hpltune shorter.
    """
    if not line.startswith("./hpltune "):
        subprocess.run(["sh", "-c", line], check=True, stdin=subprocess.DEVNULL)
        return ""
    done: Result = CliRunner().invoke(app, [*shlex.split(line)[1:], *more])
    assert done.exit_code == 0, (line, done.output, done.exception)
    return done.output


def check_words(line: str | Sequence[str]) -> Context:
    """Refuse a call of hpltune that names a command or an option that does not exist, or a value that it cannot have.

    Returns:
        what the words of the call mean.

    Raises:
        click.ClickException: it does.
    """
    words = shlex.split(line) if isinstance(line, str) else list(line)
    words = words[2:] if words[0] == "--server" else words
    command: Any = typer.main.get_command(app)
    parent: Context | None = None
    while hasattr(command, "commands"):
        name, *words = words
        assert name in command.commands, f"hpltune {line}: there is no command {name}"
        parent, command = Context(command, parent=parent, info_name="hpltune"), command.commands[name]
    context: Context = command.make_context(command.name, words, parent=parent)
    return context
