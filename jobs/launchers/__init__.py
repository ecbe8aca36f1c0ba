"""Launchers: who starts ranks inside an allocation."""
