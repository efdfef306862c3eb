"""What makes a process of the service: who asked what of whom, its log, and when it ends."""
