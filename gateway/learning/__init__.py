"""What makes calls to learn how good answers are: beside the traffic, or from a file of prompts."""
