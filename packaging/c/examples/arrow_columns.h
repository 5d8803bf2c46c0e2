/* Reads a stream of Arrow's C interface into columns of numbers and texts, for languages whose tables have no other types. For the bridges
 * of this folder, and to be copied into others.
 *
 * Integers, FLOAT and DOUBLE are numbers; booleans are numbers, 0 and 1; dates are days, timestamps seconds since 1970-01-01 in UTC. A
 * column with an integer that a double does not hold is one of texts, which have all digits. Columns of other types (lists, structs,
 * bytes, decimal numbers, intervals) are left out, and named.
 */
#ifndef TACO_STUDIO_ARROW_COLUMNS_H
#define TACO_STUDIO_ARROW_COLUMNS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The structures of https://arrow.apache.org/docs/format/CStreamInterface.html */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};
#endif

typedef enum { COLUMN_NUMBER, COLUMN_BOOLEAN, COLUMN_TEXT, COLUMN_DATE, COLUMN_TIMESTAMP, COLUMN_LEFT_OUT } column_type;

typedef struct {
  char *name;
  column_type type;
  /* Units of a timestamp in a second. */
  double per_second;
  /* NULL of texts. A value that is NULL in the table is 0 here, and has a 0 in `valid`. */
  double *numbers;
  /* NULL of numbers. A value that is NULL in the table is NULL here. */
  char **texts;
  unsigned char *valid;
} table_column;

typedef struct {
  size_t rows, count;
  table_column *columns;
} column_table;

static void free_columns(column_table *table) {
  for (size_t at = 0; at < table->count; at++) {
    table_column *column = &table->columns[at];
    for (size_t row = 0; column->texts != NULL && row < table->rows; row++) free(column->texts[row]);
    free(column->texts);
    free(column->numbers);
    free(column->valid);
    free(column->name);
  }
  free(table->columns);
  memset(table, 0, sizeof *table);
}

static int bit_is_set(const void *bits, int64_t at) { return ((const unsigned char *)bits)[at / 8] >> (at % 8) & 1; }

static int is_integer_format(char format) { return format != 0 && strchr("cCsSiIlL", format) != NULL; }

static column_type type_of_format(const struct ArrowSchema *schema, double *per_second) {
  const char *format = schema->format;
  if (schema->dictionary != NULL) return COLUMN_LEFT_OUT;
  if (strcmp(format, "b") == 0) return COLUMN_BOOLEAN;
  if (strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "vu") == 0) return COLUMN_TEXT;
  if (strcmp(format, "n") == 0 || strcmp(format, "f") == 0 || strcmp(format, "g") == 0) return COLUMN_NUMBER;
  if (format[1] == 0 && is_integer_format(format[0])) return COLUMN_NUMBER;
  if (strcmp(format, "tdD") == 0) return COLUMN_DATE;
  if (strncmp(format, "ts", 2) == 0) {
    switch (format[2]) {
      case 's': *per_second = 1; return COLUMN_TIMESTAMP;
      case 'm': *per_second = 1e3; return COLUMN_TIMESTAMP;
      case 'u': *per_second = 1e6; return COLUMN_TIMESTAMP;
      case 'n': *per_second = 1e9; return COLUMN_TIMESTAMP;
    }
  }
  return COLUMN_LEFT_OUT;
}

/* The integer at a row. `is_negative` is 1 for one below 0, of which the magnitude is returned. */
static uint64_t integer_at(char format, const void *values, int64_t at, int *is_negative) {
  int64_t value = 0;
  *is_negative = 0;
  switch (format) {
    case 'c': value = ((const int8_t *)values)[at]; break;
    case 's': value = ((const int16_t *)values)[at]; break;
    case 'i': value = ((const int32_t *)values)[at]; break;
    case 'l': value = ((const int64_t *)values)[at]; break;
    case 'C': return ((const uint8_t *)values)[at];
    case 'S': return ((const uint16_t *)values)[at];
    case 'I': return ((const uint32_t *)values)[at];
    default: return ((const uint64_t *)values)[at];
  }
  if (value >= 0) return (uint64_t)value;
  *is_negative = 1;
  return 0 - (uint64_t)value;
}

static double number_at(const char *format, const struct ArrowArray *array, int64_t at) {
  const void *values = array->buffers[1];
  if (format[0] == 'f') return ((const float *)values)[at];
  if (format[0] == 'g') return ((const double *)values)[at];
  if (format[0] == 'b') return bit_is_set(values, at);
  if (strcmp(format, "tdD") == 0) return ((const int32_t *)values)[at];
  if (format[0] == 't') return (double)((const int64_t *)values)[at];
  int is_negative;
  double magnitude = (double)integer_at(format[0], values, at, &is_negative);
  return is_negative ? -magnitude : magnitude;
}

static char *copy_text(const char *text, size_t length) {
  char *copy = (char *)malloc(length + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

/* A text at a row; NULL without memory. */
static char *text_at(const char *format, const struct ArrowArray *array, int64_t at) {
  if (format[0] == 'u') {
    const int32_t *offsets = (const int32_t *)array->buffers[1];
    return copy_text((const char *)array->buffers[2] + offsets[at], (size_t)(offsets[at + 1] - offsets[at]));
  }
  if (format[0] == 'U') {
    const int64_t *offsets = (const int64_t *)array->buffers[1];
    return copy_text((const char *)array->buffers[2] + offsets[at], (size_t)(offsets[at + 1] - offsets[at]));
  }
  /* A view: its length, then the text itself, or where it begins in one of the buffers behind. */
  const unsigned char *view = (const unsigned char *)array->buffers[1] + 16 * at;
  int32_t length, buffer, offset;
  memcpy(&length, view, 4);
  if (length <= 12) return copy_text((const char *)view + 4, (size_t)length);
  memcpy(&buffer, view + 8, 4);
  memcpy(&offset, view + 12, 4);
  return copy_text((const char *)array->buffers[2 + buffer] + offset, (size_t)length);
}

static int is_valid_at(const struct ArrowArray *array, int64_t at) {
  return array->n_buffers == 0 || array->buffers[0] == NULL || bit_is_set(array->buffers[0], at);
}

/* Makes a column of numbers one of texts: the batches before had none that a double does not hold. 0 on success. */
static int make_texts(table_column *column, size_t rows) {
  column->texts = (char **)calloc(rows ? rows : 1, sizeof *column->texts);
  if (column->texts == NULL) return -1;
  for (size_t row = 0; row < rows; row++) {
    char digits[32];
    if (!column->valid[row]) continue;
    int length = snprintf(digits, sizeof digits, "%.0f", column->numbers[row]);
    if ((column->texts[row] = copy_text(digits, (size_t)length)) == NULL) return -1;
  }
  free(column->numbers);
  column->numbers = NULL;
  column->type = COLUMN_TEXT;
  return 0;
}

static int has_long_integer(const char *format, const struct ArrowArray *array, int64_t first, int64_t count) {
  if (format[1] != 0 || (format[0] != 'l' && format[0] != 'L')) return 0;
  for (int64_t row = 0; row < count; row++) {
    int is_negative;
    int64_t at = first + row;
    if (is_valid_at(array, at) && integer_at(format[0], array->buffers[1], at, &is_negative) > UINT64_C(1) << 53) return 1;
  }
  return 0;
}

/* Appends rows of a batch to a column, which has `rows` and room for these: `count` of the array, from `first`. 0 on success. */
static int append_rows(table_column *column, const char *format, const struct ArrowArray *array, int64_t first, int64_t count,
                       size_t rows) {
  if (column->numbers != NULL && has_long_integer(format, array, first, count)) {
    memset(column->valid + rows, 0, (size_t)count);
    if (make_texts(column, rows + (size_t)count) != 0) return -1;
  }
  for (int64_t row = 0; row < count; row++) {
    int64_t at = first + row;
    size_t to = rows + (size_t)row;
    int valid = format[0] != 'n' && is_valid_at(array, at);
    column->valid[to] = (unsigned char)valid;
    if (column->texts == NULL) {
      double number = valid ? number_at(format, array, at) : 0;
      column->numbers[to] = column->type == COLUMN_TIMESTAMP ? number / column->per_second : number;
    } else if (!valid) {
      column->texts[to] = NULL;
    } else if (is_integer_format(format[0])) {
      char digits[32];
      int is_negative;
      uint64_t magnitude = integer_at(format[0], array->buffers[1], at, &is_negative);
      int length = snprintf(digits, sizeof digits, "%s%" PRIu64, is_negative ? "-" : "", magnitude);
      if ((column->texts[to] = copy_text(digits, (size_t)length)) == NULL) return -1;
    } else if ((column->texts[to] = text_at(format, array, at)) == NULL) {
      return -1;
    }
  }
  return 0;
}

/* Makes room for the rows of a batch. 0 on success. */
static int grow_column(table_column *column, size_t rows) {
  size_t room = rows ? rows : 1;
  void *valid = realloc(column->valid, room);
  if (valid == NULL) return -1;
  column->valid = (unsigned char *)valid;
  void **values = column->type == COLUMN_TEXT ? (void **)&column->texts : (void **)&column->numbers;
  void *grown = realloc(*values, room * (column->type == COLUMN_TEXT ? sizeof(char *) : sizeof(double)));
  if (grown == NULL) return -1;
  *values = grown;
  return 0;
}

/* Reads all batches of a stream, and releases it. 0 on success; else `reason` is what happened, and the table is empty. */
static int read_columns(struct ArrowArrayStream *stream, column_table *table, char *reason, size_t reason_size) {
  struct ArrowSchema schema;
  struct ArrowArray batch;
  memset(table, 0, sizeof *table);
  memset(&batch, 0, sizeof batch);
  if (stream->get_schema(stream, &schema) != 0) {
    const char *said = stream->get_last_error(stream);
    snprintf(reason, reason_size, "%s", said ? said : "the table has no columns");
    stream->release(stream);
    return -1;
  }
  const char *failure = NULL;
  size_t columns = schema.n_children > 0 ? (size_t)schema.n_children : 1;
  table->columns = (table_column *)calloc(columns, sizeof *table->columns);
  if (table->columns == NULL) failure = "there is no memory for the table";
  for (int64_t at = 0; failure == NULL && at < schema.n_children; at++) {
    table_column *column = &table->columns[at];
    const char *name = schema.children[at]->name;
    column->type = type_of_format(schema.children[at], &column->per_second);
    column->name = copy_text(name ? name : "", name ? strlen(name) : 0);
    table->count = (size_t)at + 1;
    if (column->name == NULL || (column->type != COLUMN_LEFT_OUT && grow_column(column, 0) != 0))
      failure = "there is no memory for the table";
  }
  while (failure == NULL) {
    if (stream->get_next(stream, &batch) != 0) {
      failure = stream->get_last_error(stream);
      if (failure == NULL) failure = "the rows can't be read";
      break;
    }
    if (batch.release == NULL) break;
    size_t rows = table->rows + (size_t)batch.length;
    for (size_t at = 0; failure == NULL && at < table->count; at++) {
      table_column *column = &table->columns[at];
      if (column->type == COLUMN_LEFT_OUT) continue;
      if (grow_column(column, rows) != 0) {
        failure = "there is no memory for the table";
        continue;
      }
      if (column->texts != NULL) memset(column->texts + table->rows, 0, (size_t)batch.length * sizeof *column->texts);
      const struct ArrowArray *array = batch.children[at];
      if (append_rows(column, schema.children[at]->format, array, array->offset + batch.offset, batch.length, table->rows) != 0)
        failure = "there is no memory for the table";
    }
    if (failure == NULL) table->rows = rows;
    batch.release(&batch);
    memset(&batch, 0, sizeof batch);
  }
  if (failure != NULL) {
    snprintf(reason, reason_size, "%s", failure);
    free_columns(table);
  }
  schema.release(&schema);
  stream->release(stream);
  return failure == NULL ? 0 : -1;
}

#endif
