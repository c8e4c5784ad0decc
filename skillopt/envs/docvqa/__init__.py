"""DocVQA: questions about scanned pages, answered with the text that stands on them."""
