"""Charts to files."""

import json
import re
import warnings
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from elmokit.errors import InputError, MissingExtraError
from elmokit.files import replacing_file, write_text
from elmokit.plots.style import FONT, Chart, altair

SUFFIXES = (".png", ".svg", ".html")
# Charts are measured in points, 72 of them an inch.
DOTS_PER_INCH = 200
# No font has this one: it is drawn as every letter is that the machine's fonts lack.
NO_LETTER = "\U000e1234"
PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<title>{title}</title>
<script>{program}</script>
</head>
<body>
<div id="picture"></div>
<script type="application/json" id="chart">{chart}</script>
<script>
const chart = JSON.parse(document.getElementById("chart").textContent);
const actions = {{export: true, source: false, compiled: false, editor: false}};
vegaEmbed("#picture", chart, {{actions}});
</script>
</body>
</html>
"""


def check_suffix(file: Path) -> None:
    """Refuse a name that says no format, before there is anything to save."""
    if file.suffix not in SUFFIXES:
        raise InputError(
            f"{file}: expected a name that ends in {', '.join(SUFFIXES[:-1])} or .html"
        )


def save(chart: Chart, file: str | Path) -> None:
    """Write a chart to a ``.png``, ``.svg`` or ``.html`` file; the suffix chooses.

    An HTML file holds the program that draws it and needs no network. In SVG and HTML text is text,
    drawn with the fonts of whoever looks at it; a PNG is drawn with this machine's fonts, and a
    warning tells when they lack a letter.
    """
    file = Path(file)
    check_suffix(file)
    altair()
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError("vl-convert-python", "viz", "saving a picture") from error
    specification = chart.to_dict()
    with replacing_file(file) as beside:
        if file.suffix == ".html":
            write_text(beside, _page(specification, vl_convert))
            return
        if file.suffix == ".svg":
            svg = vl_convert.vegalite_to_svg(specification, vl_version=_version())
            write_text(beside, _renumbered(svg))
            return
        _warn_of_missing_letters(specification, vl_convert)
        beside.write_bytes(
            vl_convert.vegalite_to_png(specification, vl_version=_version(), ppi=DOTS_PER_INCH)
        )


def _version() -> str:
    """Give the version of Vega-Lite that altair writes, as `v5.8`."""
    return ".".join(altair().SCHEMA_VERSION.split(".")[:2])


def _page(specification: dict[str, Any], vl_convert: Any) -> str:
    # With "<" written so, no text of the chart can end the script that it stands in.
    chart = json.dumps(specification, ensure_ascii=False).replace("<", "\\u003c")
    title = next(_titles(specification), "elmokit")
    program = vl_convert.javascript_bundle(vl_version=_version())
    return PAGE.format(title=escape(title), program=program, chart=chart)


def _titles(specification: dict[str, Any]) -> Iterator[str]:
    title = specification.get("title")
    text = title.get("text") if isinstance(title, dict) else title
    if isinstance(text, str) and text:
        yield text


def _renumbered(svg: str) -> str:
    """Count the names in an SVG from 0 on, so that the same chart is always the same file.

    Vega counts them over all charts of a process.
    """
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{numbers.setdefault(found[2] + found[3], len(numbers))}"

    return re.sub(r"""(id="|url\(#)(clip|gradient_)(\d+)""", number, svg)


def _warn_of_missing_letters(specification: dict[str, Any], vl_convert: Any) -> None:
    """Draw one letter of each script alone and see whether it comes out as no letter does."""
    text = json.dumps(specification, ensure_ascii=False)
    # Letters of 256 neighbouring numbers belong to one script and come with the same fonts.
    scripts = {
        ord(letter) >> 8: letter for letter in sorted(set(text), reverse=True) if letter.isalpha()
    }
    scripts.pop(0, None)
    unknown = _drawn(NO_LETTER, vl_convert) if scripts else b""
    missing = sorted(one for one in scripts.values() if _drawn(one, vl_convert) == unknown)
    if missing:
        warnings.warn(
            f"no font of this machine has {missing[0]!r}, so it is drawn as an empty box in a PNG: "
            "install a font (for Korean: fonts-noto-cjk), or save as SVG or HTML, which are drawn "
            "with the fonts of whoever looks at them",
            stacklevel=3,
        )


def _drawn(letter: str, vl_convert: Any) -> bytes:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30">'
        f'<text x="5" y="20" font-family="{FONT}">{letter}</text></svg>'
    )
    image: bytes = vl_convert.svg_to_png(svg)
    return image
