"""Writes docs/glossary.md from `tuner.settings.dimensions.meanings`, so that the page cannot say anything else.

Run `python docs/make_glossary.py`; a test fails when the page is not what this would write.
"""

from pathlib import Path

from tuner.settings.dimensions import meanings

PAGE = Path(__file__).with_name("glossary.md")
HEAD = """# Glossary of the parameters

What each parameter does, and when it matters. `hpltune explain` shows these sentences for the parameters that matter in
a study. [Search spaces](spaces.md) has their values, [the network](network.md) the other network settings,
[settings of the host](settings.md) what those need.

| parameter | what it does and when it matters |
|---|---|
"""


def page() -> str:
    """Write the whole page."""
    return HEAD + "".join(f"| `{name}` | {text} |\n" for name, text in meanings().items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
