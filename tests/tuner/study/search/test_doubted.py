"""A run that the engine doubts runs once more, and the user reads why."""

from dataclasses import dataclass, field

import pytest
from made_study import MakeStudy, point

from hpl.params import Scalar
from results.record import Kind
from search_spaces.space import SearchSpace
from tuner.engines.base import Engine
from tuner.engines.outcomes import Ladder, Question
from tuner.events import Event, Notice, TrialEnded

pytestmark = pytest.mark.usefixtures("mpirun")


@dataclass
class Asked:
    """What a search was asked, and what it told."""

    events: list[Event] = field(default_factory=list)

    @property
    def told(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


class Doubting(Engine):
    """Asks two points, then the first of them again, by 30 %."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        super().__init__(space, seed)
        first, second = ({**point(), "NB": NB} for NB in (32, 64))
        self._questions = [Question(first), Question(second), Question(first, doubted=0.3)]

    def choose(self, ladder: Ladder) -> Question | None:
        del ladder
        return self._questions.pop(0) if self._questions else None

    def _propose(self) -> dict[str, Scalar] | None:
        return None


def test_a_doubted_run_is_a_repeat_of_its_configuration_and_is_told(make_study: MakeStudy) -> None:
    asked = Asked()
    study = make_study(listener=asked.events.append)
    engine = Doubting(study.space, 0)
    study.search(engine)
    records = study.records((Kind.SEARCH,))
    assert [record.params["NB"] for record in records] == [32, 64, 32]
    assert records[0].key == records[2].key
    assert [event.again for event in asked.events if isinstance(event, TrialEnded)] == [False, False, True]
    sentences = [text for text in asked.told if "slower" in text]
    assert len(sentences) == 1
    assert sentences[0].startswith(f"Trial {records[0].number} was 30 % slower than all other runs let expect.")
    assert [len(runs) for runs in engine.told.values()] == [2, 1], "all runs of a configuration count together"
