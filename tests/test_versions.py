import importlib.metadata

from ccassg.versions import versions


def test_versions_name_what_changes_results(monkeypatch):
    found = versions()
    assert found["python"].split(".")[0] == "3"
    assert {"ccassg", "torch", "numpy", "pyarrow"} <= set(found)
    assert found["numpy"] == importlib.metadata.version("numpy")


def test_what_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr("ccassg.versions.PACKAGES", ("ccassg", "no-such-package"))
    assert set(versions()) == {"python", "ccassg"}
