"""How Sphinx builds the site. `make docs` calls it by benchmarks/docs_site.py, which puts the pages together first."""

project = "maskbench"
author = copyright = "The maskbench authors"
html_title = "maskbench"
language = "en"
smartquotes = False  # `--out` stays as it is typed

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["conf.py", "extra"]

# Pages link to each other's headings as GitHub names them.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Docstrings are plain sentences; what stands between backticks in them is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_display_short_literal_types = True
python_maximum_signature_line_length = 88

# Nothing is fetched: furo brings its own styles and uses the reader's fonts.
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_extra_path = ["extra"]  # a report, which is a page already
html_static_path = ["site.css"]
html_css_files = ["site.css"]
