"""Agent programs (Codex, Claude Code, Copilot) as targets: one `CliAgent`, and one small file for each program."""
