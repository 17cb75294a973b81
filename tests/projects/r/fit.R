# A straight line through the weights.
source("read.R")
rats <- read_rats("rats.csv")
fit <- lm(weight ~ dose, rats)
write.csv(round(coef(summary(fit)), 3), "fit.csv")
saveRDS(fit, "fit.rds")
