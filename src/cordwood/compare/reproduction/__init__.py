"""Reproduction of papers."""
