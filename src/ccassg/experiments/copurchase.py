"""Table 3 of the paper: node classification on co-purchase and co-author graphs, a random split per run."""

from ccassg.experiments import accuracy_table
from ccassg.experiments.published import COPURCHASE

EXPERIMENT = accuracy_table.experiment(
    "Test accuracy (%) on co-purchase and co-author graphs, random splits (Table 3)", COPURCHASE, digits=2
)
