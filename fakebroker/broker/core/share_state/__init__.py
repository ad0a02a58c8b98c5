"""The share coordinator (KIP-932): what is stored of share partitions, in `__share_group_state`."""
