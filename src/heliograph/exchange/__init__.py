"""The exchange in flat arrays: nodes and edges with their targeting, live changes, and versions that readers hold."""
