"""The report on a tested model: one page that needs no network."""

from .explored_image import pack_image
from .page import Page, render_page
from .paper_figures import draw_paper_figures

__all__ = [
    'Page',
    'draw_paper_figures',
    'pack_image',
    'render_page',
]
