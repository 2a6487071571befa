"""Draw the badges of README.md, docs/images/badges/*.svg: the site loads nothing from other hosts.

python -m scripts.docs_site.badges
"""

import tomllib
from pathlib import Path

from pdb_core import __version__

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "images" / "badges"
# Width of a letter, and space at both ends of a text, in pixels.
_LETTER, _SPACE = 6.6, 12


def badges() -> dict[str, str]:
    """Return the SVG of each badge by the stem of its file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [name.rpartition(" ")[2] for name in project["classifiers"] if "Python :: 3." in name]
    return {
        "version": badge("version", __version__),
        "python": badge("python", f"{pythons[0]} - {pythons[-1]}"),
        "types": badge("types", "mypy strict"),
        "system": badge("tested on", "Linux x86-64"),
    }


def badge(label: str, value: str) -> str:
    """Return the SVG of one badge: the label on grey, the value on blue."""
    left, right = (round(len(text) * _LETTER + _SPACE) for text in (label, value))
    texts = "".join(
        f'<text x="{x:g}" y="14" text-anchor="middle">{text}</text>'
        for x, text in ((left / 2, label), (left + right / 2, value))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f"<title>{label}: {value}</title>"
        f'<rect width="{left + right}" height="20" rx="4" fill="#1f6feb"/>'
        f'<path d="M4 0H{left}V20H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="#57606a"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for stem, content in badges().items():
        (FOLDER / f"{stem}.svg").write_text(content, encoding="utf-8")
