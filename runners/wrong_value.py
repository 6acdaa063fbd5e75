"""What is wrong with a value and what to do, in our words and not in those of pydantic."""

from collections.abc import Mapping
from typing import Any

IN_OUR_WORDS: Mapping[str, str] = {
    "int_parsing": "write a whole number",
    "int_parsing_size": "write a whole number of fewer digits",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "finite_number": "write a number that is not infinite",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "string_type": "write a text",
    "string_too_short": "write {min_length} or more characters",
    "string_too_long": "write {max_length} characters at most",
    "string_unicode": "write characters of Unicode only",
    "datetime_type": "write a moment, as 2026-11-28T12:00:00Z",
    "datetime_parsing": "write a moment, as 2026-11-28T12:00:00Z",
    "datetime_from_date_parsing": "write a moment, as 2026-11-28T12:00:00Z",
    "datetime_object_invalid": "write a moment that there is, as 2026-11-28T12:00:00Z",
    "timezone_aware": "write a moment with its time zone, as 2026-11-28T12:00:00Z",
    "path_type": "write the name of a file",
    "list_type": "write a list",
    "tuple_type": "write a list",
    "dict_type": "write a table of names and their values",
    "mapping_type": "write a table of names and their values",
    "dataclass_type": "write a table of names and their values",
    "model_type": "write a table of names and their values",
    "model_attributes_type": "write a table of names and their values",
    "literal_error": "choose {expected}",
    "enum": "choose {expected}",
    "greater_than": "write more than {gt}",
    "greater_than_equal": "write {ge} or more",
    "less_than": "write less than {lt}",
    "less_than_equal": "write {le} or less",
    "too_short": "give {min_length} or more",
    "too_long": "give {max_length} at most",
    "missing": "this is missing",
    "extra_forbidden": "there is no such field here",
}
"""By pydantic's kind of error."""


def in_our_words(error: Mapping[str, Any]) -> str:
    """Say one error of pydantic's list as what to do; kinds without words of ours keep pydantic's."""
    kind, context = error["type"], error.get("ctx", {})
    if kind not in IN_OUR_WORDS:
        said = str(error["msg"]).removeprefix("Value error, ")
        return said[:1].lower() + said[1:] if said == error["msg"] else said
    plain = {name: f"{limit:.15g}" if isinstance(limit, float) else limit for name, limit in context.items()}
    return IN_OUR_WORDS[kind].format(**plain)
