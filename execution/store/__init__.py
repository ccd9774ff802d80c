"""All queries on the tables of runs; synchronous, each mutation one transaction."""
