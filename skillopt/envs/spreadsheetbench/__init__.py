"""SpreadsheetBench: requests from forums about workbooks, answered with a script that edits them."""
