"""The user's own files in, embedding files out.

In: `graphs.open_graph` opens whatever a name or a path stands for. `graphs.read_graph` brings edges (`edges`, `objects`), features
(`features`, `encode`, `blocks`) and labels (`labels`) together by their ids (`ids`, `matching`). What they read are tables
(`tables`, `open_table`, `text`, `parquet`), matrices (`arrays`, `matrix_market`) and files of graphs (`graphml`, `gml`, `h5ad`).
`store`, `manifest` and `storewriter` keep a graph in files that are read where they are touched.

Out: `embeddings` writes and reads embedding files (`embedding_formats`), `results` brings what else is known of their nodes. `atomic`
sees to it that a file is whole or not there and knows those that nobody changed, `folders` does so for files that belong together.

All readers raise ValueError, one sentence with the file, the line or column and the way out, and nothing else. None loads
a pickle, follows an entity or a link, or lets a file grow beyond a bound (see `files`).
"""
