"""What people ask of hpltune: a record for each command that can be handed in to a service, each option once."""
