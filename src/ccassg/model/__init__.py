"""The paper and nothing else: two views, one encoder, one loss; `algorithm` is Algorithm 1 line by line."""
