"""The method of `ccassg.model`, fast and large: the loop, the exact step, batches, shards, checkpoints."""
