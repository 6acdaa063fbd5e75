import json
from pathlib import Path

import pytest

from tuner.asks.texts import parse_overrides
from tuner.budget import Budget
from tuner.errors import TunerError
from tuner.options import TuneOptions, parse_blas, user_program, user_source


def test_options_survive_the_database() -> None:
    options = TuneOptions(
        space="quick",
        budget=Budget(trials=3),
        overrides={"NB": ["64", "128"]},
        blas_only=("openblas", "mine"),
        blas_files={"mine": Path("/opt/lib.so")},
        xhpl=Path("/opt/xhpl"),
    )
    assert TuneOptions.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_options_of_a_later_version_are_passed_over() -> None:
    assert TuneOptions.from_json({**TuneOptions().to_json(), "telepathy": True}).engine == "hpl"


def test_a_blas_is_a_name_or_a_name_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    file.touch()
    assert parse_blas(["openblas", f"mine={file}"]) == (("openblas", "mine"), {"mine": file})


def test_a_blas_given_twice_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    file.touch()
    values = ["openblas", f"mine={file}", "openblas", f"mine={file}", "mine"]
    assert parse_blas(values) == (("openblas", "mine"), {"mine": file})


def test_two_libraries_cannot_have_one_name(tmp_path: Path) -> None:
    one, other = tmp_path / "one.so", tmp_path / "other.so"
    one.touch()
    other.touch()
    with pytest.raises(TunerError, match=r"mine is .*one\.so already: give .*other\.so a name of its own"):
        parse_blas([f"mine={one}", f"mine={other}"])


@pytest.mark.parametrize("value", ["=x", "mine=", "mine=/there/is/none.so"])
def test_a_blas_that_cannot_be_is_named(value: str) -> None:
    with pytest.raises(TunerError, match="⟦blas⟧"):
        parse_blas([value])


def test_values_given_twice_are_added_up() -> None:
    assert parse_overrides(["NB=64,128", "NB=256", "DEPTH=0"]) == {"NB": ["64", "128", "256"], "DEPTH": ["0"]}


def test_a_value_that_has_a_comma_itself_stands_in_quotes() -> None:
    given = ['mpi.btl="tcp,self",self', 'net.interface= "eth0,eth1", eth0']
    assert parse_overrides(given) == {"mpi.btl": ["tcp,self", "self"], "net.interface": ["eth0,eth1", "eth0"]}


@pytest.mark.parametrize("value", ["NB", "NB=", "=3", "NB=,", 'NB="64', 'NB="64"8', "NB=64\n8"])
def test_a_setting_without_name_or_value_is_named(value: str) -> None:
    with pytest.raises(TunerError, match="⟦set⟧"):
        parse_overrides([value])


def test_hpls_source_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert user_source(Path("hpl-2.3")) == tmp_path / "hpl-2.3"
    assert user_source(None) is None


def test_a_program_must_be_an_executable_file(tmp_path: Path) -> None:
    file = tmp_path / "xhpl"
    with pytest.raises(TunerError, match="no such file"):
        user_program(str(file))
    file.touch(mode=0o644)
    with pytest.raises(TunerError, match="no program"):
        user_program(str(file))
    file.write_text("#!/bin/sh\n")
    with pytest.raises(TunerError, match="chmod"):
        user_program(str(file))
    file.chmod(0o755)
    assert user_program(str(file)) == file


def test_the_options_of_a_study_of_an_early_version_have_defaults_for_what_came_later() -> None:
    read = TuneOptions.from_json({"space": "quick"})
    assert (read.space, read.blas_only, read.budget, read.xhpl) == ("quick", (), TuneOptions().budget, None)
