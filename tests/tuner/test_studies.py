"""A new study is a new one, whoever else uses the store."""

from collections.abc import Sequence

import pytest
from record_builders import a_study

from results.errors import StudyExistsError
from results.record import Study
from results.store import Store
from tuner.options import TuneOptions
from tuner.stored_study import MachineFacts, begin

NOTHING_KNOWN = MachineFacts({}, None, None, None, {})


class Crowded(Store):
    """A store where somebody else takes a name as soon as one has looked which are taken."""

    def studies(self) -> Sequence[Study]:
        found = super().studies()
        if not found:
            self.create_study(a_study("default-1"))
        return found


def test_a_study_that_nobody_named_takes_the_next_name_where_somebody_was_faster(place: str) -> None:
    with Crowded.open(place) as store:
        assert begin(store, None, TuneOptions(), NOTHING_KNOWN).name == "default-2"
        assert [study.name for study in store.studies()] == ["default-1", "default-2"]


def test_a_named_study_is_never_somebody_elses(place: str) -> None:
    with Store.open(place) as store:
        store.create_study(a_study("mine"))
        with pytest.raises(StudyExistsError, match="study mine exists already"):
            begin(store, "mine", TuneOptions(), NOTHING_KNOWN)
        assert store.study("mine") == a_study("mine")
