"""A public address through gradio's tunnel, loaded only for `--share`; it asks for the token like any other."""

from __future__ import annotations

import secrets

from skillopt.errors import ConfigError


def open_tunnel(port: int) -> str:
    """The public address of a local port."""
    try:
        from gradio.networking import setup_tunnel  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ConfigError('--share needs gradio\'s tunnel: pip install "skillopt[share]"') from error
    address = setup_tunnel("127.0.0.1", port, secrets.token_urlsafe(32), None, None)
    return str(address)
