"""Writes the notebooks in docs: their cells stand here, executed in an empty folder.

Run `python docs/make_notebook.py`, or with the name of one, as `results.ipynb`; a test executes the cells again and
fails when they print something else.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tuner.simulation.lesson import lesson

RESULTS = (
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
print(runs.nlargest(5, "gflops")[["grid", "NB", "gflops", "time_s"]].round(2).to_string(index=False))""",
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

CLIENT = (
    """# A service from Python

`hpltune.client` hands campaigns in to a service, watches them and reads what they found. This page is executed by
`python docs/make_notebook.py`, and a test checks that each cell still prints what stands here.""",
    """## A service

Usually it runs already, on another machine, and you have its address and a token in `HPLTUNE_TOKEN`. Here one is
started that ends with this page.""",
    """>>>import re
import subprocess

service = subprocess.Popen(["hpltune", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True)
url = re.search(r"http://\\S+:\\d+", service.stderr.readline()).group()""",
    """## Hand in a campaign

The arguments of `tune` are the options of `hpltune tune`. This one simulates nine configurations of the virtual
Kronos cluster; without `cluster` the service's own machine is measured.""",
    """>>>from hpltune.client import Client

client = Client(url)
campaign = client.tune(
    name="kronos",
    cluster="kronos",
    space="quick",
    engine="grid",
    set={"blas": "atlas", "NB": [64, 128, 192], "grid": ["1x8", "2x4", "4x2"], "DEPTH": 0, "N": 6000},
    confirm=0,
    jobs=1,
)
print(campaign.name, campaign.info().space)""",
    """What is wrong is told with its place in the document, and nothing is handed in:""",
    """>>>from hpltune.client import RefusedDocumentError

try:
    client.tune(space="quik", budget="5m")
except RefusedDocumentError as error:
    print(error.errors)""",
    """## Watch it

`events` gives what happens while it happens, until the campaign ends. A connection that is lost is made anew, and
the events go on where they were. `everything=True` begins with what has happened before.""",
    """>>>for event in campaign.events(everything=True):
    if event.event == "trial-ended":
        print(f"#{event.number}  {event.gflops:6.2f} GFLOPS  fastest {event.fastest_gflops:6.2f}")
    elif event.event == "campaign-ended":
        print(event.state, "after", event.trials, "trials")""",
    """## What it found""",
    """>>>best = campaign.best(count=3)
for found in best.ranking:
    print(f"{found.expected_gflops:.2f} GFLOPS", {name: found.params[name] for name in ("grid", "NB")})""",
    """`trials` is a pandas frame with the columns of [results in pandas](results.ipynb).""",
    """>>>trials = campaign.trials()
rates = trials.pivot_table(index="NB", columns="grid", values="gflops")
print(rates.round(2))""",
    """>>>%config InlineBackend.figure_formats = ["svg"]
axes = rates.astype(float).plot(marker="o", xlabel="NB", ylabel="GFLOPS", title="Rate against NB on each grid")
axes.spines[["top", "right"]].set_visible(False)""",
    """## Take the HPL.dat home

`campaign.command()` gives the script that runs it, where the campaign measured a real machine.""",
    """>>>print("\\n".join(campaign.hpl_dat().splitlines()[4:12]))""",
    """## Change it

A campaign is paused after its running trial, and goes on where it was; `cancel` ends it at once, and keeps what was
measured. One that has ended cannot be paused:""",
    """>>>from hpltune.client import ServiceError

try:
    campaign.pause()
except ServiceError as error:
    print(error.status, error)""",
    """>>>client.close()
service.terminate()
print(service.wait())""",
)
LEARN = (
    """# Tune Kronos: guess first

The steps of [the tutorial](kronos.md), as `hpltune learn kronos` asks them. Write a guess between the quotes of a cell,
run the cell, and open its answer: it has the runs of a virtual Kronos, simulated beside published, and says why.
Nothing between the quotes is no guess. All steps together compute for about 40 seconds. Your guesses are kept for the
report at the end. This page is executed by `python docs/make_notebook.py`, and a test checks that each cell still shows
what stands here.""",
    """>>>from IPython.display import Markdown, display

from results.report.model import Report
from results.report.text_forms import to_markdown
from tuner.commands.learn import answered


def answer(step, guess=""):
    found = answered("kronos", step, guess)
    told = to_markdown(Report("", found.report().parts))
    display(Markdown(f"<details><summary>Open the answer</summary>\\n\\n{told}\\n</details>"))
    return found.answer.rates""",
)
LEARNT = (
    """## One parameter depends on another

Look-ahead (DEPTH = 1) hides a part of what a large NB costs, so the best NB moves up:""",
    """>>>%config InlineBackend.figure_formats = ["svg"]
import matplotlib.pyplot as plt

for DEPTH, rates in (0, blocks), (1, blocks_ahead):
    plt.plot([int(NB) for NB in rates], list(rates.values()), marker="o", label=f"DEPTH = {DEPTH}")
plt.xlabel("NB")
plt.ylabel("GFLOPS, simulated")
_ = plt.legend()""",
    """## The report to hand in

Call `hpltune report --as kronos --author "YOUR NAME" -o kronos.html` in a terminal. The report has all tests of the
article, published beside simulated, your guesses, and room for your reasons.""",
)


def questions(name: str) -> Sequence[str]:
    """Return the cells of a lesson: each question, and the call that answers it."""
    cells = []
    for number, step in enumerate(lesson(name).steps, 1):
        test = "" if step.test is None else f" (test {step.test} of the article)"
        guess = f"Guess in {step.unit}." if step.unit else f"Choose {step.choices}."
        cells.append(f"## Step {number}: {step.title}{test}\n\n{step.question} {guess}")
        cells.append(f'>>>{step.name.replace("-", "_")} = answer("{step.name}", guess="")')
    return cells


HERE = Path(__file__).parent
BOOKS = {
    HERE / "results.ipynb": RESULTS,
    HERE / "service-client.ipynb": CLIENT,
    HERE / "kronos.ipynb": (*LEARN, *questions("kronos"), *LEARNT),
}


def executed(folder: Path, texts: Sequence[str]) -> nbformat.NotebookNode:
    """Execute the cells in an empty folder, with `hpltune` of this environment on PATH."""
    cells = [new_code_cell(text[3:]) if text.startswith(">>>") else new_markdown_cell(text) for text in texts]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    book = new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = NotebookClient(book, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "PATH": path, "HPLTUNE_DATA": str(folder / "data"), "NO_COLOR": "1"})
    for cell in book["cells"]:
        cell["metadata"] = {}
        if "outputs" in cell:
            cell["outputs"] = _whole(cell["outputs"])
    book["metadata"].pop("language_info", None)
    return book


def _whole(outputs: Sequence[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Put together what a cell printed at several times."""
    found: list[nbformat.NotebookNode] = []
    for output in outputs:
        if found and output["output_type"] == found[-1]["output_type"] == "stream":
            found[-1]["text"] += output["text"]
        else:
            found.append(output)
    return found


def printed(book: nbformat.NotebookNode) -> list[str]:
    """Return the text that the cells print or show, one after the other."""
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", ())]
    shown = [output.get("text") or output.get("data", {}).get("text/markdown") for output in outputs]
    return [text for text in shown if text]


if __name__ == "__main__":
    asked = {Path(name).name for name in sys.argv[1:]}
    for page, texts in BOOKS.items():
        if asked and page.name not in asked:
            continue
        with tempfile.TemporaryDirectory() as empty:
            nbformat.write(executed(Path(empty), texts), page)
