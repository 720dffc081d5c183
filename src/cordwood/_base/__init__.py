"""What every package uses: validation, sparse matrices, labels, files and display."""
