"""`./hpltune test`: which checks run with which arguments, and what is refused."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kinds import require_kinds

CHECKS = Path(__file__).parents[1] / ".ci/checks"
STYLE = ["ruff check .", "ruff format --check ."]
TYPES = ["mypy", "lint-imports", "check-wheel-contents"]
"""These run beside the tests."""
ONE = "tests/hpl/test_dat.py"


def ran(checkout: Path, *arguments: str, pytest_ends: tuple[int, ...] = (0,), code: int = 0) -> tuple[list[str], str]:
    """Which programs `.ci/checks` starts, in place of which others only note how they were, and what is printed.

    Each run of pytest ends with the next code of `pytest_ends`.
    """
    venv = checkout / "venv"
    (venv / "bin").mkdir(parents=True)
    shutil.copy(CHECKS.parents[1] / "pyproject.toml", checkout)
    (venv / "hpltune-test-tools").touch()
    for name in ("ruff", "mypy", "lint-imports", "pytest", "hpltune", "python", "check-wheel-contents"):
        program = venv / "bin" / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>"{checkout}/ran"\n')
        program.chmod(0o755)
    failed = checkout / ".pytest_cache/v/cache/lastfailed"
    failed.parent.mkdir(parents=True)
    failed.write_text(json.dumps({f"{ONE}::test_once": True, f"{ONE}::test_twice": True}, indent=2))
    nth = "".join(f"{number}) exit {end} ;; " for number, end in enumerate(pytest_ends, start=1))
    with (venv / "bin/pytest").open("a") as program_of_tests:
        program_of_tests.write(f'case $(grep -c ^pytest "{checkout}/ran") in {nth}esac\n')
    line = ["sh", str(CHECKS), str(checkout), str(venv), *arguments]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    noted = checkout / "ran"
    return noted.read_text().splitlines() if noted.exists() else [], done.stdout


def test_all_with_a_file_checks_style_and_types_and_runs_only_that_file(tmp_path: Path) -> None:
    lines, printed = ran(tmp_path, "--all", ONE)
    started = [line.strip() for line in lines]
    assert [line for line in started if line.startswith("ruff")] == STYLE
    assert {line.split()[0] for line in started} >= set(TYPES)
    (tests,) = (line for line in started if line.startswith("pytest"))
    assert tests.endswith(f"--durations-min=1 {ONE}")
    assert "ok      ruff check" in printed


def test_what_fails_among_all_is_run_once_more_alone_and_the_summary_says_so(tmp_path: Path) -> None:
    lines, printed = ran(tmp_path, "--all", pytest_ends=(1, 0))
    first, second = (line for line in lines if line.startswith("pytest"))
    assert "--numprocesses=4" in first
    assert second.startswith("pytest --last-failed")
    assert "--numprocesses" not in second
    assert "ok      pytest: what failed beside other tests passed alone" in printed
    assert printed.endswith(f"mend these before the change is ready\n{ONE}::test_once\n{ONE}::test_twice\n")


def test_a_test_of_a_group_that_failed_is_found_again_alone(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import pytest\nfrom kinds import forget_groups\n\n"
        "@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    forget_groups(session.config)\n"
    )
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n@pytest.mark.xdist_group('hosts of tuner')\n@pytest.mark.parametrize('word', ['a@b', 'c'])\n"
        "def test_fails(word):\n    assert word == 'c'\n\ndef test_passes():\n    pass\n"
    )
    line = [sys.executable, "-m", "pytest", f"--rootdir={tmp_path}", "--import-mode=importlib", str(tmp_path)]
    variables = {"PYTHONPATH": str(CHECKS.parents[1] / "tests/contracts"), "PATH": os.environ["PATH"]}
    for options, printed in ((["-n2", "--dist=loadgroup"], "1 failed, 2 passed"), (["--last-failed"], "1 failed in")):
        done = subprocess.run([*line, *options], check=False, capture_output=True, text=True, env=variables)
        assert printed in done.stdout, done.stdout


def test_what_fails_alone_too_fails(tmp_path: Path) -> None:
    assert "FAILED  pytest\n" in ran(tmp_path, "--all", pytest_ends=(1, 1), code=1)[1]


def test_tests_that_could_not_be_run_have_no_second_try(tmp_path: Path) -> None:
    lines, _ = ran(tmp_path, "--all", pytest_ends=(2, 0), code=2)
    assert len([line for line in lines if line.startswith("pytest")]) == 1


@pytest.mark.parametrize("ends", [(1, 0), (8, 0)])
def test_the_quick_half_has_a_second_try_too_which_pardons_no_new_skip(tmp_path: Path, ends: tuple[int, int]) -> None:
    lines, printed = ran(tmp_path, pytest_ends=ends, code=ends[0] if ends[0] == 8 else 0)
    assert len([line for line in lines if line.startswith("pytest")]) == 2
    assert ("passed only at the second try" in printed) == (ends[0] == 1)


def test_arguments_alone_run_only_the_tests_that_they_choose(tmp_path: Path) -> None:
    assert ran(tmp_path, ONE, "-x")[0] == [f"pytest {ONE} -x"]


def test_without_arguments_what_needs_no_hpl_is_run(tmp_path: Path) -> None:
    (tests,) = (line for line in ran(tmp_path)[0] if line.startswith("pytest"))
    assert tests.endswith("-m not (real or lab or browser or service or heavy)")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_the_forms_and_the_kinds_and_runs_nothing(tmp_path: Path, option: str) -> None:
    lines, printed = ran(tmp_path, option)
    assert lines == []
    for form in ("./hpltune test  ", "./hpltune test --all [ARGUMENTS]", "./hpltune test ARGUMENTS"):
        assert form in printed
    for kind in ("real", "lab", "browser", "service", "process", "heavy", "long"):
        assert f" {kind} " in printed


def test_a_kind_that_there_is_not_is_refused_with_the_kinds(pytestconfig: pytest.Config) -> None:
    marks = pytestconfig.getini("markers")
    require_kinds("not (real or lab or browser or service or heavy) and not skipif", marks)
    with pytest.raises(pytest.UsageError, match=r"-m browsr: there is no such kind of test; the kinds are .*browser"):
        require_kinds("real or browsr", marks)


def test_a_skipped_test_that_may_not_be_skipped_fails_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import pytest\n\ndef test_sails():\n    pytest.skip('needs a ship')\n")
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\n\nimport skips\n\nskips.SKIPS = Path(__file__).parent / 'skips.json'\n\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(skips.SkippedTests('here', update=False))\n"
    )
    line = [sys.executable, "-m", "pytest", f"--rootdir={tmp_path}", "--import-mode=importlib", str(tmp_path)]
    variables = {"PYTHONPATH": str(CHECKS.parents[1] / "tests/contracts"), "PATH": os.environ["PATH"]}
    for held, code in (({"here": {}}, 8), ({"here": {"test_one.py::test_sails": "needs a ship"}}, 0), ({}, 0)):
        (tmp_path / "skips.json").write_text(json.dumps(held))
        done = subprocess.run(line, check=False, capture_output=True, text=True, env=variables)
        assert done.returncode == code, done.stdout
        assert ("NEW  test_one.py::test_sails: needs a ship" in done.stdout) == bool(code)
        assert "   1 needs a ship" in done.stdout


def test_each_reason_for_a_skipped_test_is_one_of_those_that_ci_lists() -> None:
    own = re.compile(r"pytest\.skip\(|(?:skipif|importorskip)\((?:(?!needs\().)*?reason=(?!needs\()", re.DOTALL)
    tests = {file.name: file.read_text() for file in CHECKS.parents[1].glob("tests/**/*.py")}
    assert {name for name, text in tests.items() if own.search(text)} == {"needs.py", Path(__file__).name}
