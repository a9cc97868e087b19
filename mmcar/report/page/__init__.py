"""The report on a tested model: one page that needs no network."""

from .explored_image import pack_image
from .page import Page, draw_paper_figures, render_page
