"""What every trace must be, checked event by event."""

from __future__ import annotations

from typing import Any


def check_structure(found: dict[str, Any]) -> None:
    """What the format wants of each event: names of every process and thread once, complete events that follow each
    other on a thread, counters in the order of time."""
    names: dict[tuple[str, int, int], str] = {}
    threads: set[int] = set()
    orders: set[tuple[str, int, int]] = set()
    ends: dict[tuple[int, int], float] = {}
    counted: dict[tuple[int, str], float] = {}
    for event in found["traceEvents"]:
        where = event["pid"], event.get("tid", 0)
        assert event["pid"] > 0
        match event["ph"]:
            case "M" if event["name"].endswith("_name"):
                key = (event["name"], *where)
                if key[0] == "thread_name":  # Perfetto would take it for the main thread and show it first
                    assert where[1] not in threads and where[1] != where[0]
                    threads.add(where[1])
                assert key not in names and event["args"]["name"]
                names[key] = event["args"]["name"]
            case "M":
                assert event["name"] in ("process_sort_index", "thread_sort_index")
                orders.add((event["name"].replace("sort_index", "name"), *where))
                assert isinstance(event["args"]["sort_index"], int)
            case "X":
                assert ("process_name", where[0], 0) in names and ("thread_name", *where) in names
                assert event["name"] and event["cat"] and event["dur"] >= 0
                # In picoseconds: the format's microseconds are no exact numbers.
                start, end = round(event["ts"] * 1e6), round((event["ts"] + event["dur"]) * 1e6)
                assert start >= ends.get(where, 0.0)
                assert 0 < event["args"]["dur_ps"] <= end - start
                ends[where] = end
            case "C":
                assert ("process_name", where[0], 0) in names
                assert event["ts"] > counted.get((event["pid"], event["name"]), -1.0)
                assert 0 <= event["args"]["busy"] <= 100
                counted[event["pid"], event["name"]] = event["ts"]
            case other:
                raise AssertionError(f"no event of this trace is {other}")
    assert orders == set(names)


def busy_by_engine(found: dict[str, Any]) -> dict[str, float]:
    """The ns of all slices of each engine, of `noc` those of all links."""
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in found["traceEvents"] if "name" in e["args"]}
    busy: dict[str, float] = {}
    for event in found["traceEvents"]:
        if event["ph"] == "X":
            links = names["process_name", event["pid"], 0].endswith("links")
            engine = "noc" if links else names["thread_name", event["pid"], event["tid"]]
            busy[engine] = busy.get(engine, 0.0) + event["dur"] * 1000
    return busy
