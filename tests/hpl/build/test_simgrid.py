"""SimGrid is found on PATH or in the private prefix, or a sentence says why it cannot be used."""

import os
from pathlib import Path

import pytest
from as_user import program

from hpl.build.simgrid import SimGrid, SimGridError, build_virtual, find_simgrid, simgrid_here
from hpl.build.toolchain import BuildError
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths

SHOWS = """#!/bin/sh
SIMGRID_VERSION="SimGrid version {version}"
shift
echo {compiler} -I/usr/include/smpi $* -lsimgrid
"""
"""What smpicc is: a script with absolute paths in it."""
CC = """#!/bin/sh
for made; do :; done
for word; do echo "$word"; done >"$made"
"""
"""A C compiler that writes down how it was called, as what it makes."""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, with a C compiler."""
    folder = tmp_path / "usr/bin"
    folder.mkdir(parents=True)
    program(folder / "cc", CC)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def search(tmp_path: Path) -> SearchPaths:
    """A private prefix that is empty, in a folder whose name has a space."""
    return SearchPaths(tmp_path / "my cache/prefix", tmp_path / "my cache")


def install(root: Path, version: str = "4.0", *, whole: bool = True, compiler: str = "/nowhere/cc") -> Path:
    """Install a SimGrid below a root folder; unpacked packages name their files as if the root were `/`."""
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    main = root / "usr/lib/x86_64-linux-gnu/simgrid/smpimain"
    named = Path("/", main.relative_to(root)) if root.name == "debs" else main
    program(root / "usr/bin/smpirun", f"#!/bin/sh\nexec {named}\n" if whole else "#!/bin/sh\n")
    if whole:
        main.parent.mkdir(parents=True)
        program(main, "#!/bin/sh\n")
    return program(root / "usr/bin/smpicc", SHOWS.format(version=version, compiler=compiler))


def test_without_simgrid_the_sentence_says_how_to_get_it(tools: Path, search: SearchPaths) -> None:
    assert not list(tools.glob("smpi*"))
    assert simgrid_here(search) is None
    with pytest.raises(SimGridError, match=r"hpltune setup ⟦with⟧ simgrid.*libsimgrid-dev"):
        find_simgrid(search)


@pytest.mark.parametrize("version", ["3.25", "3.32", "4.0", "11.2"])
def test_every_version_is_taken_and_its_parts_are_found(tmp_path: Path, tools: Path, version: str) -> None:
    smpicc = install(tmp_path, version)
    smpimain = tools.parent / "lib/x86_64-linux-gnu/simgrid/smpimain"
    found = find_simgrid(SearchPaths(None, tmp_path))
    assert found == SimGrid(version, smpicc, str(tools / "cc"), smpimain, {})


def test_that_of_the_private_prefix_is_used_with_its_own_paths(
    tmp_path: Path, tools: Path, search: SearchPaths
) -> None:
    debs = search.debs
    assert debs
    assert tools
    install(debs)
    found = find_simgrid(search)
    assert found.smpimain.is_relative_to(debs)
    assert found.environment["LD_LIBRARY_PATH"].split(":")[0].startswith(str(debs / "usr/lib"))
    found.compile(["-c", "my file.c"], tmp_path / "my.o", tmp_path / "log")
    assert (tmp_path / "my.o").read_text().splitlines()[:-2] == [
        f"-I{debs}/usr/include/smpi",
        "-c",
        "-c",
        "my file.c",
        "-lsimgrid",
    ]


def test_the_compiler_that_smpicc_names_comes_first_and_that_of_the_prefix_last(
    tmp_path: Path, tools: Path, search: SearchPaths
) -> None:
    named = program(tmp_path / "their-cc", "#!/bin/sh\n")
    assert search.prefix
    private = search.prefix / "bin/cc"
    private.parent.mkdir(parents=True)
    program(private, "#!/bin/sh\n")
    install(tmp_path, compiler=str(named))
    assert find_simgrid(search).compiler == str(named)
    named.unlink()
    (tools / "smpicc").touch()  # what it said before is asked again
    assert find_simgrid(search).compiler == str(tools / "cc")
    (tools / "cc").unlink()
    assert find_simgrid(search).compiler == str(private)
    private.unlink()
    with pytest.raises(SimGridError, match=r"^found SimGrid 4.0 \(/.*smpicc\), but no C compiler was found"):
        find_simgrid(search)


def test_half_an_installation_is_told_and_not_how_to_install_it(
    tmp_path: Path, tools: Path, search: SearchPaths
) -> None:
    assert tools
    install(tmp_path, whole=False)
    with pytest.raises(SimGridError, match=r"found SimGrid 4.0 \(.*\), but there is no smpimain") as told:
        find_simgrid(search)
    assert "hpltune setup" not in str(told.value)
    assert search.debs
    install(search.debs)
    assert find_simgrid(search).root == str(search.debs)


def test_a_build_that_fails_names_the_simgrid(tmp_path: Path, tools: Path, search: SearchPaths) -> None:
    install(tmp_path)
    program(tools / "cc", "#!/bin/sh\necho fatal error: no such header >&2\nexit 1\n")
    with pytest.raises(BuildError, match=r"found SimGrid 4.0 .*, but building xhpl failed: .*no such header \(log: "):
        find_simgrid(search).compile(["-c", "x.c"], tmp_path / "x.o", tmp_path / "log")


@pytest.mark.real
def test_the_simulated_program_is_built_once(built: SearchPaths, simgrid: SimGrid) -> None:
    source = obtain(built)
    first = build_virtual(source, simgrid, built)
    made_at = first.path.stat().st_mtime_ns
    steps: list[str] = []
    again = build_virtual(source, simgrid, built, lambda text, *_: steps.append(text))
    assert (again.path.stat().st_mtime_ns, steps) == (made_at, [])
    assert os.access(first.path, os.R_OK)
