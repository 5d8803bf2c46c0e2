# Walks a dataset: Rscript walk.R DATASET SQL SAMPLE. Prints one line of JSON for each thing that the library gives. The bridge,
# taco_studio_r.so, is beside this file.
arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 3) stop("usage: Rscript walk.R DATASET SQL SAMPLE")
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE, fixed = TRUE), fixed = TRUE))
source(file.path(here, "taco_studio.R"))
taco_load(file.path(here, "taco_studio_r.so"))
show <- function(...) cat(json_of(list(...)), "\n", sep = "")

dataset <- taco_open(arguments[1])
show(version = taco_version(), levels = taco_levels(dataset), title = taco_describe(dataset)$collection$title)

show_columns <- function(from, table) {
  for (name in names(table)) {
    values <- table[[name]]
    if (inherits(values, "POSIXct")) values <- as.numeric(values)
    show(from = from, column = name, class = class(table[[name]])[1], values = as.list(values))
  }
}
show_columns("table", taco_table(dataset))
show_columns("query", taco_query(dataset, arguments[2]))

show(roots = as.list(taco_children(dataset)$id))
bytes <- taco_read(dataset, arguments[3])
show(size = length(bytes), sum = sum(as.integer(bytes)), path = taco_gdal_path(dataset, arguments[3]))
pixels <- taco_pixels(dataset, arguments[3], window = c(1, 0, 3, 2))
last <- pixels[, , dim(pixels)[3]]
show(shape = as.list(dim(pixels)), type = typeof(pixels), last_band = list(last[1, ], last[2, ]))

report <- taco_operate("validate", list(input = arguments[1], deep = TRUE))
show(sound = report$sound, summary = report$summary, findings = length(report$output$findings))
show(operations = as.list(vapply(taco_operations(), function(operation) operation$name, "")))

# What fails says why.
show_failure <- function(error) {
  text <- conditionMessage(error)
  show(class = as.list(class(error)[1:2]), kind = error$kind, message = text, place = error$place, hints = as.list(error$hints))
}
tryCatch(taco_open("none.tacozip"), taco_error = show_failure)
tryCatch(taco_query(dataset, "SELECT no_such_column FROM data"), taco_usage = show_failure)
tryCatch(taco_table(dataset, 9), taco_error = show_failure)
taco_close(dataset)
tryCatch(taco_levels(dataset), error = function(error) show(closed = conditionMessage(error)))
