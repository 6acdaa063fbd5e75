"""The first page: machines, the queue, and all campaigns; and campaigns compared."""
