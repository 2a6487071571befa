"""Hooks of mkdocs: pages made from files outside docs/ and from the code, and their links.

Pages of docs/ link to each other, to README.md and to deploy/README.md by their paths in the repository, so that links
work there, too. On the site some of these files have other names.
"""

import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tilepdb.commands.main import app

ROOT = Path(__file__).parent.parent.parent
# Page of the site -> file of the repository.
ELSEWHERE = {
    "index.md": "README.md",
    "deploy.md": "deploy/README.md",
    "instances.md": "data/README.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "citation.cff": "CITATION.cff",
}
_ON_SITE = {source: f"docs/{page}" for page, source in ELSEWHERE.items()}
_FOREIGN = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=.?(?:https?:)?//[^>]*>")
_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    made = {page: (ROOT / source).read_text(encoding="utf-8") for page, source in ELSEWHERE.items()}
    made["cli.md"] = command_page()
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def command_page() -> str:
    """Return the page of the command line: the help of each command, in Markdown."""
    program = typer.main.get_command(app).make_context("pdb", [], resilient_parsing=True, terminal_width=100)
    return "# Command line\n\n" + "\n".join(_help_texts(program))


def _help_texts(context: Any) -> Iterator[str]:
    """Yield the help of a command and of its subcommands, each below a heading."""
    yield f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"
    for name, command in getattr(context.command, "commands", {}).items():
        yield from _help_texts(command.make_context(name, [], parent=context, resilient_parsing=True))


def on_page_markdown(markdown: str, page: Page, **_others: object) -> str:
    """Translate the links of a page."""
    return links_of_site(markdown, page.file.src_uri)


def on_post_page(output: str, page: Page, **_others: object) -> str:
    """Raise an error if a page loads something from another host, or if a page of the library lacks a public name.

    Many readers have no network.
    """
    foreign = _FOREIGN.search(output)
    if foreign:
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {foreign[0]}")
    folder, _, package = page.file.src_uri.removesuffix(".md").rpartition("/")
    if folder == "api":
        shown = set(re.findall(rf'<h[23] id="{re.escape(package)}\.(\w+)"', output))
        # The page of pdb_core has all errors, which tilepdb only names.
        errors = set() if package == "pdb_core" else set(vars(importlib.import_module("pdb_core.errors")))
        missing = set(getattr(importlib.import_module(package), "__all__", ())) - shown - errors
        if missing:
            raise PluginError(f"{page.file.src_uri} lacks {sorted(missing)}")
    return output


def links_of_site(markdown: str, page: str) -> str:
    """Replace each link to a file of the repository by a link to its page of the site."""
    folder = (ROOT / ELSEWHERE.get(page, f"docs/{page}")).parent

    def translated(match: re.Match[str]) -> str:
        target = match[1]
        if "://" in target:
            return target
        source = Path(os.path.normpath(folder / target)).relative_to(ROOT).as_posix()
        source = _ON_SITE.get(source, source)
        if not source.startswith("docs/"):
            return target  # mkdocs reports it
        return os.path.relpath(source.removeprefix("docs/"), PurePosixPath(page).parent)

    return _LINK.sub(translated, markdown)
