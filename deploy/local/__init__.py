"""Runs Makegood on one machine: private servers, the services, the sample remotes. For deploy/demo and the tests."""
