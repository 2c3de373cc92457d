"""The user's own files and objects in, embedding files out.

In: `graphs.read_graph` brings edges (`edges`), features (`features`, `encode`, `arrays`) and labels (`labels`) of a user's files
together; `objects` and `pyg` take what lives in memory; `structural` makes features where there are none. Out:
`embeddings` writes and reads embedding files, `atomic` sees to it that a file is whole or not there. `search` finds
nearest nodes.

All readers raise ValueError, one sentence with the file, the line or column and the way out, and nothing else. None loads
a pickle, follows an entity or a link, or lets a file grow beyond a bound (see `files`).
"""
