"""Reference of the command line, from the commands."""

from typing import Any

import typer.main

from pdb_cli.main import app


def command_page() -> str:
    """Return the page with every command, its arguments and its options, in Markdown."""
    program = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        f"{program.help} `pdb` and `tilepdb` are the same command. `-h` or `--help` after any command prints the "
        "text of this page. Results go to stdout, progress and messages to stderr. There is a list of "
        "[exit codes](exit-codes.md).",
        "",
    ]
    for words, command in leaves(program, ("pdb",)):
        lines += [f"## {' '.join(words)}", "", *described(words, command), ""]
    return "\n".join(lines)


def leaves(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    """Return the commands of a group and its subgroups, each with its words, in the order of --help."""
    if not hasattr(command, "commands"):
        return [(words, command)]
    return [leaf for name, item in command.commands.items() for leaf in leaves(item, (*words, name))]


def described(words: tuple[str, ...], command: Any) -> list[str]:
    """Return the lines of a command: its help, its usage, and tables of its arguments and options."""
    context = command.make_context(words[-1], [], resilient_parsing=True)
    usage = " ".join([*words, *command.collect_usage_pieces(context)])
    lines = [command.help, "", f"    {usage}", "", "For example:", "", f"    {command.epilog}", ""]
    for kind, title in (("argument", "argument"), ("option", "option")):
        rows = [
            row
            for parameter in command.get_params(context)
            if parameter.param_type_name == kind and (row := parameter.get_help_record(context))
        ]
        if rows:
            lines += ["", f"| {title} | |", "|---|---|", *(f"| `{name}` | {cell(text)} |" for name, text in rows)]
    return lines


def cell(text: str) -> str:
    """Escape a text for a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").strip()
