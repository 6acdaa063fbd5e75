"""The commands of the tutorials work, and print what the pages show."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from doc_pages import ROOT, blocks, check_words, commands, inline_commands, page, run_line, write_files

from runners.hosts.cluster import load_real_cluster

KRONOS = page("docs/kronos.md")
DESK = page("docs/first-cluster.md")
PREPARE = ("sudo ", "git ", "cd ")
"""How lines begin that prepare a machine: they are not run."""
RUNS = 2
SHORTER = ("--trials", f"{RUNS}", "--repeats", "1", "--confirm", "0")
"""Added to the searches of the page: a later option overrules an earlier one."""
UNSHORTENED = re.compile(rf"#[1-{RUNS}] |--set ")
"""How the lines of a search begin that are the same in a shorter one."""
SEARCHES = {"together": ("--trials", "5", "--set", "N=2000", "--set", "NB=96,128", "--confirm", "0"), "noisy": SHORTER}
"""Searches, by study, whose output depends on all of their trials; with what makes them short."""
MADE = re.compile(r"/srv/hpl/data/best/|only-n\d\.toml|model\.toml")
"""How files are called that the reader makes, or hpltune for him."""


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


@pytest.mark.parametrize("text", [KRONOS, DESK], ids=["kronos", "desk"])
@pytest.mark.usefixtures("home")
def test_no_command_of_a_tutorial_has_a_word_that_hpltune_does_not_know(text: str, tmp_path: Path) -> None:
    write_files(text, tmp_path)
    said = [*commands(text), *inline_commands(text)]
    assert len(said) > 12
    for line in said:
        check_words(line)


def test_the_tutorial_of_the_desk_uses_only_files_and_studies_that_it_made_before(tmp_path: Path) -> None:
    write_files(DESK, tmp_path)
    made = {"one.dat", *(file.name for file in tmp_path.iterdir())}
    for line in commands(DESK):
        words = line.split()
        files = [word for word in words if word.endswith((".toml", ".dat"))]
        assert [file for file in files if file not in made and not MADE.match(file)] == [], line
        made |= {after for word, after in pairwise(words) if word == "--study"}
        named = [word for word in words[1:2] if words[0] in {"best", "report", "compare", "explain"}]
        named += [after for word, after in pairwise(words) if word == "--like"]
        assert [study for study in named if study not in made] == [], line


@pytest.mark.usefixtures("home")
def test_hpltune_reads_the_files_of_the_desk(tmp_path: Path) -> None:
    write_files(DESK, tmp_path)
    cluster = load_real_cluster(tmp_path / "desk.toml")
    assert (cluster.hosts, cluster.node.price_usd) == (("n1", "n2", "n3", "n4"), 90)
    assert "net.mtu" in run_line("./hpltune spaces mtu.toml --set layout=4x1 --cores 4")
