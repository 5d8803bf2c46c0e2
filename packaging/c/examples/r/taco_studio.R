# TACO datasets in R, through the C library: source this file, then taco_load() the bridge (taco_studio_r.c says how it is compiled). Needs
# the package jsonlite. Levels and rows count from 0, as in TACO.

# Loads the compiled bridge.
taco_load <- function(bridge) invisible(dyn.load(bridge))

# Calls the bridge. An error of the library is a condition of the class taco_error, with its kind, place and hints.
taco_call <- function(name, ...) {
  tryCatch(.Call(name, ..., PACKAGE = "taco_studio_r"), error = function(failed) {
    error <- tryCatch(jsonlite::fromJSON(conditionMessage(failed)), error = function(other) NULL)
    if (!is.list(error)) stop(failed)
    fields <- list(message = error$message, call = NULL, kind = error$kind, place = error$place, hints = error$hints)
    stop(structure(fields, class = c("taco_error", "error", "condition")))
  })
}

taco_json <- function(value) {
  if (is.null(value)) return(NULL)
  as.character(jsonlite::toJSON(value, auto_unbox = TRUE, null = "null", digits = NA))
}

taco_version <- function() taco_call("r_version")

# Opens the dataset at a path or an address. `options` is a list: base_path, with, mode.
taco_open <- function(path, options = NULL) taco_call("r_open", path, taco_json(options))

# Closes a dataset. One that nothing refers to is closed by R.
taco_close <- function(dataset) invisible(taco_call("r_close", dataset))

# Path, format, levels with their columns, collection and notes, as a list.
taco_describe <- function(dataset) jsonlite::fromJSON(taco_call("r_describe", dataset), simplifyVector = FALSE)

# Names the columns that a data frame does not have.
taco_frame <- function(frame) {
  left_out <- attr(frame, "left_out")
  attr(frame, "left_out") <- NULL
  if (length(left_out) > 0) message("columns of types that R has not: ", paste(left_out, collapse = ", "))
  frame
}

# The table of a level as a data frame. Integers that a double does not hold are texts; columns of lists, structs, bytes, decimal numbers
# and intervals are left out, which a message says.
taco_table <- function(dataset, level = 0) taco_frame(taco_call("r_table", dataset, as.numeric(level)))

# The rows of a statement over the tables data, level0, level1, … as a data frame; `...`: filters, steps, limit.
taco_query <- function(dataset, sql, ...) taco_frame(taco_call("r_query", dataset, taco_json(list(sql = sql, ...))))

# The sample at ids or positions from level 0: "roi_0007/s2/t02", "#7/#0". A sample is its level and its row.
taco_find <- function(dataset, path) taco_call("r_find", dataset, path)

# The samples of level 0, or of a FOLDER, as a list, without padding.
taco_children <- function(dataset, folder = NULL) taco_call("r_children", dataset, folder)

taco_id <- function(dataset, sample) taco_call("r_id", dataset, sample)

taco_is_folder <- function(dataset, sample) taco_call("r_is_folder", dataset, sample)

# The path by which GDAL reads a sample: for terra and stars.
taco_gdal_path <- function(dataset, sample) taco_call("r_gdal_path", dataset, sample)

# The bytes of a FILE.
taco_read <- function(dataset, sample) taco_call("r_read", dataset, sample)

# Pixels of the raster in a FILE, as an array of rows, columns and bands; NA where it has no data. bands: numbers from 1; window: first
# column, first row, columns, rows, from 0; size: columns, rows; resampling: "auto", "nearest", "average".
taco_pixels <- function(dataset, sample, bands = NULL, window = NULL, size = NULL, resampling = NULL) {
  request <- list(bands = as.list(bands), window = window, size = size, resampling = resampling)
  request <- request[lengths(request) > 0]
  taco_call("r_pixels", dataset, sample, if (length(request) > 0) taco_json(request))
}

# Name, purpose and request (JSON Schema) of each operation.
taco_operations <- function() jsonlite::fromJSON(taco_call("r_operations"), simplifyVector = FALSE)

# Runs an operation by name: taco_operate("validate", input = "a.tacozip"). Gives summary, sound and output.
taco_operate <- function(name, ...) {
  request <- list(...)
  request <- if (length(request) > 0) taco_json(request) else "{}"
  jsonlite::fromJSON(taco_call("r_operate", name, request), simplifyVector = FALSE)
}

# Lets operations start the programs that their requests name.
taco_allow_programs <- function() invisible(taco_call("r_allow_programs"))

# Lets operations write to other machines.
taco_allow_connect <- function() invisible(taco_call("r_allow_connect"))
