"""How subscriptions are divided: containment, merging, plans."""
