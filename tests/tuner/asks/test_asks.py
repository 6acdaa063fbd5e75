"""What can be asked is said once: options, keys of documents and fields of forms are made from it."""

import pytest
import typer.main

from tuner.asks.field import Useless, fields_of, keys_here
from tuner.asks.registry import ASKS, in_keys, key_of, option_of
from tuner.asks.tune import TuneAsk
from tuner.cli import app
from tuner.errors import UsageError
from tuner.messages.documents import document_of
from tuner.service.pages.start.fields import BY_NAME


@pytest.mark.parametrize(("command", "kind"), [("tune", "tune"), ("blas", "blas"), ("check", "check")])
def test_each_field_is_an_option_and_a_key_unless_it_is_for_this_machine(command: str, kind: str) -> None:
    made = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    options = {parameter.name: parameter.opts for parameter in made.params}
    for field in fields_of(ASKS[kind]):
        assert options[field.key] == [field.option]
    keys = {field.key for field in fields_of(ASKS[kind])} - keys_here(ASKS[kind])
    assert set(document_of(kind).model_fields) == keys | {"kind", "name", "priority"}


def test_the_form_has_a_field_for_each_key_of_a_search() -> None:
    assert set(document_of("tune").model_fields) - {"kind"} <= set(BY_NAME)


def test_keys_and_options_are_told_by_each_other() -> None:
    for ask in ASKS.values():
        for field in fields_of(ask):
            assert (key_of(field.option), option_of(field.key)) == (field.key, field.option)
    assert in_keys("--price without --run-time") == "price_usd without run_time"


def test_defaults_of_a_document_are_those_of_the_command() -> None:
    assert document_of("tune").model_validate({}).ask == TuneAsk()
    assert document_of("nodes").model_validate({}).ask.baseline == "default", "a service compares unless it is told not"


def test_what_changes_nothing_is_refused_with_the_words_that_were_given() -> None:
    with pytest.raises(UsageError, match=r"^--no-reference is for real machines and changes nothing on a virtual"):
        TuneAsk(reference=False).refuse_useless(Useless.SIMULATED)
    with pytest.raises(UsageError, match=r"^--memory-fraction is for machines that run HPL"):
        TuneAsk(memory_fraction=0.5).refuse_useless(Useless.WITH_TABLE)
    TuneAsk(full=True).refuse_useless(Useless.SIMULATED)
