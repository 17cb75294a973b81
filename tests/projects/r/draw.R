# The line and the points.
fit <- readRDS("fit.rds")
pdf("fit.pdf")
plot(fit$model$dose, fit$model$weight)
abline(fit)
invisible(dev.off())
