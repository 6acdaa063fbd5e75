"""A user's mistake ends in one clear sentence, a non-zero exit code and no traceback."""

import json
import os
import re
import sqlite3
from pathlib import Path

import pytest
from as_user import Run, program
from needs import needs
from record_builders import a_study, begun, finished

from results.store.store import Store
from tuner.database import folder_of
from tuner.options import TuneOptions
from tuner.provision.plan import Needs
from tuner.trial.workbench import look_around
from tuner.user_dirs import UserDirs


@pytest.fixture(autouse=True)
def nobody_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that finds no HPL here installs none."""
    monkeypatch.setattr("tuner.provision.setup.install", lambda *_, **__: "everything")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lacks all that runs HPL."""
    for module in ("commands.set_up", "provision.setup"):
        monkeypatch.setattr(f"tuner.{module}.needs", lambda *_, **__: Needs(compiler=True, mpi=True, blas=True))


@pytest.mark.usefixtures("bare")
def test_a_machine_that_lacks_hpl_says_so_where_nothing_else_is_wrong(hpltune: Run) -> None:
    done = hpltune("tune", "--wrap", "env")
    assert (done.returncode, "this machine still lacks everything" in done.stderr) == (1, True)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("command", ["tune", "blas"])
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("sys.foo=1", "--set sys.foo: there is no such setting; there are sys.transparent_huge_pages, sys.governor,"),
        ("env.LD_PRELOAD=x", "--set env.LD_PRELOAD: hpltune chooses what ranks load: vary `blas`"),
        ("sys.cores=7000", "--set sys.cores = 7000: cannot be had on this machine: it has no CPU 7000"),
    ],
)
def test_a_setting_that_no_host_has_is_refused_before_anything_is_installed(
    hpltune: Run, command: str, setting: str, sentence: str
) -> None:
    done = hpltune(command, "--set", setting)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())
    assert "Timing" not in done.stdout + done.stderr
    assert "hosts_offer" not in done.stderr


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tune", "--space", "defualt"), "did you mean default?"),
        (("tune", "kronos"), "kronos is a virtual cluster: write --cluster kronos"),
        (("tune", "--space", "missing.toml"), "missing.toml cannot be read"),
        (("tune", "--engine", "baies"), "did you mean bayes?"),
        (("tune", "--budget", "soon"), "--budget soon: not a duration"),
        (("tune", "--budget", "9" * 400 + "s"), "at most a hundred years"),
        (("tune", "--cluster", "kronos", "--budget", f"{10**30}usd"), "at most a hundred years"),
        (("tune", "--set", "NB"), "--set NB: write NAME=VALUE"),
        (("tune", "--set", "N=foo=bar"), "--set N=foo=bar: no value of N has a =: write NAME=VALUE[,VALUE]"),
        (("tune", "--blas", "mine=/there/is/none.so"), "there is no file /there/is/none.so"),
        (("tune", "--xhpl", "/there/is/none"), "there is no such file"),
        (("tune", "--program", "mine=/there/is/none"), "--program mine=/there/is/none: there is no such file"),
        (("tune", "--xhpl", "/etc/passwd"), "--xhpl /etc/passwd: the file is no program: it is neither a compiled one"),
        (("tune", "--xhpl", "/etc"), "--xhpl /etc: it is no file"),
        (
            ("tune", "--xhpl", "/bin/true"),
            "--xhpl /bin/true: this is no program of HPL: it holds neither",
        ),
        (
            ("tune", "--set", "env.=1"),
            "unknown parameter env.: a name follows the dot, as env.OMP_PROC_BIND",
        ),
        (("tune", "--set", "foo=1"), "threshold, binding, program.NAME, mpi.NAME, net.NAME, sys.NAME and env.NAME"),
        (("tune", "--power-command", "/there/is/none"), "--power-command /there/is/none: this cannot be started"),
        (("tune", "--power-command", "'unclosed"), "this cannot be started: No closing quotation"),
        (("tune", "--power-command", " "), "--power-command: this cannot be started: the command is empty"),
        (("tune", "--power-command", "echo 250 | cat"), "told '250 | cat' in place of watts"),
        (("tune", "--set", "env.X=a\nb"), "write NAME=VALUE"),
        (("tune", "--wrap", "'unclosed"), "--wrap 'unclosed: a quotation mark is not closed"),
        (("tune", "--wrap", "nonumactl --localalloc"), "nonumactl is not a program on this machine: install it"),
        (("tune", "--wrap", "/etc/passwd"), "/etc/passwd cannot be executed"),
        (("tune", "--wrap", "sh -c 'echo no such node >&2; exit 3'"), "sh ends with code 3 (no such node)"),
        (("tune", "--wrap", "true"), "true does not start the program behind it"),
        (("tune", "--wrap", "echo hi"), "--wrap echo hi: echo does not start the program behind it"),
        (("tune", "--wrap", "env", "--cluster", "kronos"), "--wrap is for real machines and changes nothing on a"),
        (("tune", "--resume", "--study", "none"), "there is no study none"),
        (("tune", "--resume", "--set", "N=1000"), "--set cannot be given with --resume"),
        (("tune", "--budget", "1h", "--resume", "--engine", "hpl"), "--engine cannot be given with --resume"),
        (("tune", "--join", "default-1", "--budget", "1h"), "--budget cannot be given with --join"),
        (("run", "missing.dat"), "missing.dat cannot be read"),
        (("dat", "--cpu", "Zilog Z80"), "--cpu Zilog Z80: no CPU is called so"),
        (("dat", "--network", "fast"), "--network fast"),
        (("show", "none"), "there is no"),
        (("best",), "there is no"),
        (("export", "csv"), "there is no"),
        (("spaces", "none"), "there is no space none"),
        (("spaces", "quick", "--set", "mpi.btl=tc\udcff"), "expected letters, digits and _ . , : / + = @ % ^ -"),
        (("spaces", "quick", "--explain", "NB"), "write NAME=VALUE"),
        (("setup", "--with", "cray"), "--with cray: expected one of"),
        (("tune", "--points", "10"), "--points 10 makes the engine grid coarser: add --engine grid"),
        (("run", "HPL.dat", "--blas", "openblas", "--blas", "blis"), "measures one BLAS at a time, not openblas, blis"),
        (("tune", "--cluster", "kronos", "--blas", "openblas"), "--blas is for real machines"),
        (("tune", "--cluster", "kronos", "--warm-start", "default-1"), "--warm-start is for real machines"),
        (("tune", "--study", ""), "--study is followed by an empty value"),
        (("tune", "--study", " "), "--study needs a name"),
        (("tune", "--join", ""), "--join is followed by an empty value"),
        (("tune", "--budget="), "--budget= is followed by an empty value"),
        (("tune", "--resume", "--study", ""), "--study is followed by an empty value"),
        (("tune", "--from-simulation", ""), "--from-simulation is followed by an empty value"),
        (("best", ""), "best is followed by an empty value"),
        (("tune", "--study", "../mine"), "without / and #"),
        (("tune", "--study", "mine#2"), "without / and #"),
        (("tune", "--study", ".."), "begins with neither - nor ."),
        (("tune", "--study=-mine"), "begins with neither - nor ."),
        (("tune", "--study", "two\nlines"), "printable characters"),
        (("tune", "--study", "m\udcffne"), "printable characters"),
        (("tune", "--study", "m" * 300), "at most 200 bytes"),
        (("tune", "--cluster", "kronos", "--study", "../mine"), "without / and #"),
        (("doctor", "--blas", "openblas"), "--blas NAME=FILE adds your own"),
        (("doctor", "--cluster", "mine.toml", "--rpeak", "100"), "are of this machine"),
        (("spaces", "--explain", "NB=128"), "--explain is for one space: name it"),
        (("show", "default-1", "--output"), "--output is for one trial: name it"),
        (("show", "default-1", "1", "--failed"), "--failed is for the trials of a study"),
        (("export", "md", "--trial", "3"), "trial 3 alone is for `export dat`"),
        (("export", "csv", "-o", "."), "there is no"),
        (("tune", "--price", "0"), "--price 0: a price is above zero: leave it out if you do not know it"),
        (("tune", "--price", "-5"), "--price -5: a price is above zero"),
        (("tune", "--price", "inf"), "--price inf: a price is at most 1e12 US dollars"),
        (("tune", "--price", "1200EUR"), "--price 1200EUR: prices are in US dollars: convert the price"),
        (("tune", "--price", "€1200"), "--price €1200: prices are in US dollars: convert the price"),
        (("tune", "--price", "1,200"), "--price 1,200: write the price without a comma: 1200 means twelve hundred"),
        (("import", "HPL.out", "--price", "1200EUR"), "--price 1200EUR: prices are in US dollars"),
    ],
)
def test_a_mistake_is_one_sentence(hpltune: Run, arguments: tuple[str, ...], words: str) -> None:
    done = hpltune(*arguments)
    not_stored = words in {"there is no", "there is no study none"}
    assert done.returncode == (1 if not_stored else 2), "wrong usage, or what is asked for is not there"
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("option", ["--blas=opneblas", "--set=blas=opneblas"])
def test_a_mistyped_blas_is_told_before_any_is_timed(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setenv("HPLTUNE_CACHE", str(home / "cache"))
    done = hpltune("tune", option)
    assert done.returncode == 1
    assert "opneblas" in done.stderr
    assert "Timing" not in done.stdout


@pytest.mark.usefixtures("real_hpl")
def test_auto_is_no_mistyped_blas(home: Path) -> None:
    options = TuneOptions(overrides={"blas": ["auto"]})
    assert look_around(options, UserDirs(home, home), lambda _: None, probing=False).blas


@pytest.mark.parametrize("arguments", [("show", "m\udcffne"), ("best", "m\udcffne"), ("tune", "--join", "m\udcffne")])
def test_a_name_that_no_database_can_hold_is_one_sentence(hpltune: Run, home: Path, arguments: tuple[str, ...]) -> None:
    with Store.open(home / "data" / "hpltune.db"):
        done = hpltune(*arguments)
    assert done.returncode == 1
    assert done.stderr == "hpltune: 'm\\udcffne' cannot be written in utf-8: give it another name\n"


def test_a_database_with_any_name_has_folders_of_its_own(home: Path) -> None:
    with Store.open(home / "m\udcffne.db") as mine, Store.open(home / "mine.db") as other:
        assert folder_of("runs", mine, UserDirs(home, home)) != folder_of("runs", other, UserDirs(home, home))


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=needs("two CPUs"))
def test_below_taskset_run_says_that_its_ranks_are_not_bound(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "100", "--ranks", "1")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        done = hpltune("run", "HPL.dat", "--xhpl", str(program(home / "xhpl", "#!/bin/sh\n")))
    finally:
        os.sched_setaffinity(0, before)
    assert "ranks are not bound, whatever `binding` says" in " ".join(done.stdout.split())
    assert "not bound" not in hpltune("run", "HPL.dat", "--xhpl", str(home / "xhpl")).stdout


def test_an_unknown_option_is_a_usage_error(hpltune: Run) -> None:
    assert hpltune("tune", "--quickly").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("tune", "--power", "nan"),
        ("tune", "--rpeak", "1e400"),
        ("tune", "--seed", str(2**32)),
        ("dat", "--ranks", "9" * 20),
        ("dat", "--N", "9" * 20),
        ("show", "default-1", "9" * 20),
        ("export", "dat", "--trial", "9" * 20),
        ("spaces", "default", "--cores", "9" * 20),
        ("tune", "--trials", "9" * 20),
        ("tune", "--repeats", "9" * 20),
        ("tune", "--confirm", "9" * 20),
        ("tune", "--points", "9" * 20),
        ("tune", "--cluster", "kronos", "--jobs", "9" * 20),
        ("run", "HPL.dat", "--repeats", "9" * 20),
        ("calibrate", "--rounds", "9" * 20),
    ],
)
def test_a_number_that_nobody_can_mean_is_a_usage_error(hpltune: Run, arguments: tuple[str, ...]) -> None:
    done = hpltune(*arguments)
    assert done.returncode == 2
    assert f" {arguments[-1]}: write " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.heavy
@pytest.mark.usefixtures("mpirun")
def test_every_problem_of_an_input_file_is_named_with_its_line(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000")
    lines = (home / "HPL.dat").read_text().splitlines()
    lines[5], lines[22] = "-5           Ns", "9            BCASTs"
    (home / "HPL.dat").write_text("\n".join(lines) + "\n")
    done = hpltune("run", "HPL.dat")
    assert done.returncode == 2
    assert "HPL.dat, line 6:" in done.stderr
    assert "HPL.dat, line 23:" in done.stderr


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.parametrize("layout", ["4x00", "04x2", "4", "4x2x1"])
def test_a_layout_is_written_as_in_a_space(hpltune: Run, layout: str) -> None:
    hpltune("dat", "HPL.dat", "--N", "1000")
    done = hpltune("run", "HPL.dat", "--layout", layout, "--oversubscribe")
    assert done.returncode == 2
    assert f"layout = {layout}: expected ranks x threads as 4x2" in done.stderr


@pytest.mark.usefixtures("bare")
def test_a_library_that_does_not_load_is_named(hpltune: Run, home: Path) -> None:
    (home / "broken.so").write_text("no library")
    done = hpltune("tune", "--blas", "mine=broken.so")
    assert done.returncode == 1
    assert "broken.so does not load" in done.stderr


def test_a_foreign_database_is_refused_and_left_alone(hpltune: Run, home: Path) -> None:
    with sqlite3.connect(home / "other.db") as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    before = (home / "other.db").read_bytes()
    done = hpltune("show", "--db", "other.db")
    assert done.returncode == 1
    assert "other.db" in done.stderr
    assert (home / "other.db").read_bytes() == before


def test_a_data_folder_that_cannot_be_made_is_named(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setenv("HPLTUNE_DATA", str(home / "file/data"))
    done = hpltune("tune")
    assert done.returncode == 1
    assert "set HPLTUNE_DATA to another" in done.stderr


def test_an_impossible_space_says_which_rule_forbids_every_point(hpltune: Run, home: Path) -> None:
    (home / "big.toml").write_text('name = "big"\n[parameters]\nN = [4000000]\nNB = [64]\n')
    done = hpltune("spaces", "big.toml")
    assert done.returncode == 2
    assert "big.toml" in done.stderr
    assert "may be used" in done.stderr


@pytest.mark.heavy
def test_kernels_chosen_by_the_shell_are_not_inherited(hpltune: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    advice = json.loads(hpltune("doctor", "--json").stdout)["advice"]
    chosen = next(name for name in ("Prescott", "Nehalem", "Core2") if not any(name in one for one in advice))
    monkeypatch.setenv("OPENBLAS_CORETYPE", chosen)
    inherited = json.loads(hpltune("doctor", "--json").stdout)["advice"]
    assert not any(chosen in one for one in inherited)


@pytest.mark.usefixtures("mpirun")
def test_an_n_and_ranks_beyond_this_machine_are_written_with_a_caution_and_the_largest_n(hpltune: Run) -> None:
    done = hpltune("dat", "--N", "9999999", "--NB", "256")
    assert done.returncode == 0, "the file may be meant for another machine"
    assert "9999999" in done.stdout
    found = re.search(r"Caution: N=9999999 needs [\d.]+ GiB, but .* the largest N that fits is (\d+)\.", done.stderr)
    assert found
    assert "Caution: 70,000 ranks are more than the" in hpltune("dat", "--N", "1000", "--ranks", "70000").stderr
    again = hpltune("dat", "--N", str(int(found[1]) // 2), "--ranks", "1", "--NB", "256")
    assert "Caution" not in again.stderr


def test_an_n_that_does_not_fit_names_the_largest_that_does(hpltune: Run) -> None:
    done = hpltune("spaces", "quick", "--set", "N=9999999", "--cores", "2")
    assert done.returncode == 2
    assert re.search(r"take at most N = \d+", done.stderr), done.stderr


def test_a_word_too_many_is_told_with_the_option_that_was_meant(hpltune: Run) -> None:
    done = hpltune("tune", "--resume", "default-1")
    assert done.returncode == 2
    assert done.stderr == (
        "hpltune: default-1: no such word is expected here; a study is named with --study, as in --study default-1\n"
    )
    assert "no such word is expected here\n" in hpltune("setup", "now").stderr


def test_what_only_reads_leaves_an_empty_file_as_it_is(hpltune: Run, home: Path) -> None:
    empty = home / "empty.db"
    empty.touch()
    for command in ("show", "best"):
        done = hpltune(command, "--db", str(empty))
        assert done.returncode == 1
        assert "empty.db is an empty file, and no database: name another with --db" in done.stderr
    assert empty.read_bytes() == b""


@pytest.mark.parametrize("arguments", [("report",), ("plot", "convergence")])
def test_no_folder_is_made_for_a_mistyped_name_and_no_file_is_called_a_dash(
    hpltune: Run, home: Path, arguments: tuple[str, ...]
) -> None:
    with Store.open(home / "data/hpltune.db") as store:
        store.create_study(a_study(space_text=""))
        store.finish(finished(store.begin(begun()), 12.0))
        store.end_study("study", "complete")
    for name, why in (("nowhere/a.svg", "there is no folder"), ("-", "is no name of a file")):
        done = hpltune(*arguments, "-o", name)
        assert done.returncode == 2
        assert why in done.stderr
    assert not (home / "nowhere").exists()
    assert not (home / "-").exists()


def test_a_cluster_file_that_is_not_there_is_told_with_how_to_write_one(hpltune: Run) -> None:
    said = "hpltune: cannot read my.toml: No such file or directory; you write this file yourself, and docs/clusters.md"
    assert hpltune("doctor", "--cluster", "my.toml").stderr == f"{said} shows how\n"
