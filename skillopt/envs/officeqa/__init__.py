"""OfficeQA: figures and facts out of a shelf of treasury bulletins, found with tools of its own."""
