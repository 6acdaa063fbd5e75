"""What can be asked is said once: options, keys of documents and fields of forms are made from it."""

import pytest
import typer.main

from tuner.asks.field import Ask, Useless, fields_of, keys_here
from tuner.asks.registry import ASKS, field_of, key_of
from tuner.asks.tune import TuneAsk
from tuner.cli import app
from tuner.errors import UsageError
from tuner.messages.documents import document_of
from tuner.service.pages.start.fields import BY_NAME
from tuner.words import named, with_options


@pytest.mark.parametrize("kind", ["tune", "blas", "check"])
def test_each_field_is_an_option_and_a_key_unless_it_is_for_this_machine(kind: str) -> None:
    made = typer.main.get_command(app).commands[kind]  # type: ignore[attr-defined]
    options = {parameter.name: parameter.opts for parameter in made.params}
    for field in fields_of(ASKS[kind]):
        assert options[field.key] == [field.key if field.said.argument else f"--{field.field.replace('_', '-')}"]
    keys = {field.key for field in fields_of(ASKS[kind])} - keys_here(ASKS[kind])
    assert set(document_of(kind).model_fields) == keys | {"kind", "name", "priority"}


def test_the_form_has_a_field_for_each_key_of_a_search() -> None:
    assert set(document_of("tune").model_fields) - {"kind"} <= set(BY_NAME)


def test_keys_and_options_are_told_by_each_other() -> None:
    for ask in ASKS.values():
        for field in fields_of(ask):
            assert (key_of(field.field), field_of(field.key)) == (field.key, field.field)
    assert named("⟦price⟧ without ⟦run_time⟧", key_of) == "price_usd without run_time"


@pytest.mark.parametrize("kind", ASKS)
def test_a_help_that_names_other_options_names_keys_in_documents(kind: str) -> None:
    keys = document_of(kind).model_fields
    told = " ".join(keys[field.key].description or "" for field in fields_of(ASKS[kind]) if field.key in keys)
    helps = " ".join(with_options(field.said.help) for field in fields_of(ASKS[kind]))
    assert "⟦" not in told + helps
    assert "--" not in told


def test_defaults_of_a_document_are_those_of_the_command() -> None:
    assert document_of("tune").model_validate({}).ask == TuneAsk()
    assert document_of("nodes").model_validate({}).ask.baseline == "default", "a service compares unless it is told not"


@pytest.mark.parametrize(
    ("ask", "where", "said"),
    [
        (TuneAsk(reference=False), Useless.SIMULATED, "--no-reference is for real machines and changes nothing on a"),
        (TuneAsk(memory_fraction=0.5), Useless.WITH_TABLE, "--memory-fraction is for machines that run HPL"),
    ],
)
def test_what_changes_nothing_is_refused_with_the_words_that_were_given(ask: Ask, where: Useless, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask.refuse_useless(where)
    assert with_options(str(refused.value)).startswith(said)
    TuneAsk(full=True).refuse_useless(Useless.SIMULATED)
