"""Configuration of the documentation site: python dev.py docs."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import cordwood

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

project = "cordwood"
author = "The cordwood authors"
copyright = author
version = release = cordwood.__version__

extensions = [
    "docstring_underscores",
    "markdown_pages",
    "mathml",
    "myst_parser",
    "numpydoc",
    "output_thumbnails",
    "root_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_extensions", "gallery/*.html", "examples/*.ipynb", "examples/*.py"]
templates_path = ["_templates"]

# Names in single backticks are links where such a name exists, as in scikit-learn.
default_role = "py:obj"
highlight_language = "none"  # blocks without a language are output and commands
smartquotes = False  # quotes belong to values, such as default="quick"
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings state the types
autosummary_generate = True
numpydoc_show_class_members = False  # the template of a class lists them
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"/serving/",
    "within_subsection_order": "example_order.position",
    "parallel": True,  # with the option -j of sphinx-build
    "doc_module": ("cordwood",),
    "backreferences_dir": "examples/used",
    "download_all_examples": False,
    "copyfile_regex": "",
    "show_signature": False,
    "min_reported_time": 1e9,  # times depend on the computer
    "write_computation_times": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"cordwood {version}"
html_static_path = ["_static", "pictures"]
html_css_files = ["cordwood.css"]
html_copy_source = False  # the pages are copied as Markdown
html_theme_options: dict[str, Any] = {
    "logo": {"text": "cordwood"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}
# A site with several versions: its address, below which each version has a folder, and the list of
# the versions in `switcher.json` there.
if address := os.environ.get("CORDWOOD_DOCS_URL"):
    html_baseurl = f"{address}/{version}/"
    html_theme_options["switcher"] = {
        "json_url": f"{address}/switcher.json",
        "version_match": version,
    }
    html_theme_options["check_switcher"] = False
    html_theme_options["header_links_before_dropdown"] = 4  # in one line
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher"]

linkcheck_timeout = 20
linkcheck_ignore = [r"https?://(localhost|127\.0\.0\.1)", re.escape("https://example.")]
