import re
from pathlib import Path

import pytest

from search_spaces.load import load, shipped
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import DIMENSIONS
from search_spaces.restriction import ALWAYS, RESTRICTIONS

PAGE = (Path(__file__).parents[2] / "docs/spaces.md").read_text()


def test_the_example_of_the_page_is_a_space_that_works() -> None:
    found = re.search(r"<!-- example -->\n```toml\n(.*?)```\n<!-- end -->", PAGE, re.DOTALL)
    assert found is not None
    space = load("docs/spaces.md", Machine(4, 2**33, {"openblas": BlasFacts(("Haswell",))}), text=found[1])
    assert len(space) > 100
    assert int(space.complete(space.point(0))["N"]) > 10_000
    assert space.starts[0]["NB"] == 192


@pytest.mark.parametrize("name", [*DIMENSIONS, *RESTRICTIONS, *(rule.name for rule in ALWAYS), *shipped()])
def test_every_parameter_rule_and_shipped_space_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE
