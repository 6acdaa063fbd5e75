"""Writes docs/commands.md from the commands' own help, so that the page cannot say anything else.

Run `python docs/make_commands.py`; a test fails when the page is not what this would write.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer.main

from tuner.cli import app

PAGE = Path(__file__).with_name("commands.md")
HEAD = """# Commands

Reference: every command, with its options and exit codes. `--help` says more of each. Exit codes: 0 done,
1 one sentence on standard error says why not, 2 wrong usage (nothing was run), 130 stopped by Ctrl-C (143 by SIGTERM,
129 by SIGHUP; 130 by any of them where runs were under way). `hpltune --install-completion` sets up tab completion.

## Options that mean the same everywhere

Below, a command that has one of these only names it.

"""
MOST_EXAMPLES = 2
"""Of a command; its help has more."""
FEWEST_COMMANDS = 2
"""An option with the same words in so many commands is explained once; of one name, that which most have."""


def page() -> str:
    """Write the whole page."""
    group: Any = typer.main.get_command(app)
    options = {name: (command, _options(name, command)) for name, command in _all(group.commands)}
    counts = Counter(option for _, own in options.values() for option in own)
    common = [one for one, count in counts.most_common() if count >= FEWEST_COMMANDS and _name(one)]
    shared = {_name(one): one for one in reversed(common)}.values()
    once = "".join(_line(option) for option in counts if option in shared)
    return HEAD + once + "".join(_section(name, command, own, shared) for name, (command, own) in options.items())


def _all(commands: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its whole name; those of a group one by one."""
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from _all(command.commands, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _options(name: str, command: Any) -> list[tuple[str, str]]:
    """Return what a command can be given: how it is written, and what it means."""
    context = command.context_class(command, info_name=f"hpltune {name}")
    records = (one.get_help_record(context) for one in command.get_params(context) if hasattr(one, "get_help_record"))
    return [(one[0].strip(), " ".join(one[1].split())) for one in records if one and "--help" not in one[0]]


def _line(option: tuple[str, str]) -> str:
    return f"- `{option[0]}`: {option[1]}\n"


def _name(option: tuple[str, str]) -> str:
    """Return the long name of an option, without its value; an argument has none."""
    return next((word for word in option[0].split() if word.startswith("--")), "")


def _section(name: str, command: Any, options: Sequence[tuple[str, str]], shared: Collection[tuple[str, str]]) -> str:
    """One command: what it does in short, its exit codes, examples, its own options, and the names of shared ones."""
    text, _, examples = (command.help or "").partition("Examples:")
    first, *more = text.strip().split("\n\n")
    told = (" ".join(part.split()) for part in more if "xit code" in part or part.startswith("Ends with"))
    said = "\n\n".join((" ".join(first.split()), *told))
    shown = "\n".join([line.strip() for line in examples.strip().splitlines() if line.strip()][:MOST_EXAMPLES])
    own = "".join(_line(option) for option in options if option not in shared)
    also = ", ".join(f"`{_name(option)}`" for option in options if option in shared)
    listed = own + (f"- Also {also}.\n" if also else "")
    return f"\n## hpltune {name}\n\n{said}\n\n```text\n{shown}\n```\n\n{listed}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
