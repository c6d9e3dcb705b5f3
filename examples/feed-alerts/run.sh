#!/bin/sh
# A newsroom follows three feeds. Each editor has left one standing query in queries/; desks.csv says which desk covers what.
set -e

# Who should hear of what? One notification for each query and item that match, with one binding as evidence.
heliograph filter --subscriptions queries --publications feeds --taxonomy desks.csv --bindings 1

# The flood query stayed silent on the harbour story. Why?
heliograph explain filter --subscriptions queries --publications feeds --taxonomy desks.csv \
  --subscription floods --publication http://news.example.org/harbour

# More queries are wanted. Are they sound, beside those that stand already and with what the feeds bring?
heliograph lint --subscriptions '*/*.rq' --taxonomy desks.csv --sample feeds
