"""Examples of docs/how-to/testcontainers.md; that in Go is in ../go/testcontainers, that in Node.js in ../node."""
