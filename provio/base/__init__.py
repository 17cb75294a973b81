"""What every other package uses: errors, the ontology's terms, Turtle, record classes, text, the terminal."""
