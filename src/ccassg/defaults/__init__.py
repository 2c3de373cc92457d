"""What a fit does when nothing is named: settings chosen from the graph, without labels."""
