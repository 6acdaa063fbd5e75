"""Every command has help with examples, and a section in docs/commands.md."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

import pytest
import typer.main
from as_user import Run
from plug_ins import PACKAGES, plug_ins
from record_builders import a_study, begun, finished

from hpl.errors import HplError
from results.export.json_lines import from_json_lines
from results.record import Kind
from results.report.text_forms import to_json, to_markdown
from results.store.store import Store
from search_spaces.machine import BlasFacts, Machine
from tuner.cli import app
from tuner.commands.spaces import Here, LookAround, list_spaces, show_space, this_machine
from tuner.errors import TunerError

PROGRAM: Any = typer.main.get_command(app)
COMMANDS = [
    f"{name} {own}" if own else name
    for name, command in PROGRAM.commands.items()
    for own in getattr(command, "commands", [""])
]
QUICK = ("stored.best", "stored.export", "stored.show", "spaces", "campaigns.tune")
ELSEWHERE = (
    "runners.batch.slurm", "runners.batch.base", "runners.hosts.ssh", "runners.virtual", "tuner.machine.interfaces",
    "tuner.simulation", "tuner.study.warm_start", "tuner.service",
)  # fmt: skip
MOST_OF_STUDY = 216
"""Modules of ours that the beginning of a study on this machine imports, those of folders counted, plug-ins not."""
MOST_BESIDE = 14
"""Modules that help may import beside those of the command line and its words."""
SLOW = {"optuna", "pandas", "scipy", "vl_convert"}
HEAVY = SLOW | {"elftools", "fastapi", "filelock", "numpy", "psutil", "pydantic", "sqlalchemy"}
LIGHT = [
    ("--help", set[str](), 69),
    ("tune --help", set[str](), 29),
    ("dat --nodes 16 --cores 64 --memory 256GiB --memory-fraction 0.8", set[str](), 124),
    ("spaces quick", {"psutil"}, 126),
    ("show --db {place}", {"numpy", "sqlalchemy"}, 116),
    ("show study 1 --db {place}", {"numpy", "sqlalchemy"}, 116),
    ("best --db {place}", {"numpy", "sqlalchemy"}, 135),
    ("best --html {place}.html --db {place}", {"numpy", "sqlalchemy", "vl_convert"}, 145),
]
"""Commands that only look: which heavy modules each needs, and how many modules of ours it may import."""
PAGE = Path(__file__).parents[3] / "docs/commands.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_help_with_examples(hpltune: Run, command: str) -> None:
    done = hpltune.well(*command.split(), "--help")
    assert "Examples" in done.stdout
    assert f"hpltune {command}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_sentences_of_help_are_broken_by_the_terminal_alone(hpltune: Run, command: str) -> None:
    _, *parts = hpltune(*command.split(), "--help").stdout.strip().split("\n\n")
    paragraphs = [part for part in parts if "\n  " not in part]
    assert [part for part in paragraphs if part[-1] not in ".:)"] == []
    assert [part for part in paragraphs if part != fill(" ".join(part.split()), 80, break_on_hyphens=False)] == []


def test_the_documentation_is_what_the_commands_say_of_themselves() -> None:
    specification = importlib.util.spec_from_file_location("make_commands", PAGE.with_name("make_commands.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert PAGE.read_text() == module.page(), "run python docs/make_commands.py"


@pytest.mark.parametrize(
    "page", [*sorted(PAGE.parent.rglob("*.md")), PAGE.parents[1] / "README.md"], ids=lambda p: p.name
)
def test_no_relative_link_is_broken(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("arguments", [("spaces",), ("spaces", "quick"), ("doctor",), ("show",)])
def test_what_scripts_read_is_json_alone(hpltune: Run, arguments: tuple[str, ...], home: Path) -> None:
    if arguments == ("show",):
        arguments = ("show", "--db", str(Path(__file__).parents[2] / "results/data/schema-1.db"))
        copy = home / "copy.db"
        copy.write_bytes(Path(arguments[2]).read_bytes())
        arguments = ("show", "--db", str(copy))
    done = hpltune(*arguments, "--json")
    json.loads(done.stdout)


def test_spaces_keeps_what_a_space_is_for_beside_what_it_lacks_here(
    hpltune: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    listed = hpltune("spaces", "--cores", "2").stdout
    for told in ("all that could be turned on Kronos", "the layout 8x1 needs 8 cores", "--cluster kronos"):
        assert told in listed


@pytest.mark.parametrize(
    ("parameter", "sentence"),
    [
        (
            'blas = ["openblass"]',
            "unless a virtual cluster has it or --blas openblass=FILE gives it: did you mean openblas?",
        ),
        ('mpi = ["lam"]', "mpi = lam: `tune` does not know this name: known are intelmpi, mpich, openmpi."),
        ('mpi = ["mpich"]', ""),
    ],
)
def test_spaces_names_a_library_that_tune_would_not_find(hpltune: Run, parameter: str, sentence: str) -> None:
    Path("mine.toml").write_text(f"[parameters]\nNB = 128\n{parameter}\n")
    told = " ".join(hpltune("spaces", "mine.toml").stdout.split())
    assert sentence in told
    assert ("does not know" in told) is bool(sentence)


@pytest.mark.usefixtures("home")
def test_spaces_count_with_the_mpi_libraries_that_are_here() -> None:
    found = Machine(2, 2**34, {"openblas": BlasFacts()}, N=10_000, mpis=("mpich", "openmpi"))
    assert this_machine(8, lambda: (found, ())) == Here(replace(found, cores=8))


TWO = {"openblas": BlasFacts(("Zen", "Haswell"), known_kernels=("Zen", "Haswell")), "atlas": BlasFacts()}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("timed", "untimed"), [([], ["openblas"]), (["openblas"], [])])
def test_spaces_say_whose_kernels_they_cannot_count(timed: list[str], untimed: list[str]) -> None:
    look: LookAround = lambda: (Machine(2, 2**34, TWO, N=10_000), timed)  # noqa: E731
    Path("small.toml").write_text("[parameters]\nNB = 64\n")
    sentence = "Kernels of openblas are not counted until `tune` or `doctor` has timed them."
    assert (sentence in to_markdown(list_spaces(look=look))) is bool(untimed)
    blas = show_space("blas", look=look)
    assert (sentence in to_markdown(blas)) is bool(untimed)
    small = to_markdown(show_space("small.toml", look=look))
    assert "Kernels" not in small, "that space does not search over kernels"
    assert json.loads(to_json(blas))["untimed"] == untimed


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("error", [TunerError("no BLAS library was found"), HplError("no MPI was found")])
def test_spaces_can_be_counted_where_hpl_cannot_run_yet(error: Exception) -> None:
    def fail() -> NoReturn:
        raise error

    assert this_machine(8, fail).machine.cores == 8


def test_show_tells_a_study_whose_hpltune_was_killed_from_one_that_runs(hpltune: Run, home: Path) -> None:
    file = home / "data/hpltune.db"
    file.parent.mkdir()
    with Store.open(file) as store:
        store.create_study(a_study("lives"))
    text = (
        "import sys; from results.store.store import Store; from record_builders import a_study, begun\n"
        f"with Store.open({str(file)!r}) as store: store.create_study(a_study('dead')); store.begin(begun('dead'))"
    )
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", text], check=True, env=paths)
    stored = json.loads(hpltune("show", "--json").stdout)
    assert {study["study"]: study["state"] for study in stored} == {"lives": "running", "dead": "killed"}
    assert "killed" in hpltune("show").stdout
    trials = hpltune("show", "dead").stdout
    assert "Study dead (killed)" in trials
    one = hpltune("show", "dead", "1").stdout
    assert "Study dead, trial 1: killed" in one
    told = [json.loads(hpltune("show", *which, "--json").stdout) for which in (["dead"], ["dead", "1"])]
    assert [told[0][0]["state"], told[1]["state"]] == ["killed", "killed"]
    assert "running" not in trials + one


def test_a_study_exported_as_json_lines_loses_nothing(hpltune: Run, home: Path) -> None:
    with Store.open(home / "study.db") as store:
        store.create_study(a_study())
        store.finish(finished(store.begin(begun()), part=0.35, session=2, kind=Kind.SMALL))
        stored = store.records("study", outputs=True)
    done = hpltune("export", "jsonl", "--db", "study.db")
    assert from_json_lines(done.stdout) == stored
    assert stored[0].output


def loaded(text: str) -> set[str]:
    """The modules that a program has imported at its end."""
    program = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{text}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def too_many(modules: set[str], most: int) -> str:
    """What to do where more modules of ours are imported than may be; plug-ins are free."""
    free = {path.removesuffix(".py").replace("/", ".") for path in plug_ins()}
    ours = sorted(name for name in modules - free if name.partition(".")[0] in PACKAGES)
    remedy = "import what is new within the function that needs it, or leave out another"
    return f"{len(ours)} of ours, not {most}: {remedy}: {' '.join(ours)}" if len(ours) > most else ""


@pytest.mark.process
def test_what_takes_long_to_import_is_not_imported_before_it_is_needed() -> None:
    modules = ", ".join(f"tuner.commands.{name}" for name in QUICK)
    assert loaded(f"import {modules}") & SLOW == set()
    page = loaded("import tuner.commands.stored.report") & HEAVY
    assert page <= {"numpy", "psutil", "pydantic", "scipy", "sqlalchemy"}, "vl_convert when a figure is drawn"


@pytest.mark.process
@pytest.mark.parametrize(("command", "needs", "most"), LIGHT)
def test_a_command_that_only_looks_imports_no_more_than_it_needs(
    command: str, needs: set[str], most: int, tmp_path: Path
) -> None:
    place = tmp_path / "hpltune.db"
    with Store.open(place) as store:
        store.create_study(a_study())
        store.finish(finished(store.begin(begun())))
        store.end_study("study", "complete")
    arguments = ["hpltune", *command.format(place=place).split()]
    modules = loaded(f"import sys; from tuner.cli import main; sys.argv = {arguments}; main()")
    assert modules & HEAVY <= needs
    assert not too_many(modules, most)


@pytest.mark.process
def test_a_study_on_this_machine_imports_nothing_of_clusters_simulations_and_services() -> None:
    modules = loaded("import tuner.commands.campaigns.tune")
    assert {name for name in modules if name.startswith(ELSEWHERE)} == set()
    assert not too_many(modules, MOST_OF_STUDY)


def outcome(read: Callable[[Any, Any], Any], value: Any) -> Any:
    """What a parameter makes of a value, or that it refuses it."""
    try:
        return read(None, value)
    except typer.BadParameter:
        return "refused"


GIVEN = (None, "7", "007", "0", "-1", "2.5", "1e3", "1_0", " 3", "999999999999999", "a", "a/../b/", "ü")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_that_is_read_without_pydantic_is_what_typer_makes_of_it(command: str) -> None:
    name, _, own = command.partition(" ")
    found = PROGRAM.commands[name].commands[own] if own else PROGRAM.commands[name]
    for one in found.get_params(found.context_class(found, info_name=name)):
        several = one.multiple or one.nargs != 1
        for given in (None, (), ("7", "a"), *((text,) for text in GIVEN[1:])) if several else GIVEN:
            if one.callback is None:
                usual = outcome(partial(type(one).process_value, one), given)
                read = outcome(one.process_value, given)
                assert (read, repr(read)) == (usual, repr(usual)), one.name


@pytest.mark.process
def test_help_imports_commands_but_nothing_of_what_they_do() -> None:
    modules = loaded("import sys; from tuner.cli import main; sys.argv = ['hpltune', '--help']; main()")
    ours = {name for name in modules if name.startswith(("tuner.", "results.", "runners.", "search_spaces.", "hpl."))}
    beside = {name for name in ours if not name.startswith(("tuner.cli", "tuner.asks", "tuner.words"))}
    assert "tuner.cli.tune" in ours
    assert len(beside) <= MOST_BESIDE, beside
