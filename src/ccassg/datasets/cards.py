"""What is known about each dataset: origin, licence, citation and true counts.

The counts are those of the public files, asserted by the tests; several differ from the paper's table, whose figures
for the last four are stale and whose 8,451 features of Physics is a typo for 8,415.
"""

from ccassg.graph.dataset import Card

_PLANETOID = "https://github.com/kimiyoung/planetoid"
_BENCHMARK = "https://github.com/shchur/gnn-benchmark"
_YANG = "Yang, Cohen, Salakhutdinov: Revisiting Semi-Supervised Learning with Graph Embeddings, ICML 2016"
_SHCHUR = "Shchur, Mumme, Bojchevski, Günnemann: Pitfalls of Graph Neural Network Evaluation, arXiv:1811.05868, 2018"
_SEN = "Sen et al.: Collective Classification in Network Data, AI Magazine 29(3), 2008"
_MCAULEY = "McAuley, Targett, Shi, van den Hengel: Image-Based Recommendations on Styles and Substitutes, SIGIR 2015"
# Of the paper's linear evaluation (appendix, table "Details of hyper-parameters").
_PROBE = {"learning_rate": 1e-2, "weight_decay": 1e-4}
_RANDOM = "random, seeded: 10 % train, 10 % validation, 80 % test"

CARDS: dict[str, Card] = {
    "cora": Card(
        title="Cora",
        about="Machine learning papers; citations; which words occur (rows sum to 1); the paper's topic.",
        source=f"{_PLANETOID}; the copy in this package is made from graphdatascience 2.2, in Planetoid's node order",
        licence="Apache-2.0 (the copy in this package; Planetoid's files: MIT)",
        citation=f"{_SEN}; {_YANG}",
        split="public: 140 train (20 a class), 500 validation, 1000 test, the same for every seed",
        n_nodes=2_708,
        n_edges=10_556,
        n_features=1_433,
        n_entries=49_216,
        class_names=(
            "Theory",
            "Reinforcement_Learning",
            "Genetic_Algorithms",
            "Neural_Networks",
            "Probabilistic_Methods",
            "Case_Based",
            "Rule_Learning",
        ),
        probe=_PROBE,
    ),
    "citeseer": Card(
        title="Citeseer",
        about="Computer science papers; citations; which words occur (rows sum to 1); the paper's field.",
        source=_PLANETOID,
        licence="MIT",
        citation=f"{_SEN}; {_YANG}",
        split="public: 120 train (20 a class), 500 validation, 1000 test, the same for every seed",
        n_nodes=3_327,
        n_edges=9_104,
        n_features=3_703,
        n_entries=105_165,
        # The files have no names; the sizes of the classes, all different, identify them in the original data.
        class_names=("AI", "ML", "IR", "DB", "Agents", "HCI"),
        n_unlabelled=15,
        probe=_PROBE | {"weight_decay": 1e-2},
    ),
    "pubmed": Card(
        title="Pubmed",
        about="Medical papers on diabetes; citations; TF-IDF of words (rows sum to 1); the kind of diabetes.",
        source=_PLANETOID,
        licence="MIT",
        citation=f"{_SEN}; {_YANG}",
        split="public: 60 train (20 a class), 500 validation, 1000 test, the same for every seed",
        n_nodes=19_717,
        n_edges=88_648,
        n_features=500,
        n_entries=988_031,
        class_names=("Diabetes Mellitus Experimental", "Diabetes Mellitus Type 1", "Diabetes Mellitus Type 2"),
        probe=_PROBE,
    ),
    "computers": Card(
        title="Amazon Computers",
        about="Goods; bought together; words of the reviews (raw); the category.",
        source=_BENCHMARK,
        licence="MIT",
        citation=f"{_SHCHUR}; {_MCAULEY}",
        split=_RANDOM,
        n_nodes=13_752,
        n_edges=491_722,
        n_features=767,
        n_entries=3_675_081,
        class_names=(
            "Desktops",
            "Data Storage",
            "Laptops",
            "Monitors",
            "Computer Components",
            "Video Projectors",
            "Routers",
            "Tablets",
            "Networking Products",
            "Webcams",
        ),
        probe=_PROBE,
    ),
    "photo": Card(
        title="Amazon Photo",
        about="Goods; bought together; words of the reviews (raw); the category.",
        source=_BENCHMARK,
        licence="MIT",
        citation=f"{_SHCHUR}; {_MCAULEY}",
        split=_RANDOM,
        n_nodes=7_650,
        n_edges=238_162,
        n_features=745,
        n_entries=1_979_909,
        class_names=(
            "Film Photography",
            "Digital Cameras",
            "Binoculars & Scopes",
            "Lenses",
            "Tripods & Monopods",
            "Video Surveillance",
            "Lighting & Studio",
            "Flashes",
        ),
        probe=_PROBE,
    ),
    "cs": Card(
        title="Coauthor CS",
        about="Computer scientists; wrote together; keywords of their papers (raw counts); the most active field.",
        source=_BENCHMARK,
        licence="MIT",
        citation=f"{_SHCHUR}; Microsoft Academic Graph, KDD Cup 2016",
        split=_RANDOM,
        n_nodes=18_333,
        n_edges=163_788,
        n_features=6_805,
        n_entries=1_092_079,
        class_names=(
            "bioinformatics",
            "machine_learning",
            "computer_vision",
            "NLP",
            "graphics",
            "networks",
            "security",
            "databases",
            "data_mining",
            "game_theory",
            "HCI",
            "information_theory",
            "medical_informatics",
            "robotics",
            "theoretical_cs",
        ),
        probe=_PROBE | {"learning_rate": 5e-3},
    ),
    "physics": Card(
        title="Coauthor Physics",
        about="Physicists; wrote together; keywords of their papers (raw counts); the most active field.",
        source=_BENCHMARK,
        licence="MIT",
        citation=f"{_SHCHUR}; Microsoft Academic Graph, KDD Cup 2016",
        split=_RANDOM,
        n_nodes=34_493,
        n_edges=495_924,
        n_features=8_415,
        n_entries=1_137_311,
        class_names=("phys rev d", "phys rev a", "phys rev b", "phys rev c", "phys rev e"),
        probe=_PROBE | {"learning_rate": 5e-3},
    ),
}

DATASETS: tuple[str, ...] = tuple(CARDS)
