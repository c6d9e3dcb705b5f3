"""Money that comes back to where it started, and accounts that share a device, within seven days.

Payments and log-ins arrive as updates with their times. Edges older than seven days are forgotten, so a ring counts
only if it closes in time. Run in this folder: python run.py
"""

from __future__ import annotations

from heliograph import Watch


def main() -> None:
    watch = Watch(window="7d", witness=True)
    watch.subscribe("rings.csv")
    for alarm in watch.publish("payments.csv"):
        sign = "ALARM " if alarm.change == "+" else "passed"
        edges = ", ".join(" ".join(edge) for edge in alarm.proof.get("edges", ()))
        print(f"{alarm.at:%d %b}  {sign}  {alarm.subscription_id:<14} update {alarm.publication_id:>2}  {edges}")
    print(watch.explain("ring of three"))


if __name__ == "__main__":
    main()
