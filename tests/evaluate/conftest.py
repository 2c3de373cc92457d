import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Thousands of tiny parallel regions crawl on a busy machine; the numbers do not depend on threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
