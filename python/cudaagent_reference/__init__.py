"""The worker's Python side: runs a user's model.py and describes it. Called by src/reference only."""
