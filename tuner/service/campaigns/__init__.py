"""Campaigns that people hand in: read, queued, started, and worked on by a process of their own."""
