"""Pages as pure functions: what was read of a run goes in, what a template shows comes out."""
