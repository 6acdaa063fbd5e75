"""The notebooks in docs show what their cells print today."""

import importlib.util
from pathlib import Path

import nbformat
import pytest

from hpl.build.simgrid import SimGrid

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.filterwarnings("default")  # Jupyter's own
@pytest.mark.parametrize("name", ["results.ipynb", "service-client.ipynb", "kronos.ipynb"])
def test_a_notebook_prints_what_its_page_shows(name: str, tmp_path: Path, simgrid: SimGrid) -> None:
    specification = importlib.util.spec_from_file_location("make_notebook", DOCS / "make_notebook.py")
    assert simgrid
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    shown = nbformat.reads((DOCS / name).read_text(), as_version=4)  # type: ignore[no-untyped-call]
    again = module.executed(tmp_path, module.BOOKS[DOCS / name])
    assert [cell["source"] for cell in again["cells"]] == [cell["source"] for cell in shown["cells"]]
    assert module.printed(again) == module.printed(shown), "run python docs/make_notebook.py"
    pictures = [
        output
        for cell in again["cells"]
        for output in cell.get("outputs", ())
        if "image/svg+xml" in output.get("data", {})
    ]
    assert len(pictures) == 1
