"""Apple BNNSGraph's gru."""
