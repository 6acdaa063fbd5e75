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
