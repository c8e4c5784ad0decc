"""What the dashboard knows of runs: journals followed by byte offset, and where each attempt lies in them."""
