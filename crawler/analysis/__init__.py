"""What is read out of a finished or running crawl, or out of logs, for the commands that analyse."""
