"""The pictures of the tutorial: they are those that docs/make_pictures.py makes."""

import importlib.util
import re
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest
from present import present

from hpl.build.simgrid import SimGrid

DOCS = Path(__file__).parents[3] / "docs"
SAME_DIGITS = "3.32"
"""The version of SimGrid whose digits the page shows."""
MOST_BYTES = 90_000


@pytest.fixture(scope="module")
def made() -> ModuleType:
    specification = present(importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py"))
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_drawing_of_grids_is_the_one_that_the_script_makes(made: ModuleType) -> None:
    assert made.GRIDS.read_text(encoding="utf-8") == made.grids(), "run python docs/make_pictures.py"


def test_a_picture_is_small_and_its_elements_have_names_of_their_own(made: ModuleType) -> None:
    for picture in (made.GRIDS, made.TIMELINE):
        text = picture.read_text(encoding="utf-8")
        assert len(text) < MOST_BYTES
        names = [name for name in re.findall(r'\bid="([^"]*)"', text) if "series" not in name]
        assert len(names) == len(set(names))
        assert picture.name in (DOCS / "kronos.md").read_text(encoding="utf-8")


@pytest.mark.real
def test_the_timeline_shows_what_the_commands_of_the_page_give(made: ModuleType, simgrid: SimGrid, home: Path) -> None:
    figure = made.timeline_figure(home)
    assert made.timeline(figure) == made.timeline(figure)
    told = present(re.search(r"<desc>(.*)</desc>", made.TIMELINE.read_text(encoding="utf-8")))
    if simgrid.version == SAME_DIGITS:
        assert unescape(told[1]) == figure.caption, "run python docs/make_pictures.py"
