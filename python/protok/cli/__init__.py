"""The command line: one module for each verb, each a thin call of the package."""

from protok.cli.app import app, main

__all__ = ["app", "main"]
