"""The README's commands work, in the order in which it gives them."""

import shlex

import pytest
from as_user import Run
from doc_pages import commands, page

from tuner.provision.packages import APT, EXTRAS, UNPACKED, WHEELS

README = page("README.md")
COMMANDS = commands(README)
CLUSTER = "my-cluster.toml"
"""Commands on this file are run where there is a cluster, in test_cluster.py."""
SHORTER = {
    "tune": ["--budget", "6s"],
    "blas": ["--blas", "openblas", "--blas", "blis", "--trials", "1", "--set", "N=800", "--budget", "10m"],
    "reproduce": ["--trials", "0"],
    "calibrate": ["--checks", "1", "--rounds", "1"],
}
"""Added so that the checks end soon; a later option overrules an earlier one."""
EXPLAINED = ["--trials", "12", "--set", "N=2000"]
"""The first study has to have enough runs to explain, however busy the machine; left to itself, N grows with time."""


@pytest.mark.real
@pytest.mark.long
@pytest.mark.usefixtures("real_hpl")
@pytest.mark.timeout(1800)
def test_every_command_of_the_readme_works(hpltune: Run) -> None:
    assert len(COMMANDS) > 10
    for command in COMMANDS:
        words = shlex.split(command)
        if words[0] == "test" or CLUSTER in words:
            continue
        more = [] if "--resume" in words else EXPLAINED if command == "tune" else SHORTER.get(words[0], [])
        done = hpltune(*words, *more)
        expected = 1 if "--explain" in words else 0
        assert done.returncode == expected, (command, done.stdout, done.stderr)


def test_every_package_that_setup_may_install_is_named_in_the_readme() -> None:
    for package in (*APT, *UNPACKED, *WHEELS, *EXTRAS.values()):
        assert package.name in README
