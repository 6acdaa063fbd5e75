"""Sentences below the command line name fields, not options; and no text of an error decides what happens."""

import ast
import re
from collections.abc import Iterator

import pytest
from plug_ins import modules

FACES = ("tuner/cli/", "tuner/words.py")
"""They may name options; the words make one of a field."""
OPTION = re.compile(r"(?<!var\()(?<![\w,-])--[a-z][a-z-]*")
OF_OTHERS = re.compile(r"`(?!hpltune|--)[^`]*`")
"""A command of another program in a sentence."""
STARTS_PROGRAMS = ("runners/", "hpl/", "tuner/provision/", "tuner/service/campaigns/dispatcher.py")
"""There a text of one word with an option is an argument of a program that is started."""
OPTIONS_OF_OTHERS = {
    "hpl/build/toolchain.py": "an option of update-alternatives",
    "runners/hosts/node_facts.py": "a script of a shell",
    "runners/readiness/fact_table.py": "commands of a shell",
    "runners/containers/looking.py": "a script of a shell",
    "runners/launchers/base.py": "an option of containers",
    "runners/batch/slurm/options.py": "options of sbatch, which a cluster file lists",
    "runners/batch/slurm/srun.py": "options of srun",
    "runners/batch/slurm/system.py": "a script of a shell, and a command of Slurm",
    "tuner/commands/described_dat.py": "commands of Open MPI and Slurm",
    "tuner/machine/mpi_parameters.py": "a command of Open MPI",
}
"""Their sentences and scripts name options of other programs."""
ONLY_A_TEXT = {
    "results/store/postgresql.py": "libpq says only in words why it cannot connect",
    "tuner/replay/csv_table.py": "Python's csv says only in words what is wrong",
}
"""Errors of others that carry nothing but a text: it is read once, where it becomes an error of ours."""


def docstrings(module: ast.Module) -> set[ast.AST]:
    """All texts that are statements."""
    return {node.value for node in ast.walk(module) if isinstance(node, ast.Expr)}


def texts(node: ast.AST, left_out: set[ast.AST]) -> Iterator[tuple[int, str]]:
    """All texts with their lines, those in braces replaced by an x."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "x" for part in child.values)
            yield child.lineno, "".join(map(str, parts))
            for part in child.values:
                if isinstance(part, ast.FormattedValue):
                    yield from texts(part, left_out)
        elif isinstance(child, ast.Constant):
            if isinstance(child.value, str) and child not in left_out:
                yield child.lineno, child.value
        else:
            yield from texts(child, left_out)


def names_option(path: str, text: str) -> bool:
    """Whether a text of a module names an option of the command line."""
    argument = path.startswith(STARTS_PROGRAMS) and " " not in text
    return not argument and OPTION.search(OF_OTHERS.sub("", text)) is not None


def errors_in(function: ast.AST) -> set[str]:
    """Names of errors in a function: those it caught, and those it was given."""
    found = {node.name for node in ast.walk(function) if isinstance(node, ast.ExceptHandler) and node.name}
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and node.annotation is not None:
            annotation = ast.unparse(node.annotation)
            if re.search(r"Error\b|Exception\b", annotation):
                found.add(node.arg)
    return found


def is_text_of(node: ast.AST, errors: set[str], aliases: set[str]) -> bool:
    """Whether an expression is the text of an error, or a name for it."""
    match node:
        case ast.Name(id=name):
            return name in aliases
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in errors
        case ast.Attribute(value=ast.Name(id=name), attr="sentence" | "args" | "strerror"):
            return name in errors
        case ast.Subscript(value=value):
            return is_text_of(value, errors, aliases)
        case _:
            return False


def decisions(function: ast.AST) -> Iterator[int]:
    """Lines on which a function looks into the text of an error to decide something."""
    errors = errors_in(function)
    aliases: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and is_text_of(node.value, errors, set()):
            aliases |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(function):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=rest):
                looks = any(isinstance(each, ast.In | ast.NotIn) for each in ops)
                plain = any(isinstance(each, ast.Constant) for each in (left, *rest))
                if (looks or plain) and any(is_text_of(each, errors, aliases) for each in (left, *rest)):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith" | "find" | "count")):
                if is_text_of(value, errors, aliases):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(attr="match" | "search" | "fullmatch" | "findall"), args=arguments):
                if any(is_text_of(each, errors, aliases) for each in arguments):
                    yield node.lineno


def lines_that_decide(path: str) -> set[int]:
    """Lines of a module on which the text of an error decides."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {line for node in ast.walk(modules()[path]) if isinstance(node, kinds) for line in decisions(node)}


def test_sentences_below_the_command_line_name_no_option_of_it() -> None:
    named = [
        f"{path}, line {line}: {text[:100]}"
        for path, module in modules().items()
        if not path.startswith(FACES) and path not in OPTIONS_OF_OTHERS
        for line, text in texts(module, docstrings(module))
        if names_option(path, text)
    ]
    assert not named, "these name options: write the field, as ⟦budget⟧, and each face names it:\n" + "\n".join(named)


@pytest.mark.parametrize("path", OPTIONS_OF_OTHERS)
def test_what_may_name_options_of_other_programs_does(path: str) -> None:
    module = modules()[path]
    assert any(names_option(path, text) for _, text in texts(module, docstrings(module)))


def test_no_text_of_an_error_decides_what_happens() -> None:
    found = [
        f"{path}, line {line}"
        for path in modules()
        if path not in ONLY_A_TEXT
        for line in sorted(lines_that_decide(path))
    ]
    assert not found, "these look into the text of an error: ask its type or a field of it:\n" + "\n".join(found)


@pytest.mark.parametrize("path", ONLY_A_TEXT)
def test_what_may_read_the_texts_of_others_does(path: str) -> None:
    assert lines_that_decide(path)


@pytest.mark.parametrize(
    "text",
    [
        "raise UsageError(f'--budget {text}: not a duration')",
        "say('With a larger --budget it goes on')",
        "say('`hpltune tune --resume` goes on')",
        "given = {'--cluster': cluster}",
    ],
)
def test_an_option_is_found(text: str) -> None:
    assert any(names_option("tuner/units.py", said) for _, said in texts(ast.parse(text), set()))


@pytest.mark.parametrize(
    "condition",
    [
        "str(error).startswith('--')",
        "'disk' in str(error)",
        "re.search('--budget', str(error))",
        "error.args[0] == 'locked'",
        "OPTION.match(said)",
    ],
)
def test_a_text_that_decides_is_found(condition: str) -> None:
    function = f"def f(error: Exception) -> bool:\n    said = str(error)\n    return bool({condition})"
    assert list(decisions(ast.parse(function).body[0]))
