"""MPI parameters that no MPI library of a study knows."""

import shutil
from pathlib import Path

import pytest
from as_user import Run, program
from needs import needs

from hpl.build.toolchain import Mpi, parameters_of

pytestmark = pytest.mark.usefixtures("real_hpl")
needs_ompi_info = pytest.mark.skipif(
    shutil.which("ompi_info") is None or shutil.which("mpirun.openmpi") is None, reason=needs("Debian's Open MPI")
)
needs_mpivars = pytest.mark.skipif(shutil.which("mpivars") is None, reason=needs("MPICH"))
TINY = ("--set", "N=200", "--set", "NB=64", "--trials", "1", "--confirm", "0", "--blas", "openblas")


@needs_ompi_info
def test_a_misspelt_parameter_is_refused_before_anything_is_timed(hpltune: Run, home: Path) -> None:
    done = hpltune("tune", *TINY, "--set", "mpi=openmpi", "--set", "mpi.btl_tcp_egaer_limit=1000")
    assert done.returncode == 2
    assert "has no parameter btl_tcp_egaer_limit: did you mean mpi.btl_tcp_" in done.stderr
    assert "eager_limit" in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not list((home / "data").glob("runs/*"))


@needs_ompi_info
def test_parameters_in_a_space_file_are_looked_up_too(hpltune: Run, home: Path) -> None:
    file = home / "own.toml"
    file.write_text('[parameters]\nN = 200\nNB = 64\nmpi = "openmpi"\n"mpi.quite_unknown_to_all" = ["1", "2"]\n')
    said = hpltune.refused("tune", "--space", str(file), "--trials", "1")
    assert "mpi.quite_unknown_to_all: openmpi" in said
    assert "`ompi_info --all` lists those it has" in said


@needs_ompi_info
def test_parameters_that_open_mpi_or_what_is_below_it_knows_are_taken(hpltune: Run) -> None:
    settings = (
        "--set", "mpi.btl_tcp_eager_limit=32768", "--set", "mpi.btl=^tcp", "--set", "mpi.UCX_LOG_LEVEL=warn",
    )  # fmt: skip
    hpltune.well("tune", *TINY, "--set", "mpi=openmpi", *settings, "--study", "known")
    (record, *_) = hpltune.told("show", "known")
    assert record["params"]["mpi.btl"] == "^tcp"


@needs_mpivars
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "MPIR_CVAR_BCAST_MIN_PORCS",
            "has no parameter MPIR_CVAR_BCAST_MIN_PORCS: did you mean mpi.MPIR_CVAR_BCAST_MIN_P",
        ),
        ("btl", "reads variables that begin with MPIR_, MPICH_, UCX_"),
    ],
)
def test_mpich_is_asked_for_its_control_variables(hpltune: Run, name: str, words: str) -> None:
    assert words in hpltune.refused("tune", *TINY, "--set", "mpi=mpich", "--set", f"mpi.{name}=4")


@needs_ompi_info
@needs_mpivars
def test_a_parameter_of_one_library_is_not_given_to_another(hpltune: Run, home: Path) -> None:
    assert 'where it is meant for another, say "mpi.btl_tcp_links" = { by = "mpi", NAME = [...] }' in hpltune.refused(
        "tune", *TINY, "--set", "mpi=openmpi,mpich", "--set", "mpi.btl_tcp_links=2"
    )
    file = home / "both.toml"
    text = '[parameters]\nN = 200\nNB = 64\nmpi = ["openmpi", "mpich"]\n'
    file.write_text(f'{text}"mpi.btl_tcp_links" = {{ by = "mpi", openmpi = [1, 2] }}\n')
    hpltune.well("spaces", str(file))


def test_open_mpi_5_has_parameters_in_three_programs(tmp_path: Path) -> None:
    program(tmp_path / "ompi_info", "#!/bin/sh\necho 'mca:btl:tcp:param:btl_tcp_links:value:1'\n")
    program(tmp_path / "prte_info", '#!/bin/sh\necho \'   MCA plm: "plm_ssh_delay" (current value: "", data\'\n')
    program(
        tmp_path / "pmix_info", "#!/bin/sh\necho '   MCA pmix net: \"pmix_net_private_ipv4\"\n   (current value:'\n"
    )
    mpi = Mpi("openmpi", "5.0.8", tmp_path / "mpicc", tmp_path / "mpirun", (), "test")
    assert parameters_of(mpi) == {"btl_tcp_links", "plm_ssh_delay", "pmix_net_private_ipv4"}
    (tmp_path / "prte_info").unlink()
    assert parameters_of(mpi) == frozenset(), "what nobody lists cannot be told from a slip of the pen"
