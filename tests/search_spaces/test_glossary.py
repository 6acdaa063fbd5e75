"""The glossary says of every parameter what it does, and its page says the same."""

import importlib.util
from pathlib import Path

from search_spaces.parameters.dimension import DIMENSIONS
from search_spaces.parameters.glossary import GLOSSARY

PAGE = Path(__file__).parents[2] / "docs/glossary.md"


def test_every_parameter_of_hpl_is_in_the_glossary() -> None:
    assert set(DIMENSIONS) <= set(GLOSSARY)


def test_the_page_is_what_the_code_says() -> None:
    specification = importlib.util.spec_from_file_location("make_glossary", PAGE.with_name("make_glossary.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert PAGE.read_text() == module.page(), "run python docs/make_glossary.py"
