COLOUR = "grey"
