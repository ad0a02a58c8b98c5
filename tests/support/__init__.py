"""What tests of several layers share: clusters and engines whose time is driven, requests, parked answers, chance."""
