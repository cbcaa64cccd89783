"""Results as one page that needs nothing else: values first, then one template."""

from __future__ import annotations

from bench.page.files import write_page
from bench.page.html import as_html

__all__ = ["as_html", "write_page"]
