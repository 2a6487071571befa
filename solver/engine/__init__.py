"""The search engine: IDA* over pattern databases, in rounds of up to 64 nodes; start reading in `search`."""
