#!/bin/sh
# Services raise alerts; teams and people on call take those their rules accept; an escalation costs more than the first choice.
set -e

# Whom does each alert reach, cheapest way first? People are the nodes without outgoing edges.
heliograph route --nodes nodes.csv --edges edges.csv --events alerts.ndjson --subscribers-only --rank cost

# Nobody of the database team was woken by the nightly warning. Why?
heliograph explain route --nodes nodes.csv --edges edges.csv --events alerts.ndjson \
  --subscription ravi --publication a3

# What would change if the database team took warnings too?
heliograph route --nodes nodes.csv --edges edges.csv --events alerts.ndjson --what-if relaxed.csv

# Does every rule make sense, and can everybody be reached?
heliograph lint --nodes nodes.csv --edges edges.csv
