/* The bridge from R to the C library: functions for .Call, of which taco_studio.R makes functions for users.
 *
 *   PKG_CPPFLAGS=-I../include PKG_LIBS="-L/path/of/the/library -ltaco_studio_c" R CMD SHLIB taco_studio_r.c
 *
 * A failure of the library comes back as its JSON with the class taco_failure. What the library gives out is held by an external pointer
 * with a finalizer before R allocates anything, so that an error of R (no memory, an interrupt) leaks nothing.
 */
#define R_NO_REMAP
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <limits.h>

#include "arrow_columns.h"
#include "taco_studio.h"

/* --- what R's garbage collector frees --- */

static void release_dataset(SEXP holder) {
  taco_close(R_ExternalPtrAddr(holder));
  R_ClearExternalPtr(holder);
}

static void release_memory(SEXP holder) {
  taco_free(R_ExternalPtrAddr(holder));
  R_ClearExternalPtr(holder);
}

static void release_table(SEXP holder) {
  arrow_table *table = R_ExternalPtrAddr(holder);
  R_ClearExternalPtr(holder);
  if (table == NULL) return;
  arrow_release(table);
  free(table);
}

/* An empty holder. The caller protects it, then fills it with R_SetExternalPtrAddr. */
static SEXP new_holder(const char *tag, void (*release)(SEXP)) {
  SEXP holder = PROTECT(R_MakeExternalPtr(NULL, Rf_install(tag), R_NilValue));
  R_RegisterCFinalizerEx(holder, release, TRUE);
  UNPROTECT(1);
  return holder;
}

/* --- arguments and results --- */

static void expect_dataset(SEXP value) {
  if (TYPEOF(value) != EXTPTRSXP || R_ExternalPtrTag(value) != Rf_install("taco_dataset")) Rf_error("this is not a dataset of taco_open");
}

static taco_dataset *dataset_of(SEXP value) {
  expect_dataset(value);
  if (R_ExternalPtrAddr(value) == NULL) Rf_error("the dataset is closed");
  return R_ExternalPtrAddr(value);
}

/* UTF-8, valid until the call returns to R. NULL for R's NULL. */
static const char *text_or_null(SEXP value) {
  if (value == R_NilValue) return NULL;
  if (TYPEOF(value) != STRSXP || XLENGTH(value) != 1 || STRING_ELT(value, 0) == NA_STRING) Rf_error("one text is needed");
  return Rf_translateCharUTF8(STRING_ELT(value, 0));
}

static SEXP string_of(const char *text, size_t length) {
  if (length > INT_MAX) Rf_error("a text of %zu bytes is too long for R", length);
  return Rf_mkCharLenCE(text, (int)length, CE_UTF8);
}

/* The reason of the failure just now. It is copied before R allocates: a finalizer that runs then makes the library's text invalid. */
static SEXP failure(void) {
  static char *reason = NULL;
  const char *given = taco_last_error();
  free(reason);
  reason = given == NULL ? NULL : strdup(given);
  SEXP answer = PROTECT(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(answer, 0, reason == NULL ? Rf_mkChar("{}") : string_of(reason, strlen(reason)));
  Rf_setAttrib(answer, R_ClassSymbol, Rf_mkString("taco_failure"));
  UNPROTECT(1);
  return answer;
}

/* The text in a holder of memory, which is emptied; the failure when there is none. */
static SEXP take_text(SEXP holder) {
  const char *text = R_ExternalPtrAddr(holder);
  if (text == NULL) return failure();
  SEXP answer = PROTECT(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(answer, 0, string_of(text, strlen(text)));
  release_memory(holder);
  UNPROTECT(1);
  return answer;
}

static SEXP call_version(void) { return Rf_mkString(taco_version()); }

static SEXP call_open(SEXP path, SEXP options) {
  const char *at = text_or_null(path), *with = text_or_null(options);
  SEXP holder = PROTECT(new_holder("taco_dataset", release_dataset));
  R_SetExternalPtrAddr(holder, taco_open(at, with));
  SEXP answer = R_ExternalPtrAddr(holder) == NULL ? failure() : holder;
  UNPROTECT(1);
  return answer;
}

static SEXP call_close(SEXP dataset) {
  expect_dataset(dataset);
  release_dataset(dataset);
  return R_NilValue;
}

static SEXP call_levels(SEXP dataset) {
  int levels = taco_levels(dataset_of(dataset));
  return levels < 0 ? failure() : Rf_ScalarInteger(levels);
}

static SEXP call_describe(SEXP dataset) {
  taco_dataset *open = dataset_of(dataset);
  SEXP holder = PROTECT(new_holder("taco_memory", release_memory));
  R_SetExternalPtrAddr(holder, taco_describe(open));
  SEXP answer = take_text(holder);
  UNPROTECT(1);
  return answer;
}

static SEXP call_operations(void) {
  SEXP holder = PROTECT(new_holder("taco_memory", release_memory));
  R_SetExternalPtrAddr(holder, taco_operations());
  SEXP answer = take_text(holder);
  UNPROTECT(1);
  return answer;
}

static SEXP call_operate(SEXP name, SEXP request) {
  const char *verb = text_or_null(name), *with = text_or_null(request);
  SEXP holder = PROTECT(new_holder("taco_memory", release_memory));
  R_SetExternalPtrAddr(holder, taco_operate(verb, with));
  SEXP answer = take_text(holder);
  UNPROTECT(1);
  return answer;
}

static SEXP call_allow_programs(void) {
  taco_allow_programs();
  return R_NilValue;
}

static SEXP call_allow_connect(void) {
  taco_allow_connect();
  return R_NilValue;
}

/* --- tables --- */

/* True when R's integers have all values of a column: INT_MIN is their NA. */
static int fits_integer(const arrow_table *table, int64_t at, const arrow_column *column) {
  if (column->kind == COLUMN_UNSIGNED) return column->width <= 2;
  if (column->width != 4) return column->width < 4;
  arrow_cell cell = arrow_before(table, at);
  while (arrow_next(&cell))
    if (!arrow_is_null(column, &cell) && arrow_number(column, &cell) == INT_MIN) return 0;
  return 1;
}

/* True when R's texts have all values of a column: they have no zero byte and at most 2^31 - 1 bytes. */
static int fits_texts(const arrow_table *table, int64_t at, const arrow_column *column) {
  arrow_cell cell = arrow_before(table, at);
  while (arrow_next(&cell)) {
    if (arrow_is_null(column, &cell)) continue;
    size_t length;
    const char *text = arrow_bytes(column, &cell, &length);
    if (length > INT_MAX || memchr(text, 0, length) != NULL) return 0;
  }
  return 1;
}

static SEXP integers_of(const arrow_table *table, int64_t at, const arrow_column *column, SEXPTYPE type) {
  SEXP values = PROTECT(Rf_allocVector(type, (R_xlen_t)table->rows));
  int *out = type == LGLSXP ? LOGICAL(values) : INTEGER(values);
  arrow_cell cell = arrow_before(table, at);
  while (arrow_next(&cell)) *out++ = arrow_is_null(column, &cell) ? NA_INTEGER : (int)arrow_number(column, &cell);
  UNPROTECT(1);
  return values;
}

static SEXP doubles_of(const arrow_table *table, int64_t at, const arrow_column *column) {
  SEXP values = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)table->rows));
  double *out = REAL(values);
  arrow_cell cell = arrow_before(table, at);
  while (arrow_next(&cell)) *out++ = arrow_is_null(column, &cell) ? NA_REAL : arrow_number(column, &cell);
  if (column->kind == COLUMN_DATE) Rf_setAttrib(values, R_ClassSymbol, Rf_mkString("Date"));
  if (column->kind == COLUMN_TIME) {
    SEXP classes = PROTECT(Rf_allocVector(STRSXP, 2));
    SET_STRING_ELT(classes, 0, Rf_mkChar("POSIXct"));
    SET_STRING_ELT(classes, 1, Rf_mkChar("POSIXt"));
    Rf_setAttrib(values, R_ClassSymbol, classes);
    SEXP tzone = Rf_install("tzone");
    Rf_setAttrib(values, tzone, Rf_mkString("UTC"));
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return values;
}

/* Texts, and integers that no number of R has. */
static SEXP texts_of(const arrow_table *table, int64_t at, const arrow_column *column) {
  SEXP values = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)table->rows));
  arrow_cell cell = arrow_before(table, at);
  for (R_xlen_t row = 0; arrow_next(&cell); row++) {
    char number[24];
    const char *text = number;
    size_t length;
    if (arrow_is_null(column, &cell)) {
      SET_STRING_ELT(values, row, NA_STRING);
      continue;
    }
    if (column->kind == COLUMN_TEXT) {
      text = arrow_bytes(column, &cell, &length);
    } else {
      arrow_write_integer(column, &cell, number);
      length = strlen(number);
    }
    SET_STRING_ELT(values, row, string_of(text, length));
  }
  UNPROTECT(1);
  return values;
}

/* A list of raw vectors, with NA for NULL. */
static SEXP raws_of(const arrow_table *table, int64_t at, const arrow_column *column) {
  SEXP values = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)table->rows));
  arrow_cell cell = arrow_before(table, at);
  for (R_xlen_t row = 0; arrow_next(&cell); row++) {
    if (arrow_is_null(column, &cell)) {
      SET_VECTOR_ELT(values, row, Rf_ScalarLogical(NA_LOGICAL));
      continue;
    }
    size_t length;
    const char *bytes = arrow_bytes(column, &cell, &length);
    SEXP raw = Rf_allocVector(RAWSXP, (R_xlen_t)length);
    SET_VECTOR_ELT(values, row, raw);
    if (length > 0) memcpy(RAW(raw), bytes, length);
  }
  UNPROTECT(1);
  return values;
}

/* A column as a vector; R's NULL where R has none for it. */
static SEXP vector_of(const arrow_table *table, int64_t at) {
  arrow_column column = arrow_describe(table->schema.children[at]);
  switch (column.kind) {
    case COLUMN_OTHER: return R_NilValue;
    case COLUMN_NULLS:
    case COLUMN_BOOL: return integers_of(table, at, &column, LGLSXP);
    case COLUMN_SIGNED:
    case COLUMN_UNSIGNED:
      if (fits_integer(table, at, &column)) return integers_of(table, at, &column, INTSXP);
      return arrow_is_exact(table, at) ? doubles_of(table, at, &column) : texts_of(table, at, &column);
    case COLUMN_TEXT: return fits_texts(table, at, &column) ? texts_of(table, at, &column) : R_NilValue;
    case COLUMN_BYTES: return raws_of(table, at, &column);
    default: return doubles_of(table, at, &column);
  }
}

/* A list of vectors with names, of which taco_studio.R makes a data.frame. Its attribute `left_out` says what is not in it. */
static SEXP frame_of(const arrow_table *table) {
  R_xlen_t columns = (R_xlen_t)table->schema.n_children, kept = 0, dropped = 0;
  if (table->rows > INT_MAX) Rf_error("a data.frame has at most %d rows; this table has %.0f", INT_MAX, (double)table->rows);
  SEXP values = PROTECT(Rf_allocVector(VECSXP, columns)), names = PROTECT(Rf_allocVector(STRSXP, columns));
  SEXP left_out = PROTECT(Rf_allocVector(STRSXP, columns));
  for (R_xlen_t at = 0; at < columns; at++) {
    const struct ArrowSchema *schema = table->schema.children[at];
    arrow_column column = arrow_describe(schema);
    SEXP vector = vector_of(table, at);
    if (vector == R_NilValue) {
      const char *reason = column.kind == COLUMN_TEXT ? "texts that R can't hold" : arrow_other(schema);
      char text[512];
      snprintf(text, sizeof text, "%s (%s)", column.name, reason);
      SET_STRING_ELT(left_out, dropped++, Rf_mkCharCE(text, CE_UTF8));
    } else {
      SET_VECTOR_ELT(values, kept, vector);
      SET_STRING_ELT(names, kept++, string_of(column.name, strlen(column.name)));
    }
  }
  SEXP frame = PROTECT(Rf_lengthgets(values, kept));
  SEXP kept_names = PROTECT(Rf_lengthgets(names, kept)), dropped_names = PROTECT(Rf_lengthgets(left_out, dropped));
  Rf_setAttrib(frame, R_NamesSymbol, kept_names);
  SEXP left_out_symbol = Rf_install("left_out"), rows_symbol = Rf_install("rows");
  Rf_setAttrib(frame, left_out_symbol, dropped_names);
  Rf_setAttrib(frame, rows_symbol, Rf_ScalarInteger((int)table->rows));
  UNPROTECT(6);
  return frame;
}

/* Reads a stream into the table of a holder, which is emptied. */
static SEXP take_stream(SEXP holder, struct ArrowArrayStream *stream) {
  arrow_table *table = R_ExternalPtrAddr(holder);
  if (arrow_collect(stream, table) != 0) Rf_error("%s", table->problem);
  SEXP frame = PROTECT(frame_of(table));
  release_table(holder);
  UNPROTECT(1);
  return frame;
}

static SEXP new_table_holder(void) {
  SEXP holder = PROTECT(new_holder("taco_table", release_table));
  R_SetExternalPtrAddr(holder, calloc(1, sizeof(arrow_table)));
  if (R_ExternalPtrAddr(holder) == NULL) Rf_error("there is no memory for a table");
  UNPROTECT(1);
  return holder;
}

static SEXP call_table(SEXP dataset, SEXP level) {
  taco_dataset *open = dataset_of(dataset);
  int number = Rf_asInteger(level);
  if (number == NA_INTEGER || number < 0) Rf_error("a level is a number from 0");
  SEXP holder = PROTECT(new_table_holder());
  struct ArrowArrayStream stream;
  SEXP answer = taco_table(open, (uint32_t)number, &stream) != 0 ? failure() : take_stream(holder, &stream);
  UNPROTECT(1);
  return answer;
}

static SEXP call_query(SEXP dataset, SEXP query) {
  taco_dataset *open = dataset_of(dataset);
  const char *request = text_or_null(query);
  SEXP holder = PROTECT(new_table_holder());
  struct ArrowArrayStream stream;
  SEXP answer = taco_query(open, request, &stream) != 0 ? failure() : take_stream(holder, &stream);
  UNPROTECT(1);
  return answer;
}

/* --- samples --- */

/* Ids of the samples in a FOLDER, or of level 0, and whether each is a FOLDER. */
static SEXP call_children(SEXP dataset, SEXP path) {
  taco_dataset *open = dataset_of(dataset);
  const char *folder = text_or_null(path);
  SEXP holder = PROTECT(new_holder("taco_memory", release_memory)), text = PROTECT(new_holder("taco_memory", release_memory));
  taco_sample parent, *samples;
  size_t count;
  int failed = folder != NULL && taco_find(open, folder, &parent) != 0;
  if (failed || taco_children(open, folder == NULL ? NULL : &parent, &samples, &count) != 0) {
    UNPROTECT(2);
    return failure();
  }
  R_SetExternalPtrAddr(holder, samples);
  SEXP ids = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count)), folders = PROTECT(Rf_allocVector(LGLSXP, (R_xlen_t)count));
  SEXP answer = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(answer, 0, ids);
  SET_VECTOR_ELT(answer, 1, folders);
  for (size_t at = 0; at < count; at++) {
    R_SetExternalPtrAddr(text, taco_id(open, samples[at]));
    const char *id = R_ExternalPtrAddr(text);
    if (id == NULL) {
      answer = failure();
      break;
    }
    SET_STRING_ELT(ids, (R_xlen_t)at, string_of(id, strlen(id)));
    release_memory(text);
    LOGICAL(folders)[at] = taco_is_folder(open, samples[at]);
  }
  release_memory(holder);
  UNPROTECT(5);
  return answer;
}

static SEXP call_gdal_path(SEXP dataset, SEXP path) {
  taco_dataset *open = dataset_of(dataset);
  const char *at = text_or_null(path);
  SEXP holder = PROTECT(new_holder("taco_memory", release_memory));
  taco_sample sample;
  if (taco_find(open, at, &sample) == 0) R_SetExternalPtrAddr(holder, taco_gdal_path(open, sample));
  SEXP answer = take_text(holder);
  UNPROTECT(1);
  return answer;
}

static SEXP call_read(SEXP dataset, SEXP path) {
  taco_dataset *open = dataset_of(dataset);
  const char *at = text_or_null(path);
  SEXP holder = PROTECT(new_holder("taco_memory", release_memory));
  taco_sample sample;
  uint8_t *bytes;
  size_t size;
  if (taco_find(open, at, &sample) != 0 || taco_read(open, sample, &bytes, &size) != 0) {
    UNPROTECT(1);
    return failure();
  }
  R_SetExternalPtrAddr(holder, bytes);
  SEXP raw = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
  if (size > 0) memcpy(RAW(raw), bytes, size);
  release_memory(holder);
  UNPROTECT(2);
  return raw;
}

/* rows x columns x bands, as R's images are; NA where the raster has no data. */
static SEXP array_of(const taco_pixels *pixels) {
  const char *dtype = pixels->dtype;
  column_kind kind = dtype[0] == 'f' ? COLUMN_FLOAT : dtype[0] == 'u' ? COLUMN_UNSIGNED : COLUMN_SIGNED;
  int64_t width = atoi(dtype + strcspn(dtype, "0123456789")) / 8;
  size_t bands = pixels->shape[0], rows = pixels->shape[1], columns = pixels->shape[2], count = bands * rows * columns;
  if (bands > INT_MAX || rows > INT_MAX || columns > INT_MAX || count * (size_t)width != pixels->bytes)
    Rf_error("%zu bytes are not %zu x %zu x %zu values of %s", pixels->bytes, bands, rows, columns, dtype);
  int is_integer = kind != COLUMN_FLOAT && width <= 2;
  SEXP answer = PROTECT(Rf_allocVector(is_integer ? INTSXP : REALSXP, (R_xlen_t)count));
  for (size_t at = 0; at < count; at++) {
    size_t band = at / (rows * columns), row = at / columns % rows, column = at % columns;
    size_t place = row + rows * (column + columns * band);
    int is_valid = pixels->valid == NULL || pixels->valid[at] != 0;
    double number = arrow_value(kind, width, pixels->values, (int64_t)at);
    if (is_valid && kind != COLUMN_FLOAT && width == 8 && (number >= (double)LARGEST_EXACT || number <= -(double)LARGEST_EXACT))
      Rf_error("the raster has integers from 2^53 on, which R's numbers don't hold");
    if (is_integer) INTEGER(answer)[place] = is_valid ? (int)number : NA_INTEGER;
    else REAL(answer)[place] = is_valid ? number : NA_REAL;
  }
  SEXP shape = PROTECT(Rf_allocVector(INTSXP, 3));
  INTEGER(shape)[0] = (int)rows;
  INTEGER(shape)[1] = (int)columns;
  INTEGER(shape)[2] = (int)bands;
  Rf_setAttrib(answer, R_DimSymbol, shape);
  UNPROTECT(2);
  return answer;
}

static SEXP call_pixels(SEXP dataset, SEXP path, SEXP request) {
  taco_dataset *open = dataset_of(dataset);
  const char *at = text_or_null(path), *with = text_or_null(request);
  SEXP values = PROTECT(new_holder("taco_memory", release_memory)), valid = PROTECT(new_holder("taco_memory", release_memory));
  taco_sample sample;
  taco_pixels pixels;
  if (taco_find(open, at, &sample) != 0 || taco_read_pixels(open, sample, with, &pixels) != 0) {
    UNPROTECT(2);
    return failure();
  }
  R_SetExternalPtrAddr(values, pixels.values);
  R_SetExternalPtrAddr(valid, pixels.valid);
  SEXP answer = PROTECT(array_of(&pixels));
  release_memory(values);
  release_memory(valid);
  UNPROTECT(3);
  return answer;
}

static const R_CallMethodDef calls[] = {
    {"call_version", (DL_FUNC)call_version, 0},
    {"call_open", (DL_FUNC)call_open, 2},
    {"call_close", (DL_FUNC)call_close, 1},
    {"call_levels", (DL_FUNC)call_levels, 1},
    {"call_describe", (DL_FUNC)call_describe, 1},
    {"call_table", (DL_FUNC)call_table, 2},
    {"call_query", (DL_FUNC)call_query, 2},
    {"call_children", (DL_FUNC)call_children, 2},
    {"call_gdal_path", (DL_FUNC)call_gdal_path, 2},
    {"call_read", (DL_FUNC)call_read, 2},
    {"call_pixels", (DL_FUNC)call_pixels, 3},
    {"call_operations", (DL_FUNC)call_operations, 0},
    {"call_operate", (DL_FUNC)call_operate, 2},
    {"call_allow_programs", (DL_FUNC)call_allow_programs, 0},
    {"call_allow_connect", (DL_FUNC)call_allow_connect, 0},
    {NULL, NULL, 0},
};

void R_init_taco_studio_r(DllInfo *library) {
  R_registerRoutines(library, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
}
