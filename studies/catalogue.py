"""The studies whose runs are recorded in results/, by name."""

from ccassg.experiments import Experiment
from studies import baseline_details, batches, default_settings, details, fast_presets, label_free, links

STUDIES: dict[str, Experiment] = {
    "label-free": label_free.STUDY,
    "default-settings": default_settings.STUDY,
    "details": details.STUDY,
    "baseline-details": baseline_details.STUDY,
    "fast-presets": fast_presets.STUDY,
    "batches": batches.STUDY,
    "links": links.STUDY,
}
