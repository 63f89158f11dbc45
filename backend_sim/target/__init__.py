"""The machine as the compiler may know it: description, graph, routes, closed-form times and command costs."""
