"""Writes docs/results.ipynb: its cells stand here, and each is executed in an empty folder.

Run `python docs/make_notebook.py`; a test executes the cells again and fails when they print something else.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

PAGE = Path(__file__).with_name("results.ipynb")
CELLS = (
    """# Results in pandas

`results.export.frame.frame` makes a pandas data frame of a study's trials, with a row for each. This page is
executed by `python docs/make_notebook.py`, and a test checks that each cell still prints what stands here.""",
    """First a study: fifteen configurations of the virtual Kronos cluster, which takes ten seconds. A study of a real
machine gives the same columns.""",
    """>>>!hpltune tune --cluster kronos --engine grid --space quick --set blas=atlas --set NB=32,64,128,192,256 \\
    --set grid=1x8,2x4,4x2 --set DEPTH=0 --set N=6000 --confirm 0 --study kronos --db kronos.db > tune.log 2>&1""",
    """## Read the trials

Each column has one type, whatever the study came to. What is missing is `<NA>`, never zero; times are in UTC;
the names of columns have their units. `parameters=True` adds the parameters that are not in HPL.dat.""",
    """>>>from pathlib import Path

from results.export.frame import frame
from results.store.store import Store

with Store.open(Path("kronos.db")) as store:
    trials = frame(store.records("kronos"), parameters=True)
print(len(trials), "trials,", len(trials.columns), "columns")
print(trials[["grid", "NB", "N", "gflops", "time_s", "passed"]].dtypes)""",
    """## The fastest configurations

Keep only full runs that count: `state` is `complete`, and `kind` is not that of a smaller run (`small`,
`pilot`). A simulated run has no residual, so `passed` is missing here; in a real study it is `True` for each
run that counts.""",
    """>>>runs = trials[(trials["state"] == "complete") & (trials["kind"] == "search")]
print(runs.nlargest(5, "gflops")[["grid", "NB", "gflops", "time_s"]].to_string(index=False))""",
    """## One parameter against another""",
    """>>>rates = runs.pivot_table(index="NB", columns="grid", values="gflops", aggfunc="median")
print(rates.round(2))""",
    """The best NB is not the same for each grid, so both must be searched together:""",
    """>>>print(rates.idxmax().rename("best NB"))""",
    """## What the search cost

`cost_s` is the machine time of a trial. The sum tells how long the search took.""",
    """>>>print(f"{trials['cost_s'].sum() / 60:.1f} minutes of HPL runs")
print(runs.groupby("grid")["cost_s"].sum().round(0))""",
    """## A picture""",
    """>>>%config InlineBackend.figure_formats = ["svg"]
axes = rates.astype(float).plot(marker="o", xlabel="NB", ylabel="GFLOPS", title="Rate against NB on each grid")
axes.spines[["top", "right"]].set_visible(False)""",
    """`hpltune export csv|jsonl|parquet` writes the same columns into files, and `results.export.frame.read` reads a
CSV with these types. [The database](database.md) names all columns.""",
)


def executed(folder: Path) -> nbformat.NotebookNode:
    """Execute the cells in an empty folder, with `hpltune` of this environment on PATH."""
    cells = [new_code_cell(text[3:]) if text.startswith(">>>") else new_markdown_cell(text) for text in CELLS]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    book = new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = NotebookClient(book, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "PATH": path, "HPLTUNE_DATA": str(folder / "data"), "NO_COLOR": "1"})
    for cell in book["cells"]:
        cell["metadata"] = {}
    book["metadata"].pop("language_info", None)
    return book


def printed(book: nbformat.NotebookNode) -> list[str]:
    """Return the text that the cells print, one after the other."""
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", ())]
    return [output["text"] for output in outputs if output["output_type"] == "stream"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        nbformat.write(executed(Path(empty)), PAGE)
