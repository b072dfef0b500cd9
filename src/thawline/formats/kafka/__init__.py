"""Kafka log segments."""
