"""What --help prints."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from as_user import Run
from rich.text import Text
from typer.testing import CliRunner

from tuner.cli import app


def commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command of a group with its whole name."""
    for own, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {own}")
        else:
            yield f"{name} {own}", command


COMMANDS = list(commands(typer.main.get_command(app), "hpltune"))


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_no_word_of_a_help_text_is_taken_for_a_style_of_the_terminal(name: str, command: Any) -> None:
    context = command.context_class(command, info_name=name)
    for text in (command.help, *(getattr(parameter, "help", None) for parameter in command.get_params(context))):
        assert Text.from_markup(text or "").plain == (text or ""), name


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_options_are_shown_with_words_and_flags_with_none(name: str, command: Any) -> None:
    context = command.context_class(command, info_name=name)
    options = [one for one in command.get_params(context) if one.param_type_name == "option"]
    assert options
    for option in options:
        said = option.display_type_rich(ctx=context)
        assert not said.startswith("<")
        assert said == "" or not option.is_flag


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_arguments_are_shown_with_their_names_only(name: str, command: Any) -> None:
    context = command.context_class(command, info_name=name)
    for argument in (one for one in command.get_params(context) if one.param_type_name == "argument"):
        assert argument.get_help_record(context)[0] == argument.metavar


@pytest.mark.parametrize("group", [(), ("net",), ("study",), ("token",), ("campaign",)])
def test_a_group_of_commands_shows_no_type_in_front_of_its_flags(group: tuple[str, ...]) -> None:
    assert "<" not in CliRunner().invoke(app, [*group, "--help"]).output


def test_a_newcomer_who_types_the_name_alone_reads_three_doors_in_ten_lines(hpltune: Run) -> None:
    done = hpltune()
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 80
    doors = ("hpltune tune", "hpltune reproduce kronos", "hpltune dat")
    assert [door for door in doors if door not in done.stdout] == []


LONG = 11
"""Options of a command from which on `-h` shows only some."""


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_command_with_many_options_has_a_short_help(name: str, command: Any, hpltune: Run) -> None:
    options = {one.name for one in command.params if one.param_type_name == "option"}
    assert bool(command.most_used) == (len(options) > LONG + 1)
    assert set(command.most_used) <= {one.name for one in command.params}
    whole, short = (hpltune(*name.split()[1:], option).stdout for option in ("--help", "-h"))
    if command.most_used:
        assert f"`{name} --help` shows all {len(options) + 1} options." in short
        assert len(short.splitlines()) < 45
    else:
        assert short == whole


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_help_fits_the_terminal_and_has_options_before_examples(name: str, command: Any, hpltune: Run) -> None:
    del command
    lines = hpltune(*name.split()[1:], "--help").stdout.splitlines()
    assert lines[0].startswith(f"Usage: {name} ")
    examples = lines.index("Examples") if "Examples" in lines else len(lines)
    assert any("--help" in line for line in lines[:examples])
    assert [line for line in lines[:examples] if len(line) > 80 and len(line.split()[-1]) < 40] == []


def test_the_group_of_all_commands_names_each_with_what_it_does(hpltune: Run) -> None:
    shown = hpltune("--help").stdout
    for name in ("tune", "best", "doctor", "nodes", "token"):
        assert f"\n  {name} " in shown
    assert "campaign-process" not in shown
