"""Writes docs/commands.md from the commands' own help, so that the page cannot say anything else.

Run `python docs/make_commands.py`; a test fails when the page is not what this would write.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from tuner.cli import app

PAGE = Path(__file__).with_name("commands.md")
HEAD = """# Commands

Every command prints this with `--help`. Exit codes: 0 done, 1 one sentence on standard error says why not,
2 wrong usage (the command line, or a space, HPL.dat, cluster or design file; nothing was run), 130 stopped by
Ctrl-C (143 by SIGTERM, 129 by SIGHUP; 130 by any of them where runs were under way).
`check` also gives its verdict as 1 or 2. `hpltune --install-completion` sets up tab completion.
"""


def page() -> str:
    """Write the whole page."""
    group: Any = typer.main.get_command(app)
    return HEAD + "".join(_section(name, command) for name, command in _all(group.commands))


def _all(commands: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its whole name; those of a group one by one."""
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from _all(command.commands, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _section(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"hpltune {name}")
    text, _, examples = (command.help or "").partition("Examples:")
    lines = [f"\n## hpltune {name}\n", "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"]
    shown = "\n".join(line.strip() for line in examples.strip().splitlines() if line.strip())
    lines.append(f"```text\n{shown}\n```\n")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if hasattr(parameter, "get_help_record") else None
        if record and "--help" not in record[0]:
            lines.append(f"- `{record[0].strip()}`: {' '.join(record[1].split())}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
