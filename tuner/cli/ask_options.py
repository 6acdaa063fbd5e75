"""Typer's parameters, made from what can be asked of a command."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Annotated, Any, get_args, get_origin

import typer

from ..asks.field import Ask, AskedField, AskField, Named, fields_of
from ..words import with_options
from .common import complete_cluster, complete_engine, complete_parameter, complete_space, complete_study

COMPLETED: dict[Named | None, Callable[..., list[str]]] = {
    Named.SPACE: complete_space,
    Named.CLUSTER: complete_cluster,
    Named.STUDY: complete_study,
    Named.ENGINE: complete_engine,
    Named.PARAMETER: complete_parameter,
}


def asking(function: Callable[..., None]) -> Callable[..., None]:
    """The function of a command as Typer wants it.

    A parameter that is an ask becomes an option for each of its fields; one of which the same is said as of a field
    of an ask becomes an option, too.
    """
    signature = inspect.signature(function, eval_str=True)
    asks = {name: given.annotation for name, given in signature.parameters.items() if _is_ask(given.annotation)}
    single = [field for given in signature.parameters.values() if (field := _field(given)) is not None]
    parameters = [made for given in signature.parameters.values() for made in _expanded(given)]

    @wraps(function)
    def run(**values: Any) -> None:
        read = {name: ask(**_read(fields_of(ask), values)) for name, ask in asks.items()}
        function(**read, **_read(single, values), **values)

    del run.__wrapped__  # its parameters are others
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {made.name: made.annotation for made in parameters}
    return run


def _is_ask(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Ask)


def _field(given: inspect.Parameter) -> AskedField | None:
    """What is said of a parameter as of a field of an ask; None for others."""
    metadata = getattr(given.annotation, "__metadata__", ())
    said = next((entry for entry in metadata if isinstance(entry, AskField)), None)
    return None if said is None else AskedField(given.name, get_args(given.annotation)[0], given.default, said)


def _expanded(given: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The parameters for one of a command's function: those of an ask one by one."""
    field = _field(given)
    if field is not None:
        yield _parameter(field)
    elif _is_ask(given.annotation):
        yield from map(_parameter, fields_of(given.annotation))
    else:
        yield given.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parameter(field: AskedField) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.required else field.default
    return inspect.Parameter(
        field.key,
        inspect.Parameter.KEYWORD_ONLY,
        default=default if default or not isinstance(default, tuple | dict) else None,
        annotation=Annotated[_typed(field), _option(field)],
    )


def _typed(field: AskedField) -> Any:
    """The type of what the command line reads."""
    if field.said.typed is not None:
        return field.said.typed
    return list[str] | None if get_origin(field.type) is tuple else field.type


def _option(field: AskedField) -> Any:
    """An option or an argument as Typer wants it."""
    said = field.said
    if said.argument:
        completed = COMPLETED.get(said.names)
        return typer.Argument(metavar=said.metavar, help=with_options(said.help), autocompletion=completed)
    switch = bool in {field.type, *get_args(field.type)}
    name = field.field.replace("_", "-")
    negative = f"/--no-{name}" if switch and field.default is not False else ""
    own_type = said.typed is None
    return typer.Option(
        f"--{name}{negative}",
        metavar=said.metavar,
        min=said.least if own_type else None,
        max=said.most if own_type else None,
        help=with_options(said.help),
        rich_help_panel=said.panel,
        autocompletion=COMPLETED.get(said.names) if own_type else None,
    )


def _read(fields: Iterable[AskedField], values: dict[str, Any]) -> dict[str, Any]:
    """What the command line gave for some fields; it is taken out of all values.

    Raises:
        TunerError: something cannot be read.
    """
    found = {}
    for field in fields:
        value = values.pop(field.key)
        if value is None:
            found[field.key] = field.default
        elif field.said.read is not None:
            found[field.key] = field.said.read(value)
        else:
            found[field.key] = tuple(value) if isinstance(value, list) else value
    return found
