/* The bridge between R and the C library, for taco_studio.R:
 *
 *   PKG_CPPFLAGS="-I../../include -I.." PKG_LIBS="-L/path/of/the/library -ltaco_studio_c" R CMD SHLIB taco_studio_r.c
 */
#include "arrow_columns.h"
#include "taco_studio.h"

#define R_NO_REMAP
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>

/* Stops with the JSON object of the last error, which taco_studio.R makes a condition of. */
static void stop_with_last_error(void) {
  const char *reason = taco_last_error();
  Rf_error("%s", reason != NULL ? reason : "the call failed without a reason");
}

static void close_handle(SEXP handle) {
  taco_close(R_ExternalPtrAddr(handle));
  R_ClearExternalPtr(handle);
}

static taco_dataset *dataset_of(SEXP handle) {
  taco_dataset *dataset = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
  if (dataset == NULL) Rf_error("the dataset is closed");
  return dataset;
}

static const char *text_of(SEXP value, const char *what) {
  if (TYPEOF(value) != STRSXP || XLENGTH(value) != 1 || STRING_ELT(value, 0) == NA_STRING) Rf_error("%s is not one text", what);
  return Rf_translateCharUTF8(STRING_ELT(value, 0));
}

static const char *text_or_null(SEXP value, const char *what) { return value == R_NilValue ? NULL : text_of(value, what); }

static double number_of(SEXP value, R_xlen_t at, const char *what) {
  if (TYPEOF(value) != REALSXP || XLENGTH(value) <= at) Rf_error("%s is not a number", what);
  double number = REAL(value)[at];
  if (!(number >= 0 && number <= UINT32_MAX)) Rf_error("%s is not a number of 32 bits", what);
  return number;
}

static taco_sample sample_of(SEXP value) {
  taco_sample sample = {(uint32_t)number_of(value, 0, "the level"), (uint32_t)number_of(value, 1, "the row")};
  return sample;
}

static SEXP sample_value(taco_sample sample) {
  SEXP value = Rf_allocVector(REALSXP, 2);
  REAL(value)[0] = sample.level;
  REAL(value)[1] = sample.row;
  return value;
}

/* The text as a value of R; frees it. */
static SEXP take_text(char *text) {
  if (text == NULL) stop_with_last_error();
  SEXP value = PROTECT(Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8)));
  taco_free(text);
  UNPROTECT(1);
  return value;
}

static SEXP r_version(void) { return Rf_mkString(taco_version()); }

static SEXP r_open(SEXP path, SEXP options) {
  taco_dataset *dataset = taco_open(text_of(path, "the path"), text_or_null(options, "the options"));
  if (dataset == NULL) stop_with_last_error();
  SEXP handle = PROTECT(R_MakeExternalPtr(dataset, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(handle, close_handle, TRUE);
  UNPROTECT(1);
  return handle;
}

static SEXP r_close(SEXP handle) {
  dataset_of(handle);
  close_handle(handle);
  return R_NilValue;
}

static SEXP r_describe(SEXP handle) { return take_text(taco_describe(dataset_of(handle))); }

static SEXP class_of(column_type type) {
  SEXP names = PROTECT(Rf_allocVector(STRSXP, type == COLUMN_DATE ? 1 : 2));
  SET_STRING_ELT(names, 0, Rf_mkChar(type == COLUMN_DATE ? "Date" : "POSIXct"));
  if (type != COLUMN_DATE) SET_STRING_ELT(names, 1, Rf_mkChar("POSIXt"));
  UNPROTECT(1);
  return names;
}

static SEXP column_value(const table_column *column, size_t rows) {
  SEXP value;
  if (column->texts != NULL) {
    value = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)rows));
    for (size_t row = 0; row < rows; row++)
      SET_STRING_ELT(value, (R_xlen_t)row, column->valid[row] ? Rf_mkCharCE(column->texts[row], CE_UTF8) : NA_STRING);
  } else if (column->type == COLUMN_BOOLEAN) {
    value = PROTECT(Rf_allocVector(LGLSXP, (R_xlen_t)rows));
    for (size_t row = 0; row < rows; row++) LOGICAL(value)[row] = column->valid[row] ? column->numbers[row] != 0 : NA_LOGICAL;
  } else {
    value = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)rows));
    for (size_t row = 0; row < rows; row++) REAL(value)[row] = column->valid[row] ? column->numbers[row] : NA_REAL;
  }
  if (column->type == COLUMN_DATE || column->type == COLUMN_TIMESTAMP) Rf_setAttrib(value, R_ClassSymbol, class_of(column->type));
  if (column->type == COLUMN_TIMESTAMP) Rf_setAttrib(value, Rf_install("tzone"), Rf_mkString("UTC"));
  UNPROTECT(1);
  return value;
}

/* The rows of a stream as a data frame; its attribute `left_out` names the columns of other types. */
static SEXP data_frame(struct ArrowArrayStream *stream) {
  column_table table;
  char reason[1024];
  if (read_columns(stream, &table, reason, sizeof reason) != 0) Rf_error("%s", reason);
  R_xlen_t kept = 0, other = 0;
  for (size_t at = 0; at < table.count; at++) kept += table.columns[at].type != COLUMN_LEFT_OUT;
  SEXP frame = PROTECT(Rf_allocVector(VECSXP, kept));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, kept));
  SEXP left_out = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)table.count - kept));
  kept = 0;
  for (size_t at = 0; at < table.count; at++) {
    const table_column *column = &table.columns[at];
    SEXP name = PROTECT(Rf_mkCharCE(column->name, CE_UTF8));
    if (column->type == COLUMN_LEFT_OUT) {
      SET_STRING_ELT(left_out, other++, name);
    } else {
      SET_STRING_ELT(names, kept, name);
      SET_VECTOR_ELT(frame, kept++, column_value(column, table.rows));
    }
    UNPROTECT(1);
  }
  SEXP rows = PROTECT(Rf_allocVector(INTSXP, 2));
  INTEGER(rows)[0] = NA_INTEGER;
  INTEGER(rows)[1] = -(int)table.rows;
  Rf_setAttrib(frame, R_NamesSymbol, names);
  Rf_setAttrib(frame, R_RowNamesSymbol, rows);
  Rf_setAttrib(frame, R_ClassSymbol, Rf_mkString("data.frame"));
  Rf_setAttrib(frame, Rf_install("left_out"), left_out);
  free_columns(&table);
  UNPROTECT(4);
  return frame;
}

static SEXP r_table(SEXP handle, SEXP level) {
  struct ArrowArrayStream stream;
  if (taco_table(dataset_of(handle), (uint32_t)number_of(level, 0, "the level"), &stream) != 0) stop_with_last_error();
  return data_frame(&stream);
}

static SEXP r_query(SEXP handle, SEXP query) {
  struct ArrowArrayStream stream;
  if (taco_query(dataset_of(handle), text_of(query, "the query"), &stream) != 0) stop_with_last_error();
  return data_frame(&stream);
}

static SEXP r_find(SEXP handle, SEXP path) {
  taco_sample sample;
  if (taco_find(dataset_of(handle), text_of(path, "the path"), &sample) != 0) stop_with_last_error();
  return sample_value(sample);
}

static SEXP r_children(SEXP handle, SEXP folder) {
  taco_sample of = {0, 0}, *samples;
  size_t count;
  if (folder != R_NilValue) of = sample_of(folder);
  if (taco_children(dataset_of(handle), folder == R_NilValue ? NULL : &of, &samples, &count) != 0) stop_with_last_error();
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)count));
  for (size_t at = 0; at < count; at++) SET_VECTOR_ELT(list, (R_xlen_t)at, sample_value(samples[at]));
  taco_free(samples);
  UNPROTECT(1);
  return list;
}

static SEXP r_id(SEXP handle, SEXP sample) { return take_text(taco_id(dataset_of(handle), sample_of(sample))); }

static SEXP r_is_folder(SEXP handle, SEXP sample) {
  int folder = taco_is_folder(dataset_of(handle), sample_of(sample));
  if (folder < 0) stop_with_last_error();
  return Rf_ScalarLogical(folder);
}

static SEXP r_gdal_path(SEXP handle, SEXP sample) { return take_text(taco_gdal_path(dataset_of(handle), sample_of(sample))); }

static SEXP r_read(SEXP handle, SEXP sample) {
  uint8_t *bytes;
  size_t size;
  if (taco_read(dataset_of(handle), sample_of(sample), &bytes, &size) != 0) stop_with_last_error();
  SEXP value = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
  if (size > 0) memcpy(RAW(value), bytes, size);
  taco_free(bytes);
  UNPROTECT(1);
  return value;
}

static double pixel_at(const taco_pixels *pixels, size_t at) {
  const char *dtype = pixels->dtype;
  const void *values = pixels->values;
  if (strcmp(dtype, "uint8") == 0) return ((const uint8_t *)values)[at];
  if (strcmp(dtype, "int8") == 0) return ((const int8_t *)values)[at];
  if (strcmp(dtype, "uint16") == 0) return ((const uint16_t *)values)[at];
  if (strcmp(dtype, "int16") == 0) return ((const int16_t *)values)[at];
  if (strcmp(dtype, "uint32") == 0) return ((const uint32_t *)values)[at];
  if (strcmp(dtype, "int32") == 0) return ((const int32_t *)values)[at];
  if (strcmp(dtype, "uint64") == 0) return (double)((const uint64_t *)values)[at];
  if (strcmp(dtype, "int64") == 0) return (double)((const int64_t *)values)[at];
  if (strcmp(dtype, "float32") == 0) return ((const float *)values)[at];
  return ((const double *)values)[at];
}

/* Pixels as an array of rows, columns and bands, as R has matrices; NA where the raster has no data. */
static SEXP r_pixels(SEXP handle, SEXP sample, SEXP request) {
  taco_pixels pixels;
  if (taco_read_pixels(dataset_of(handle), sample_of(sample), text_or_null(request, "the request"), &pixels) != 0) stop_with_last_error();
  size_t bands = pixels.shape[0], rows = pixels.shape[1], columns = pixels.shape[2];
  SEXP value = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(bands * rows * columns)));
  double *to = REAL(value);
  for (size_t band = 0; band < bands; band++)
    for (size_t column = 0; column < columns; column++)
      for (size_t row = 0; row < rows; row++) {
        size_t at = (band * rows + row) * columns + column;
        *to++ = pixels.valid != NULL && !pixels.valid[at] ? NA_REAL : pixel_at(&pixels, at);
      }
  taco_free(pixels.values);
  taco_free(pixels.valid);
  SEXP shape = PROTECT(Rf_allocVector(INTSXP, 3));
  INTEGER(shape)[0] = (int)rows;
  INTEGER(shape)[1] = (int)columns;
  INTEGER(shape)[2] = (int)bands;
  Rf_setAttrib(value, R_DimSymbol, shape);
  UNPROTECT(2);
  return value;
}

static SEXP r_operations(void) { return take_text(taco_operations()); }

static SEXP r_operate(SEXP name, SEXP request) { return take_text(taco_operate(text_of(name, "the name"), text_of(request, "the request"))); }

static SEXP r_allow_programs(void) {
  taco_allow_programs();
  return R_NilValue;
}

static SEXP r_allow_connect(void) {
  taco_allow_connect();
  return R_NilValue;
}

static const R_CallMethodDef methods[] = {
    {"r_version", (DL_FUNC)&r_version, 0},       {"r_open", (DL_FUNC)&r_open, 2},
    {"r_close", (DL_FUNC)&r_close, 1},           {"r_describe", (DL_FUNC)&r_describe, 1},
    {"r_table", (DL_FUNC)&r_table, 2},           {"r_query", (DL_FUNC)&r_query, 2},
    {"r_find", (DL_FUNC)&r_find, 2},             {"r_children", (DL_FUNC)&r_children, 2},
    {"r_id", (DL_FUNC)&r_id, 2},                 {"r_is_folder", (DL_FUNC)&r_is_folder, 2},
    {"r_gdal_path", (DL_FUNC)&r_gdal_path, 2},   {"r_read", (DL_FUNC)&r_read, 2},
    {"r_pixels", (DL_FUNC)&r_pixels, 3},         {"r_operations", (DL_FUNC)&r_operations, 0},
    {"r_operate", (DL_FUNC)&r_operate, 2},       {"r_allow_programs", (DL_FUNC)&r_allow_programs, 0},
    {"r_allow_connect", (DL_FUNC)&r_allow_connect, 0}, {NULL, NULL, 0},
};

void R_init_taco_studio_r(DllInfo *dll) {
  R_registerRoutines(dll, NULL, methods, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
}
