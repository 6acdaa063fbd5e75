"""`predict` as a program calls it, and what a user keeps where a design fails."""

from pathlib import Path

import pytest
from as_user import Run
from report_reading import as_json

from tuner.asks.predict import PredictAsk
from tuner.commands.predict import predict
from tuner.events import Event, Notice
from tuner.simulation.design import read_designs
from tuner.stopping import StopRequest

AS_IT_IS = """
[[design]]
name = "eight <b> of them as they are"
"""


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_designs_are_tuned_without_a_terminal(home: Path) -> None:
    (home / "designs.toml").write_text('base = "kronos"\n[[design]]\nname = "as it is"\n[[design]]\nname = "again"\n')
    events: list[Event] = []
    ask = PredictAsk(home / "designs.toml", space="quick", engine="random", trials=2, jobs=2, limit="2m")
    result = predict(ask, read_designs(ask.designs), events.append, StopRequest(), str(home / "my.db"))
    assert [prediction.design.name for prediction in result.predictions] == ["as it is", "again"]
    assert all(prediction.gflops > 1 for prediction in result.predictions)
    assert not result.interrupted
    assert Notice("Design 2 of 2: again") in events
    assert [prediction.study for prediction in result.predictions] == ["predict-as-it-is-1", "predict-again-1"]
    assert len(as_json(result.report())) == 2


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_design_that_fails_costs_neither_table_nor_picture_of_those_before_it(hpltune: Run, home: Path) -> None:
    (home / "designs.toml").write_text(f'base = "kronos"\n{AS_IT_IS}[[design]]\nnodes = {{ count = 4 }}\n')
    files = ("--plot", "designs.svg", "--html", "new/designs.html")
    done = hpltune("predict", "designs.toml", "--space", "kronos", "--trials", "2", *files)
    assert done.returncode == 2
    assert "8x1 needs 8 cores, but there are 4" in done.stderr
    assert "│ eight <b> of them as they are │" in done.stdout
    assert "<svg" in (home / "designs.svg").read_text()
    page = (home / "new/designs.html").read_text()
    assert page.count('class="drawn"') == 3
    assert "hpltune predict designs.toml --space kronos --engine hpl --trials 2 --seed 0" in page
    assert "<b>" not in page
    assert "eight &lt;b&gt; of them as they are" in page
    assert "Wrote new/designs.html. Open it in a browser." in done.stdout


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_stop_before_the_first_design_ends_a_prediction_without_an_error(home: Path) -> None:
    (home / "designs.toml").write_text('base = "kronos"\n[[design]]\n')
    stop = StopRequest()

    def stop_at_once(event: Event) -> None:
        if event == Notice("Design 1 of 1: design 1"):
            stop.ask()

    ask = PredictAsk(home / "designs.toml", space="quick", engine="random", trials=2, jobs=2, limit="2m")
    result = predict(ask, read_designs(ask.designs), stop_at_once, stop, str(home / "my.db"))
    assert result.interrupted
    assert result.predictions == ()
