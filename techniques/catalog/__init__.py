"""One module a family of techniques. Adding a file here is all it takes."""
