"""What people and scripts are shown of a study: rankings, matrices, summaries."""
