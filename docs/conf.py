"""How Sphinx builds the pages of this folder: ``make docs``."""

import sys
from pathlib import Path

from hindmost import __version__

sys.path.insert(0, str(Path(__file__).parent / "_sphinx"))

project = "hindmost"
author = "the hindmost developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "from_code",
]
exclude_patterns = ["_sphinx", "records"]
# Types in docstrings are prose, such as "float64 array, seconds"; its words are no references.
suppress_warnings = ["ref.python"]

myst_heading_anchors = 4
highlight_language = "none"
copybutton_exclude = ".linenos, .gp, .go"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"hindmost {release}"
html_static_path = ["_sphinx/static"]
html_css_files = ["hindmost.css"]
html_copy_source = False
html_show_sphinx = False
