"""Share partitions on the leader (KIP-932): what a share group has acquired, acknowledged and given up of a log."""
