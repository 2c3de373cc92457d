"""Table 2 of the paper: node classification on the three citation graphs, public splits."""

from ccassg.experiments import accuracy_table
from ccassg.experiments.published import CITATION

EXPERIMENT = accuracy_table.experiment(
    "Test accuracy (%) on citation graphs, public splits (Table 2)", CITATION, digits=1
)
