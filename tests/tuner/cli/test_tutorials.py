"""The commands of the tutorials work, and print what the pages show."""

import re
from pathlib import Path

import pytest
from doc_pages import ROOT, blocks, check_words, commands, inline_commands, page, run_line, write_files

KRONOS = page("docs/kronos.md")
PREPARE = ("sudo ", "git ", "cd ")
"""How lines begin that prepare a machine: they are not run."""
RUNS = 2
SHORTER = ("--trials", f"{RUNS}", "--repeats", "1", "--confirm", "0")
"""Added to the searches of the page: a later option overrules an earlier one."""
UNSHORTENED = re.compile(rf"#[1-{RUNS}] |--set ")
"""How the lines of a search begin that are the same in a shorter one."""
SEARCHES = {"together": ("--trials", "12", "--set", "N=2000", "--set", "NB=96,128"), "noisy": SHORTER}
"""Searches, by study, whose output depends on all of their trials; with what makes them short."""


@pytest.mark.real
@pytest.mark.usefixtures("simgrid", "home")
def test_every_command_of_the_kronos_tutorial_prints_what_the_page_shows(tmp_path: Path) -> None:
    write_files(KRONOS, tmp_path)
    (tmp_path / "runners").symlink_to(ROOT / "runners")
    shown = [block for block in blocks(KRONOS) if not block.lines[0].startswith(PREPARE)]
    assert len(shown) > 12
    for block in shown:
        exact = not any(study in line.split() for study in SEARCHES for line in block.lines)
        printed = "\n".join(run_line(line, *shorter(line)) for line in block.lines)
        for line in block.printed:
            if exact and ("tune " not in block.lines[0] or UNSHORTENED.match(line)):
                assert plain(line) in plain(printed), (block.lines, printed)


def shorter(line: str) -> tuple[str, ...]:
    if not line.startswith("./hpltune tune "):
        return ()
    return next((more for study, more in SEARCHES.items() if study in line.split()), SHORTER)


def plain(text: str) -> str:
    """Words alone: not what is left of a budget, nor how wide a terminal is."""
    return " ".join(re.sub(r"  best .*", "", text).split())


@pytest.mark.parametrize("text", [KRONOS], ids=["kronos"])
def test_no_command_of_a_tutorial_has_a_word_that_hpltune_does_not_know(text: str) -> None:
    said = [*commands(text), *inline_commands(text)]
    assert len(said) > 12
    for line in said:
        check_words(line)
