"""What the engine `hpl` asks before its model was taught."""

import pytest
from engine_contract import space_of
from present import present

from tuner.engines.base import EngineContext
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Rung
from tuner.engines.probes import Probes

SMALL = Rung(Fidelity.SMALL, 0.35)
HASWELL = """
[parameters]
layout = "1x1"
blas = "openblas"
kernel = "Haswell"
NB = {}
"""
"""The textbook's NB is 256, HPL's model holds 192 for 3 % faster and 128 for 4 %."""


@pytest.mark.parametrize(("NB", "rung"), [([192, 256], FULL), ([128, 256], SMALL)])
def test_the_textbook_is_measured_in_full_where_the_model_holds_it_for_about_as_fast(NB: list[int], rung: Rung) -> None:
    timed = EngineContext(probes=Probes({"openblas": {"Haswell": 40.0}}))
    engine = HplEngine(space_of(HASWELL.format(NB), cores=1), 0, timed)
    favourite = present(engine.choose((SMALL, FULL)))
    assert (favourite.params["NB"], favourite.rung) == (NB[0], FULL)
    engine.tell(favourite.params, Outcome(30.0, rung=FULL))
    textbook = present(engine.choose((SMALL, FULL)))
    assert (textbook.params["NB"], textbook.rung) == (256, rung)
