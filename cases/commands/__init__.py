"""What the commands of all rooms share: how many processes to use, and telling progress."""
