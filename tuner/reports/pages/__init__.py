"""What pages say beside the parts that a terminal shows too."""
