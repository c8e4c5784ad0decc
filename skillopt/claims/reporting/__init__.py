"""The report of a finished run: one content, written as a self-contained HTML page or as Markdown."""
