"""The commands of the README and of the pages for newcomers work, in the order in which these give them."""

import re
import shlex

import pytest
from as_user import Run
from doc_pages import ROOT, commands, page

from tuner.provision.plan import APT, EXTRAS, UNPACKED, WHEELS

README = page("README.md")
INSTALLATION = page("docs/installation.md")
COMMANDS = list(
    dict.fromkeys(command for text in (README, page("docs/tour.md"), INSTALLATION) for command in commands(text))
)
INDEX = page("docs/index.md")
CLUSTER = "my-cluster.toml"
"""Commands on this file are run where there is a cluster, in test_cluster.py."""
SHORTER = {
    "blas": ["--blas", "openblas", "--blas", "blis", "--trials", "1", "--set", "N=400", "--budget", "40s"],
    "reproduce": ["--trials", "0"],
    "run": ["--repeats", "1"],
    "calibrate": ["--checks", "0", "--rounds", "1"],
}
"""Added so that the checks end soon; a later option overrules an earlier one."""
ONCE = {"tune", "reproduce"}
"""Of these the first call stands for the others, each of which `test_doc_commands.py` runs at small size."""
EXPLAINED = ["--trials", "10", "--set", "N=1500", "--confirm", "1"]
"""The first study has to have enough runs to explain, however busy the machine; left to itself, N grows with time."""


@pytest.mark.real
@pytest.mark.long
@pytest.mark.usefixtures("real_hpl")
@pytest.mark.timeout(1800)
def test_every_command_of_the_readme_and_the_tour_works(hpltune: Run) -> None:
    assert len(COMMANDS) > 25
    done_once = set[str]()
    for command in COMMANDS:
        words = shlex.split(command, comments=True)
        if words[0] in done_once & ONCE or CLUSTER in words:
            continue
        done_once.add(words[0])
        more = EXPLAINED if command == "tune" else SHORTER.get(words[0], [])
        done = hpltune(*words, *more)
        illegal = "--explain" in words and done.stdout.startswith("illegal: ")
        assert done.returncode == int(illegal), (command, done.stdout, done.stderr)


def test_every_package_that_setup_may_install_is_named_in_the_docs() -> None:
    for package in (*APT, *UNPACKED, *WHEELS, *EXTRAS.values()):
        assert package.name in INSTALLATION


def test_the_readme_is_read_in_two_screens() -> None:
    assert len(README.splitlines()) <= 120


def test_the_index_names_every_page() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages - set(re.findall(r"\]\(([\w-]+\.md)\)", INDEX)) == set()
