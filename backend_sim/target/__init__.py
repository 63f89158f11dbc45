"""The machine as data and formulas: description, topology, routes, costs. All that a compiler may know of the simulator."""
