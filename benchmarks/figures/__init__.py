"""One file for each table or figure of the papers, for the peers and for growth; each has one `EXPERIMENT`."""
