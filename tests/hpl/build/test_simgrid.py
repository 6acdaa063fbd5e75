"""SimGrid is found, or a sentence says how to get it."""

import os
from pathlib import Path

import pytest
from as_user import program

from hpl.build.simgrid import SimGrid, SimGridError, build_virtual, find_simgrid
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "usr/bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(tools: Path, version: str, *, whole: bool = True) -> None:
    program(tools / "smpicc", "#!/bin/sh\n")
    program(tools / "smpirun", f'#!/bin/sh\nSIMGRID_VERSION="SimGrid version {version}"\n')
    if whole:
        main = tools.parent / "lib/simgrid/smpimain"
        main.parent.mkdir(parents=True)
        program(main, "#!/bin/sh\n")


def test_without_simgrid_the_sentence_says_how_to_get_it(tools: Path) -> None:
    assert list(tools.iterdir()) == []
    with pytest.raises(SimGridError, match=r"hpltune setup ⟦with⟧ simgrid.*libsimgrid-dev"):
        find_simgrid()


def test_what_belongs_together_is_found_together(tools: Path) -> None:
    install(tools, "3.32")
    found = find_simgrid()
    assert (found.version, found.smpimain) == ("3.32", tools.parent / "lib/simgrid/smpimain")


@pytest.mark.parametrize("version", ["3.25", "4.0"])
def test_another_version_is_refused_with_those_that_fit(tools: Path, version: str) -> None:
    install(tools, version)
    with pytest.raises(SimGridError, match=f"SimGrid {version} .*works with 3.32 to 3.36"):
        find_simgrid()


def test_half_an_installation_is_told(tools: Path) -> None:
    install(tools, "3.32", whole=False)
    with pytest.raises(SimGridError, match="there is no smpimain"):
        find_simgrid()


@pytest.mark.real
def test_the_simulated_program_is_built_once(built: SearchPaths, simgrid: SimGrid) -> None:
    source = obtain(built)
    first = build_virtual(source, simgrid, built)
    made_at = first.path.stat().st_mtime_ns
    steps: list[str] = []
    again = build_virtual(source, simgrid, built, lambda text, *_: steps.append(text))
    assert (again.path.stat().st_mtime_ns, steps) == (made_at, [])
    assert os.access(first.path, os.R_OK)
