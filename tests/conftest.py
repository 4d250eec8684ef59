"""Fixtures that several modules share: the browser."""

pytest_plugins = ["browser"]
