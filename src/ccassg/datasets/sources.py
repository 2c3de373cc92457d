"""List the public files of each dataset: name, address and hash.

A hash is ``sha256:`` of the content, or ``git:``, the id under which git stores it (sha1 of ``blob SIZE\\0`` and the
content), which is what the repository of the npz files vouches for.
"""

from dataclasses import dataclass

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
BENCHMARK_URL = "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz"


@dataclass(frozen=True)
class SourceFile:
    """One file: its path in a data folder, the address of the folder it comes from, and its hash."""

    path: str
    base_url: str
    digest: str

    @property
    def file_name(self) -> str:
        """Return the last part of the path, which is its name at the source."""
        return self.path.rsplit("/", 1)[-1]


def _planetoid(name: str, digests: dict[str, str]) -> tuple[SourceFile, ...]:
    return tuple(
        SourceFile(f"{name}/ind.{name}.{part}", PLANETOID_URL, f"sha256:{digest}") for part, digest in digests.items()
    )


def _benchmark(path: str, blob: str) -> tuple[SourceFile, ...]:
    return (SourceFile(path, BENCHMARK_URL, f"git:{blob}"),)


# Cora is not here: it is embedded in the package.
FILES: dict[str, tuple[SourceFile, ...]] = {
    "citeseer": _planetoid(
        "citeseer",
        {
            "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
            "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        },
    ),
    "pubmed": _planetoid(
        "pubmed",
        {
            "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        },
    ),
    "computers": _benchmark("amazon_electronics_computers.npz", "8120e4148a330b3fafe37c4476823302d9d834b9"),
    "photo": _benchmark("amazon_electronics_photo.npz", "97323743cb56aca9dd611f5b4b46862c1c9c6bd9"),
    "cs": _benchmark("ms_academic_cs.npz", "9bdd7da943d86b74297e8d32e99eb64245b52835"),
    "physics": _benchmark("ms_academic_phy.npz", "8d8bc12e29aa67f6753a712080eae81079bd7d01"),
}
