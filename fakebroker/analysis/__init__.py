"""Tables and answers from journals and `__consumer_offsets`: the pipeline, histories, what-ifs, campaigns.

Imports `protocol`, `client`, `testing` and `scenarios`, never `broker`; nothing but `cli` imports it. Needs the extra
`history`, Spark the extra `spark`. Begin with `pipeline/build.py` and a table such as `pipeline/tables/commits.py`.
"""
