"""What `thresher bench` measures."""
