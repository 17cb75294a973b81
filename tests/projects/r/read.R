read_rats <- function(file) read.csv(file)
