"""The worker's Python side: runs a user's model.py and describes it. src/reference calls it."""
