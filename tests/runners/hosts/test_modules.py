"""Environment modules of a cluster file: what they change, for whom, and what cannot be loaded."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import skip_without
from present import present

from runners import forwarded as modules
from runners.errors import RunnerError
from runners.forwarded import load_modules, module_folders, passed
from runners.hosts.cluster import find_real_cluster, stored_cluster
from runners.hosts.node_facts import NodeSays, ask_nodes
from runners.hosts.transport import Local, for_any_shell
from runners.toml_file import ClusterFileError

HEAD = 'name = "lab"\nbackend = "ssh"\nhosts = ["n1"]\n'
COMMAND = """
module() {
    [ "$1" = load ] || return 0
    [ -r "$MODULEPATH/$2" ] || { echo "no modulefile $2" >&2; return $FAILS; }
    . "$MODULEPATH/$2"
    export LOADEDMODULES=${LOADEDMODULES:+$LOADEDMODULES:}$2
}
"""


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process before any modules, and after the test as it was."""
    for name in ("BASH_ENV", "BASH_FUNC_module%%", "LOADEDMODULES", "MODULESHOME"):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    yield
    for kept in (modules._loaded, modules._changed, module_folders):
        kept.clear()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def foss(process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the module foss/2025b, and a command module that finds it there."""
    del process
    for name in ("init", "foss", "lib"):
        (tmp_path / name).mkdir()
    (tmp_path / "init/bash").write_text(COMMAND)
    (tmp_path / "foss/2025b").write_text(
        f'export EBROOTFOSS="it\'s $MODULEPATH" LD_LIBRARY_PATH={tmp_path}/lib MKL_NUM_THREADS=4 SITE_TOKEN=abc\n'
        "export TWO_LINES=$'a\\nb'\nunset OLD_MPI\nhelper() { :; }\nexport -f helper\n"
    )
    for name, value in {"MODULESHOME": tmp_path, "MODULEPATH": tmp_path, "FAILS": "1", "OLD_MPI": "x"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    return tmp_path


def test_what_this_process_starts_has_the_variables_of_the_modules(foss: Path) -> None:
    load_modules(["foss/2025b"])
    load_modules(["foss/2025b"])
    assert os.environ["EBROOTFOSS"] == f"it's {foss}"
    assert os.environ["LD_LIBRARY_PATH"] == f"{foss}/lib"
    assert "OLD_MPI" not in os.environ
    assert os.environ["LOADEDMODULES"] == "foss/2025b", "it is loaded once"
    assert not {"MKL_NUM_THREADS", "SITE_TOKEN", "TWO_LINES", "BASH_FUNC_helper%%"} & os.environ.keys()


def test_commands_on_nodes_have_them_under_any_login_shell(foss: Path) -> None:
    line = ("sh", "-c", 'echo "$EBROOTFOSS,${OLD_MPI-gone}"')
    assert "env" not in for_any_shell(line).split()
    load_modules(["foss/2025b"])
    there = {"PATH": os.environ["PATH"], "OLD_MPI": "of the node"}
    said = subprocess.run(["sh", "-c", for_any_shell(line)], env=there, capture_output=True, text=True, check=True)
    assert said.stdout == f"it's {foss},gone\n"


def test_functions_secrets_and_what_chooses_threads_are_not_passed() -> None:
    kept = {"EBROOTFOSS": "/apps", "MKL_ROOT": "/apps/mkl", "OMPI_MCA_btl": "tcp"}
    left = {
        "BASH_FUNC_ml%%": "() { :; }",
        "SHLVL": "2",
        "_": "env",
        "_ModuleTable001_": "x",
        "LMOD_CMD": "/lmod",
        "AWS_SECRET_ACCESS_KEY": "x",
        "db_password": "x",
        "OPENBLAS_CORETYPE": "Zen",
        "OMP_NUM_THREADS": "4",
        "A-B": "x",
        "LINES_OF": "a\nb",
        "SLURM_JOB_ID": "7",
        "HPLTUNE_DATA": "/x",
        "ODD": "\N{REPLACEMENT CHARACTER}",
    }
    assert passed({}, {**kept, **left}) == kept
    assert passed({"GONE": "1", "SAME": "2"}, {"SAME": "2"}) == {"GONE": None}


@pytest.mark.parametrize("code", ["1", "0"])
def test_a_module_that_is_not_there_is_one_sentence_also_from_an_old_command(
    foss: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    del foss
    monkeypatch.setenv("FAILS", code)
    with pytest.raises(RunnerError) as refused:
        load_modules(["foss/2025b", "foss/1"])
    assert str(refused.value) == (
        "the module foss/1 cannot be loaded on this machine: `module avail foss` lists what there is "
        "(no modulefile foss/1)"
    )
    assert "EBROOTFOSS" not in os.environ, "nothing is changed"


def test_a_machine_without_a_module_command_is_told_what_to_do(foss: Path) -> None:
    (foss / "init/bash").write_text("")
    with pytest.raises(
        RunnerError, match=r"foss/2025b cannot be loaded on this machine, .* install Lmod or Environment"
    ):
        load_modules(["foss/2025b"])


def test_a_process_loads_one_set_of_modules(foss: Path) -> None:
    (foss / "foss/2024a").write_text("")
    load_modules(())
    load_modules(["foss/2025b"])
    for others in (["foss/2024a"], []):
        with pytest.raises(RunnerError, match="has loaded the modules foss/2025b for another cluster: start hpltune"):
            load_modules(others)


@pytest.mark.parametrize(
    "name", ["-f", "/evil", "../evil", "foss/../../evil", "./evil", "foss/", "a b", "$(id)", "a;b", "a\\nb", "é", ""]
)
def test_a_cluster_file_names_modules_with_plain_characters(tmp_path: Path, name: str) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(f'{HEAD}modules = ["{name}"]\n')
    with pytest.raises(ClusterFileError, match=r"line 4: modules\.0 .*: expected the name of a module, as foss/2025b"):
        find_real_cluster(file)


def test_a_cluster_keeps_its_modules_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(f'{HEAD}modules = ["GCC/14.2.0", "OpenMPI", "imkl/2024.2.0-gompi", "libstdc++_x"]\n')
    cluster = present(find_real_cluster(file))
    assert cluster.modules == ("GCC/14.2.0", "OpenMPI", "imkl/2024.2.0-gompi", "libstdc++_x")
    assert stored_cluster(cluster.table()) == cluster


def test_nodes_tell_whether_they_have_the_folders_of_modules(foss: Path) -> None:
    load_modules(["foss/2025b"])
    assert module_folders == [foss / "lib"]
    said = ask_nodes(Local(), ["here"], [*module_folders, foss / "missing", foss / "foss/2025b"])["here"]
    assert isinstance(said, NodeSays)
    assert set(said.files) == {str(foss / "lib"), str(foss / "foss/2025b")}


def test_the_cluster_file_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/clusters.md").read_text(encoding="utf-8")
    (tmp_path / "site.toml").write_text(page.partition("### Modules")[2].split("```toml\n")[1].partition("```")[0])
    assert present(find_real_cluster(tmp_path / "site.toml")).modules == ("foss/2026a", "HPL/2.3")


def test_real_modules_are_loaded_as_a_login_shell_does(
    process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del process
    if not any(Path("/etc/profile.d").glob("*mod*.sh")):
        skip_without("a module command")
    (tmp_path / "foss").mkdir()
    (tmp_path / "foss/2025b").write_text(
        f"#%Module1.0\nsetenv EBROOTFOSS {tmp_path}\nprepend-path LD_LIBRARY_PATH {tmp_path}\nunsetenv OLD_MPI\n"
    )
    monkeypatch.setenv("MODULEPATH", str(tmp_path))
    monkeypatch.setenv("OLD_MPI", "x")
    with pytest.raises(RunnerError, match=r"the module nope/1 cannot be loaded on this machine: `module avail nope`"):
        load_modules(["nope/1"])
    load_modules(["foss/2025b"])
    assert os.environ["EBROOTFOSS"] == str(tmp_path)
    assert os.environ["LD_LIBRARY_PATH"].split(":")[0] == str(tmp_path)
    assert "OLD_MPI" not in os.environ
    assert os.environ["LOADEDMODULES"] == "foss/2025b"
    assert not [name for name in os.environ if name.startswith(("BASH_FUNC_", "_ModuleTable", "LMOD_"))]


def test_nodes_get_a_module_that_the_shell_had_loaded_already(tmp_path: Path) -> None:
    if not any(Path("/etc/profile.d").glob("*mod*.sh")):
        skip_without("a module command")
    (tmp_path / "foss").mkdir()
    (tmp_path / "foss/2025b").write_text(f"#%Module1.0\nsetenv EBROOTFOSS {tmp_path}\n")
    code = "from runners.forwarded import load_modules, on_nodes; load_modules(['foss/2025b']); print(*on_nodes())"
    line = f"export MODULEPATH={tmp_path}; module load foss/2025b; exec {sys.executable} -c {shlex.quote(code)}"
    done = subprocess.run(["bash", "-lc", line], capture_output=True, text=True, check=True)
    assert f"EBROOTFOSS={tmp_path}" in done.stdout.split()
