"""Published data become split directories here: one small module per benchmark, and shared reading and writing."""
