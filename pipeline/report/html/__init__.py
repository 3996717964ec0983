"""The report as a web page that opens from disk: figures, plots and an article browser, without network."""

from pipeline.report.html.write import explain_html, write_html

__all__ = ["explain_html", "write_html"]
