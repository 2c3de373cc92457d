"""What training took, as the tables show it."""

from ccassg.experiments.records import Record

NOTE = (
    "Time: the shortest of the runs, training only. Memory: the highest resident memory of the process up to the end of "
    "training, of which Python and its libraries take about 0.4 GB."
)


def costs(done: list[Record]) -> dict[str, str]:
    """Trained values, time and memory of runs that differ in the seed only."""
    n_parameters = done[0]["result"]["n_parameters"]
    return {
        "parameters": f"{n_parameters / 1000:.0f}K" if n_parameters else "0",
        "time": f"{min(record['seconds']['fit'] for record in done):.1f} s",
        "memory": f"{max(record['result']['peak_memory_fit_bytes'] for record in done) / 1e9:.1f} GB",
    }
