"""The benchmark `own`: anybody's examples, scored by name, without adapter code."""
