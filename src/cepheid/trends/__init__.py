"""Statistics over all matches under `subsets` without listing them, and diagrams of such matches."""
