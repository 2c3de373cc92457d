"""The method of `ccassg.model`, fast and large.

`settings` and `loop` are the way in. A step needs two views, of the whole graph (`views`), of a batch (`batches`) or of a
shard (`shards`), and computes loss and gradients from them (`step`, of which `products` is the first layer and `head` the
last, in the memory of `buffers`). `embedding` applies what was trained.
"""
