"""Quotas on the way of requests and connections."""
