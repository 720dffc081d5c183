"""Sphinx extension: the thumbnail of an example without a plot is what the example prints."""

from pathlib import Path

from markdown_pages import read, read_outputs
from matplotlib.figure import Figure
from sphinx.application import Sphinx

N_LINES, N_CHARACTERS = 8, 34


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", draw_thumbnails, priority=900)  # after sphinx-gallery
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw_thumbnails(app: Sphinx) -> None:
    folder = Path(app.srcdir, app.config.sphinx_gallery_conf["gallery_dirs"])
    for thumbnail in folder.glob("images/thumb/sphx_glr_*_thumb.png"):
        page = folder / f"{thumbnail.stem.removeprefix('sphx_glr_').removesuffix('_thumb')}.rst"
        if page.exists() and "image-sg::" not in read(page):
            draw("\n".join(read_outputs(page))).savefig(thumbnail)


def draw(text: str) -> Figure:
    lines = [line[:N_CHARACTERS] for line in text.splitlines() if line.strip()][:N_LINES]
    figure = Figure(figsize=(4, 2.8), dpi=100, facecolor="#f6f8fa")
    style = {"family": "monospace", "size": 13, "linespacing": 1.6, "color": "#24292f"}
    figure.text(0.04, 0.95, "\n".join(lines), va="top", parse_math=False, **style)
    return figure
