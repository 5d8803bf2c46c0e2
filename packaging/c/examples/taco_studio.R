# Taco Studio for R, by the C library: functions over the bridge taco_studio_r.c, without other packages.
#
#   PKG_CPPFLAGS=-I../include PKG_LIBS="-L/path/of/the/library -ltaco_studio_c -Wl,-rpath,/path/of/the/library" R CMD SHLIB taco_studio_r.c
#
#   source("taco_studio.R")
#   taco_load("taco_studio_r.so")
#   dataset <- taco_open("made/sample.tacozip")
#   taco_query(dataset, "SELECT id, cloud_cover FROM data WHERE cloud_cover < 10")
#   image(taco_pixels(dataset, "danube_0001/after.tif", bands = 1, size = c(64, 64))[, , 1])
#   taco_operate("validate", list(input = "made/sample.tacozip", deep = TRUE))$summary
#
# A failure is a condition of the class taco_error, and of taco_KIND (taco_usage, taco_io, ...), with the fields kind, place and hints.
# Nothing works in a forked process: not in workers of parallel::mclapply, but in those of parallel::makePSOCKcluster.

# Loads the bridge that R CMD SHLIB made.
taco_load <- function(bridge = "taco_studio_r.so") invisible(dyn.load(bridge))

# The version of the library.
taco_version <- function() call_bridge("call_version")

# Opens the dataset at a path or an address (https://..., s3://...). `options` is a list: base_path, with, mode.
taco_open <- function(path, options = NULL) {
  dataset <- call_bridge("call_open", path, to_json(options))
  class(dataset) <- "taco_dataset"
  dataset
}

# Closes a dataset. One that nothing refers to is closed by R.
taco_close <- function(dataset) invisible(call_bridge("call_close", dataset))

# Path, format, levels with their columns, collection and notes, as a list.
taco_describe <- function(dataset) from_json(call_bridge("call_describe", dataset))

# Number of levels.
taco_levels <- function(dataset) call_bridge("call_levels", dataset)

# The table of a level, from 0, as a data.frame. Dates are Date, times POSIXct (UTC), bytes lists of raw; NULL is NA. 64-bit integers are
# numbers where these have all of a column exactly, else texts. A message names the columns that are left out: lists, structs, decimals.
taco_table <- function(dataset, level = 0) data_frame(call_bridge("call_table", dataset, level))

# The rows of a statement of SQL over the tables data, level0, level1, ... as a data.frame, as taco_table does. Further fields of a query
# are arguments: filters, steps, limit. A list becomes numbers or a text by SQL: tensor_shape[1], array_to_string(tensor_shape, ',').
taco_query <- function(dataset, sql = NULL, ...) {
  fields <- list(...)
  if (!is.null(sql)) fields$sql <- sql
  data_frame(call_bridge("call_query", dataset, to_json(fields)))
}

# Ids of the samples in a FOLDER, or of level 0, and whether each is a FOLDER, as a data.frame.
taco_children <- function(dataset, folder = NULL) {
  children <- call_bridge("call_children", dataset, folder)
  data.frame(id = children[[1]], folder = children[[2]])
}

# The path by which GDAL, and so the packages terra and sf, read a sample. `sample` is ids or positions from level 0: "roi_0007/s2/t02".
taco_gdal_path <- function(dataset, sample) call_bridge("call_gdal_path", dataset, sample)

# The bytes of a FILE as a raw vector, whose checksum is compared where the container has one.
taco_read <- function(dataset, sample) call_bridge("call_read", dataset, sample)

# Pixels of a raster as an array of rows x columns x bands, NA where it has no data. `bands` are numbers from 1; `window` is first column
# and first row from 0, columns, rows; `size` is columns and rows of the result; `resampling` is auto, nearest or average.
taco_pixels <- function(dataset, sample, bands = NULL, window = NULL, size = NULL, resampling = NULL) {
  request <- list(bands = as_array(bands), window = as_array(window), size = as_array(size), resampling = resampling)
  call_bridge("call_pixels", dataset, sample, to_json(Filter(Negate(is.null), request)))
}

# Name, purpose and request (JSON Schema) of each operation, as a list.
taco_operations <- function() from_json(call_bridge("call_operations"))

# Runs an operation by name; gives a list: summary, sound, output. `request` is a list or a text of JSON. In a list a vector of one value
# is a value; a JSON array of one value is list(value).
taco_operate <- function(name, request = list()) from_json(call_bridge("call_operate", name, to_json(request)))

# Lets operations start the programs that their requests name; lets them write to other machines.
taco_allow_programs <- function() invisible(call_bridge("call_allow_programs"))
taco_allow_connect <- function() invisible(call_bridge("call_allow_connect"))

# --- between R and the bridge ---

call_bridge <- function(name, ...) {
  answer <- .Call(name, ..., PACKAGE = "taco_studio_r")
  if (inherits(answer, "taco_failure")) stop(as_condition(answer, sys.call(-1)))
  answer
}

as_condition <- function(failure, call) {
  reason <- from_json(unclass(failure))
  hints <- as.character(reason$hints)
  text <- paste(c(reason$message, sprintf("try: %s", hints)), collapse = "\n  ")
  structure(
    class = c(paste0("taco_", reason$kind), "taco_error", "error", "condition"),
    list(message = text, call = call, kind = reason$kind, place = reason$place, hints = hints)
  )
}

data_frame <- function(columns) {
  left_out <- attr(columns, "left_out")
  if (length(left_out) > 0) message("left out: ", paste(left_out, collapse = ", "))
  rows <- .set_row_names(attr(columns, "rows"))
  structure(columns, left_out = NULL, rows = NULL, row.names = rows, class = "data.frame")
}

as_array <- function(values) if (is.null(values)) NULL else as.list(values)

# --- JSON ---

# A value as JSON: lists with names are objects, other lists and vectors of several values arrays, NA is null. One text inside a request is
# a text; a text in the place of a whole request is JSON already.
to_json <- function(request) {
  if (is.null(request)) return(NULL)
  if (is.character(request)) return(request)
  if (length(request) == 0) return("{}")
  json_of(request)
}

json_of <- function(value) {
  if (is.null(value)) return("null")
  if (is.raw(value)) value <- as.integer(value)
  if (inherits(value, c("Date", "factor"))) value <- as.character(value)
  if (is.list(value) || length(value) != 1) {
    items <- vapply(value, json_of, "", USE.NAMES = FALSE)
    if (is.null(names(value))) return(paste0("[", paste(items, collapse = ","), "]"))
    return(paste0("{", paste0(quote_json(names(value)), ":", items, collapse = ","), "}"))
  }
  if (is.na(value) || (is.numeric(value) && !is.finite(value))) return("null")
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) return(number_json(as.numeric(value)))
  quote_json(value)
}

number_json <- function(number) {
  if (number == round(number) && abs(number) <= 2^53) return(sprintf("%.0f", number))
  short <- sprintf("%.15g", number)
  if (as.numeric(short) == number) short else sprintf("%.17g", number)
}

quote_json <- function(texts) {
  texts <- gsub('(["\\\\])', "\\\\\\1", enc2utf8(texts))
  for (code in which(vapply(1:31, function(code) any(grepl(intToUtf8(code), texts, fixed = TRUE)), NA)))
    texts <- gsub(intToUtf8(code), sprintf("\\u%04x", code), texts, fixed = TRUE)
  paste0('"', texts, '"')
}

# A text of JSON as lists; an array of texts, of numbers or of booleans is a vector. Integers beyond 2^53 are texts.
from_json <- function(text) {
  pattern <- '"(?:[^"\\\\]++|\\\\.)*+"|[\\[\\]{}:,]|[^\\s\\[\\]{}:,"]++'
  # By bytes, as places in texts that are not ASCII are found by counting from the start.
  tokens <- regmatches(text, gregexpr(pattern, text, perl = TRUE, useBytes = TRUE))[[1]]
  Encoding(tokens) <- "UTF-8"
  at <- 0
  take <- function() tokens[at <<- at + 1]
  read_items <- function(end, read_item) {
    items <- list()
    if (tokens[at + 1] == end) {
      take()
      return(items)
    }
    repeat {
      items <- read_item(items)
      if (take() == end) return(items)
    }
  }
  read_member <- function(items) {
    name <- unquote_json(take())
    take()
    c(items, setNames(list(read_value()), name))
  }
  read_element <- function(items) c(items, list(read_value()))
  read_array <- function() {
    start <- at
    items <- read_items("]", read_element)
    if (any(tokens[seq(start + 1, at)] %in% c("[", "{"))) items else simplify(items)
  }
  read_value <- function() {
    token <- take()
    switch(token,
      "{" = read_items("}", read_member),
      "[" = read_array(),
      "null" = NULL, "true" = TRUE, "false" = FALSE,
      if (startsWith(token, '"')) unquote_json(token) else read_number(token))
  }
  read_value()
}

simplify <- function(items) {
  types <- unique(vapply(items, typeof, ""))
  if (length(types) == 1 && types != "NULL") unlist(items) else items
}

read_number <- function(token) {
  number <- as.numeric(token)
  if (abs(number) >= 2^53 && !grepl("[.eE]", token)) token else number
}

unquote_json <- function(token) {
  text <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  pieces <- regmatches(text, gregexpr("\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+", text))[[1]]
  escapes <- c("\\n" = "\n", "\\r" = "\r", "\\t" = "\t", "\\b" = "\b", "\\f" = "\f")
  is_code <- grepl("^\\\\u[0-9a-fA-F]{4}$", pieces)
  pieces[is_code] <- vapply(pieces[is_code], function(piece) intToUtf8(strtoi(substr(piece, 3, 6), 16L)), "")
  is_escape <- !is_code & startsWith(pieces, "\\")
  pieces[is_escape] <- ifelse(pieces[is_escape] %in% names(escapes), escapes[pieces[is_escape]], substr(pieces[is_escape], 2, 2))
  paste(pieces, collapse = "")
}
