"""The extremes of each station, from the database."""
import sqlite3

with sqlite3.connect("obs.db") as db:
    rows = db.execute("SELECT station, min(value), max(value) FROM obs GROUP BY station ORDER BY station").fetchall()
with open("report.txt", "w") as out:
    for station, low, high in rows:
        print(station, low, high, file=out)
