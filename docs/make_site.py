"""Build the documentation as a site that needs no network: `python docs/make_site.py FOLDER`.

MkDocs with the theme Material does it, which the tests install. README is the first page; CONTRIBUTING, CHANGELOG and
LICENSE become pages, too; the order of pages is that of index.md's table. A link that leads nowhere ends it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).parent
OUTSIDE: Mapping[str, str] = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "LICENSE": "licence.md",
}
"""Files beside this folder, and what they are called as pages."""
ALL_PAGES = "all-pages.md"
"""What index.md of this folder is called as a page, because the README opens the site."""
CONFIG = """\
site_name: hpltune
docs_dir: pages
theme:
  name: material
  font: false
  features: [navigation.sections, navigation.top, content.code.copy, search.highlight]
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, primary: white, accent: blue}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, primary: black, accent: blue}
plugins: [search, offline]
extra: {polyfills: [iframe-worker.js]}
markdown_extensions:
  - tables
  - pymdownx.superfences
  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}
validation: {anchors: warn, unrecognized_links: warn}
nav:
"""


def navigation(index: str) -> Iterator[str]:
    """Yield the lines of MkDocs' navigation: a section for each kind of page, which is a column of index.md's table."""
    yield f"  - hpltune: {OUTSIDE['README.md']}"
    yield f"  - All pages: {ALL_PAGES}"
    rows = [line.strip("|\n").split("|") for line in index.splitlines() if line.startswith("|")]
    for kind, *cells in list(zip(*rows, strict=True))[1:]:
        yield f"  - {kind.strip()}:"
        for title, file in re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", "".join(cells)):
            yield f"    - {title[0].upper() + title[1:]!r}: {OUTSIDE.get(file.removeprefix('../'), file)}"


def as_page(text: str, *, outside: bool) -> str:
    """Return the text of a page, whose links lead to the pages of the site.

    Args:
        outside: the file lies beside this folder.
    """
    above, here = ("", "docs/") if outside else ("../", "")
    text = text.replace(f"]({here}index.md", f"]({ALL_PAGES}")
    for file, page in OUTSIDE.items():
        text = text.replace(f"]({above}{file}", f"]({page}")
    return text.replace("](docs/", "](") if outside else text


def write_pages(folder: Path) -> None:
    """Write all pages, and what they show."""
    folder.mkdir()
    for file in DOCS.iterdir():
        if file.suffix == ".md":
            page = ALL_PAGES if file.name == "index.md" else file.name
            (folder / page).write_text(as_page(file.read_text(encoding="utf-8"), outside=False), encoding="utf-8")
        elif file.suffix in {".svg", ".ipynb", ".service", ".timer", ".js"}:
            shutil.copy(file, folder)
    shutil.copy(DOCS.parent / "CITATION.cff", folder)
    for file, page in OUTSIDE.items():
        text = (DOCS.parent / file).read_text(encoding="utf-8")
        (folder / page).write_text(as_page(text, outside=True), encoding="utf-8")


def main() -> int:
    """Build the site; return MkDocs' exit code."""
    if len(sys.argv) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="hpltune-") as scratch:
        work = Path(scratch)
        write_pages(work / "pages")
        lines = navigation((DOCS / "index.md").read_text(encoding="utf-8"))
        (work / "mkdocs.yml").write_text(CONFIG + "\n".join(lines) + "\n", encoding="utf-8")
        site = Path(sys.argv[1]).absolute()
        built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
        quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        return subprocess.run(built, cwd=work, check=False, env=quiet).returncode


if __name__ == "__main__":
    sys.exit(main())
