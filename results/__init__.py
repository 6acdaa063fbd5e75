"""Results: the record of a trial, the store of records, statistics, exports and reports."""
