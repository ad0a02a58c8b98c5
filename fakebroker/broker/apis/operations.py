"""Which operations a client may do, as a bit field: bit n stands for operation n (AU-14).

MOCK: there is no authorizer, so all operations of the resource type are allowed.
"""

NOT_ASKED = -2147483648
CLUSTER = 8096  # CREATE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE
TOPIC = 3576  # READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS
