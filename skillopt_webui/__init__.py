"""The dashboard: a reader of run directories in the browser. It shows any run, live or finished, however it started."""
