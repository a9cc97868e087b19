"""The site that `make docs` builds: guides and API reference."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mmcar.version import __version__  # noqa: E402

project = 'mmcar'
author = 'The mmcar contributors'
copyright = author
version = release = __version__

extensions = [
    'myst_parser',
    'sphinx.ext.apidoc',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx.ext.viewcode',
]
# The repository is the source, so that links between pages are the same on
# the site as in the repository.
root_doc = 'docs/index'
include_patterns = [
    '*.md',
    'docs/**',
    'configs/*/README.md',
    'demo/README.md',
    'projects/*/*.md',
]
myst_heading_anchors = 4

apidoc_modules = [
    dict(
        path='../mmcar',
        destination='docs/api',
        module_first=True,
        separate_modules=True,
        automodule_options={'members', 'show-inheritance'},
    )
]
# A part is described where it is defined, not where it is exported again.
autodoc_default_options = {'ignore-module-all': True}
autodoc_typehints = 'description'
autodoc_typehints_description_target = 'documented'
autodoc_member_order = 'bysource'
napoleon_custom_sections = ['Shape']
napoleon_use_ivar = True
html_theme = 'furo'
# From disk, a browser may not fetch other pages for excerpts.
html_show_search_summary = False
# Else values of built-in types have links to a page that is not there.
viewcode_follow_imported_members = False
html_title = f'mmcar {release}'
# Pages keep the repository's paths; this leads to the first from the top.
html_extra_path = ['redirect']
