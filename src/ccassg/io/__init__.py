"""The user's own files in, embedding files out.

In: `graphs.read_graph` brings edges (`edges`), features (`features`, `encode`, `arrays`) and labels (`labels`) of files or
frames together; `store`, `manifest` and `storewriter` keep a graph in files that are read where they are touched; `open_graph` opens
whatever a name or a path stands for. Out: `embeddings` writes and reads embedding files (`embedding_formats`),
`labels` brings their labels along, `atomic` sees to it that a file is whole or not there, `seal` knows those that nobody changed.

All readers raise ValueError, one sentence with the file, the line or column and the way out, and nothing else. None loads
a pickle, follows an entity or a link, or lets a file grow beyond a bound (see `files`).
"""
