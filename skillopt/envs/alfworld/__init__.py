"""ALFWorld: household tasks played as text games in TextWorld."""
