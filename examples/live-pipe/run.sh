#!/bin/sh
# Sensors report; a query stands over the latest readings. Notifications appear while the stream is still running.
set -e
python3 sensors.py | heliograph watch --subscriptions rooms.csv --updates - --mode change
