/* Tables from streams of Arrow's C interface, as the examples read them: what a column holds, and its values row by row. C99 and C++.
 *
 *   arrow_table table;
 *   if (arrow_collect(&stream, &table) != 0) return fail(table.problem);
 *   arrow_column column = arrow_describe(table.schema.children[0]);
 *   arrow_cell cell = arrow_before(&table, 0);
 *   while (arrow_next(&cell))
 *     if (column.kind == COLUMN_FLOAT && !arrow_is_null(&column, &cell)) printf("%g\n", arrow_number(&column, &cell));
 *   arrow_release(&table);
 */
#ifndef ARROW_COLUMNS_H
#define ARROW_COLUMNS_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
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
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};
#endif

/* A double has each integer from -2^53 to 2^53. */
#define LARGEST_EXACT INT64_C(9007199254740992)

typedef enum {
  COLUMN_OTHER, /* is not read here: lists, structs, decimals, times of day, durations, dictionaries, half floats */
  COLUMN_NULLS,
  COLUMN_BOOL,
  COLUMN_SIGNED,
  COLUMN_UNSIGNED,
  COLUMN_FLOAT,
  COLUMN_DATE, /* days since 1970-01-01 */
  COLUMN_TIME, /* seconds since 1970-01-01 UTC */
  COLUMN_TEXT,
  COLUMN_BYTES
} column_kind;

/* How the texts and bytes of a column are stored. */
typedef enum { STORED_OFFSETS, STORED_VIEWS, STORED_FIXED } column_storage;

typedef struct {
  const char *name;
  column_kind kind;
  column_storage storage;
  /* Bytes of a number, of an offset, or of each value of STORED_FIXED. */
  int64_t width;
  /* Numbers of dates and times are divided by it. */
  double unit;
} arrow_column;

/* All rows of a stream. */
typedef struct {
  struct ArrowSchema schema;
  struct ArrowArray *batches;
  size_t count;
  int64_t rows;
  /* Why arrow_collect failed. */
  char problem[256];
} arrow_table;

/* A row of a column: `at` is its place in the buffers of `array`. */
typedef struct {
  const arrow_table *table;
  int64_t column, row;
  size_t batch;
  const struct ArrowArray *array;
  int64_t at;
} arrow_cell;

static inline void arrow_release(arrow_table *table) {
  for (size_t at = 0; at < table->count; at++) table->batches[at].release(&table->batches[at]);
  free(table->batches);
  if (table->schema.release != NULL) table->schema.release(&table->schema);
  memset(table, 0, sizeof *table);
}

static inline arrow_column arrow_describe(const struct ArrowSchema *schema) {
  static const struct {
    const char *format;
    column_kind kind;
    column_storage storage;
    int64_t width;
    double unit;
  } known[] = {
      {"n", COLUMN_NULLS, STORED_OFFSETS, 0, 1},      {"b", COLUMN_BOOL, STORED_OFFSETS, 0, 1},
      {"c", COLUMN_SIGNED, STORED_OFFSETS, 1, 1},     {"C", COLUMN_UNSIGNED, STORED_OFFSETS, 1, 1},
      {"s", COLUMN_SIGNED, STORED_OFFSETS, 2, 1},     {"S", COLUMN_UNSIGNED, STORED_OFFSETS, 2, 1},
      {"i", COLUMN_SIGNED, STORED_OFFSETS, 4, 1},     {"I", COLUMN_UNSIGNED, STORED_OFFSETS, 4, 1},
      {"l", COLUMN_SIGNED, STORED_OFFSETS, 8, 1},     {"L", COLUMN_UNSIGNED, STORED_OFFSETS, 8, 1},
      {"f", COLUMN_FLOAT, STORED_OFFSETS, 4, 1},      {"g", COLUMN_FLOAT, STORED_OFFSETS, 8, 1},
      {"tdD", COLUMN_DATE, STORED_OFFSETS, 4, 1},     {"tdm", COLUMN_DATE, STORED_OFFSETS, 8, 86400e3},
      {"tss:", COLUMN_TIME, STORED_OFFSETS, 8, 1},    {"tsm:", COLUMN_TIME, STORED_OFFSETS, 8, 1e3},
      {"tsu:", COLUMN_TIME, STORED_OFFSETS, 8, 1e6},  {"tsn:", COLUMN_TIME, STORED_OFFSETS, 8, 1e9},
      {"u", COLUMN_TEXT, STORED_OFFSETS, 4, 1},       {"U", COLUMN_TEXT, STORED_OFFSETS, 8, 1},
      {"z", COLUMN_BYTES, STORED_OFFSETS, 4, 1},      {"Z", COLUMN_BYTES, STORED_OFFSETS, 8, 1},
      {"vu", COLUMN_TEXT, STORED_VIEWS, 16, 1},       {"vz", COLUMN_BYTES, STORED_VIEWS, 16, 1},
  };
  arrow_column column = {schema->name == NULL ? "" : schema->name, COLUMN_OTHER, STORED_OFFSETS, 0, 1};
  if (schema->dictionary != NULL) return column;
  if (strncmp(schema->format, "w:", 2) == 0) {
    column.kind = COLUMN_BYTES;
    column.storage = STORED_FIXED;
    column.width = strtoll(schema->format + 2, NULL, 10);
  }
  for (size_t at = 0; at < sizeof known / sizeof *known; at++) {
    /* The time zone, which follows the colon, says only how a time is shown. */
    size_t length = strlen(known[at].format);
    int is_time = known[at].kind == COLUMN_TIME;
    if (is_time ? strncmp(schema->format, known[at].format, length) != 0 : strcmp(schema->format, known[at].format) != 0) continue;
    column.kind = known[at].kind;
    column.storage = known[at].storage;
    column.width = known[at].width;
    column.unit = known[at].unit;
  }
  return column;
}

/* What a column of COLUMN_OTHER holds. */
static inline const char *arrow_other(const struct ArrowSchema *schema) {
  static const char *const known[][2] = {
      {"+l", "lists"},   {"+L", "lists"},    {"+w", "lists"},        {"+v", "lists"},     {"+s", "structs"},   {"+m", "maps"},
      {"d:", "decimals"}, {"e", "half floats"}, {"tt", "times of day"}, {"tD", "durations"}, {"ti", "intervals"},
  };
  if (schema->dictionary != NULL) return "dictionary";
  for (size_t at = 0; at < sizeof known / sizeof *known; at++)
    if (strncmp(schema->format, known[at][0], strlen(known[at][0])) == 0) return known[at][1];
  return schema->format;
}

/* Buffers that arrays of a column have at least. */
static inline int64_t arrow_buffers(const arrow_column *column) {
  if (column->kind == COLUMN_OTHER || column->kind == COLUMN_NULLS) return 0;
  return (column->kind == COLUMN_TEXT || column->kind == COLUMN_BYTES) && column->storage == STORED_OFFSETS ? 3 : 2;
}

/* Adds a batch, which belongs to the table from then on. */
static inline int arrow_add_batch(arrow_table *table, struct ArrowArray *batch) {
  struct ArrowArray *grown = (struct ArrowArray *)realloc(table->batches, (table->count + 1) * sizeof *grown);
  if (grown == NULL) {
    batch->release(batch);
    snprintf(table->problem, sizeof table->problem, "there is no memory for the table");
    return -1;
  }
  table->batches = grown;
  table->batches[table->count++] = *batch;
  table->rows += batch->length;
  int fits = batch->n_children == table->schema.n_children;
  for (int64_t at = 0; fits && at < batch->n_children; at++) {
    arrow_column column = arrow_describe(table->schema.children[at]);
    const struct ArrowArray *array = batch->children[at];
    fits = array->length - batch->offset >= batch->length && array->n_buffers >= arrow_buffers(&column);
  }
  if (!fits) snprintf(table->problem, sizeof table->problem, "the columns of the table do not fit its schema");
  return fits ? 0 : -1;
}

/* Reads a stream to its end and releases it. 0, or -1 with the reason in table->problem; then there is nothing to release. */
static inline int arrow_collect(struct ArrowArrayStream *stream, arrow_table *table) {
  memset(table, 0, sizeof *table);
  int failed = stream->get_schema(stream, &table->schema);
  int is_refused = failed;
  while (!failed) {
    struct ArrowArray batch;
    failed = is_refused = stream->get_next(stream, &batch);
    if (failed || batch.release == NULL) break;
    failed = arrow_add_batch(table, &batch);
  }
  if (failed) {
    char problem[sizeof table->problem];
    const char *reason = is_refused ? stream->get_last_error(stream) : table->problem;
    snprintf(problem, sizeof problem, "%s", reason == NULL ? "the stream can't be read" : reason);
    arrow_release(table);
    memcpy(table->problem, problem, sizeof problem);
  }
  stream->release(stream);
  return failed ? -1 : 0;
}

/* The place before the first row of a column. */
static inline arrow_cell arrow_before(const arrow_table *table, int64_t column) {
  arrow_cell cell = {table, column, -1, 0, NULL, 0};
  return cell;
}

/* Moves to the next row. 0 after the last. */
static inline int arrow_next(arrow_cell *cell) {
  cell->row++;
  while (cell->batch < cell->table->count && cell->row >= cell->table->batches[cell->batch].length) {
    cell->batch++;
    cell->row = 0;
  }
  if (cell->batch >= cell->table->count) return 0;
  const struct ArrowArray *batch = &cell->table->batches[cell->batch];
  cell->array = batch->children[cell->column];
  cell->at = cell->array->offset + batch->offset + cell->row;
  return 1;
}

static inline int arrow_is_null(const arrow_column *column, const arrow_cell *cell) {
  if (column->kind == COLUMN_NULLS) return 1;
  const uint8_t *valid = (const uint8_t *)cell->array->buffers[0];
  return cell->array->null_count != 0 && valid != NULL && (valid[cell->at >> 3] >> (cell->at & 7) & 1) == 0;
}

static inline int64_t arrow_signed(const void *values, int64_t width, int64_t at) {
  switch (width) {
    case 1: return ((const int8_t *)values)[at];
    case 2: return ((const int16_t *)values)[at];
    case 4: return ((const int32_t *)values)[at];
    default: return ((const int64_t *)values)[at];
  }
}

static inline uint64_t arrow_unsigned(const void *values, int64_t width, int64_t at) {
  switch (width) {
    case 1: return ((const uint8_t *)values)[at];
    case 2: return ((const uint16_t *)values)[at];
    case 4: return ((const uint32_t *)values)[at];
    default: return ((const uint64_t *)values)[at];
  }
}

/* Number `at` of a buffer of signed or unsigned integers, or of floats. */
static inline double arrow_value(column_kind kind, int64_t width, const void *values, int64_t at) {
  if (kind == COLUMN_FLOAT) return width == 4 ? ((const float *)values)[at] : ((const double *)values)[at];
  return kind == COLUMN_UNSIGNED ? (double)arrow_unsigned(values, width, at) : (double)arrow_signed(values, width, at);
}

/* The number of a cell of COLUMN_BOOL to COLUMN_TIME that is not null. */
static inline double arrow_number(const arrow_column *column, const arrow_cell *cell) {
  const void *values = cell->array->buffers[1];
  if (column->kind == COLUMN_BOOL) return ((const uint8_t *)values)[cell->at >> 3] >> (cell->at & 7) & 1;
  return arrow_value(column->kind, column->width, values, cell->at) / column->unit;
}

/* 1 when a double has each number of the column exactly, which integers beyond 2^53 may not be. */
static inline int arrow_is_exact(const arrow_table *table, int64_t at) {
  arrow_column column = arrow_describe(table->schema.children[at]);
  if ((column.kind != COLUMN_SIGNED && column.kind != COLUMN_UNSIGNED) || column.width < 8) return 1;
  arrow_cell cell = arrow_before(table, at);
  while (arrow_next(&cell)) {
    if (arrow_is_null(&column, &cell)) continue;
    const void *values = cell.array->buffers[1];
    int64_t number = arrow_signed(values, 8, cell.at);
    /* Unsigned numbers from 2^63 are negative here, and refused by their sign. */
    if (number > LARGEST_EXACT || number < (column.kind == COLUMN_UNSIGNED ? 0 : -LARGEST_EXACT)) return 0;
  }
  return 1;
}

/* 1 when a value of the column is null. */
static inline int arrow_has_nulls(const arrow_table *table, int64_t at) {
  arrow_column column = arrow_describe(table->schema.children[at]);
  arrow_cell cell = arrow_before(table, at);
  while (arrow_next(&cell))
    if (arrow_is_null(&column, &cell)) return 1;
  return 0;
}

/* Writes the integer of a cell that is not null in decimal. */
static inline void arrow_write_integer(const arrow_column *column, const arrow_cell *cell, char text[24]) {
  const void *values = cell->array->buffers[1];
  if (column->kind == COLUMN_UNSIGNED) snprintf(text, 24, "%" PRIu64, arrow_unsigned(values, column->width, cell->at));
  else snprintf(text, 24, "%" PRId64, arrow_signed(values, column->width, cell->at));
}

/* The text or bytes of a cell that is not null. A text does not end in a zero byte. */
static inline const char *arrow_bytes(const arrow_column *column, const arrow_cell *cell, size_t *length) {
  const struct ArrowArray *array = cell->array;
  const char *data = (const char *)array->buffers[1];
  int64_t start, end;
  if (column->storage == STORED_FIXED) {
    start = cell->at * column->width;
    end = start + column->width;
  } else if (column->storage == STORED_VIEWS) {
    /* Length, then up to 12 bytes, or 4 bytes, the number of a buffer and the place in it. */
    int32_t view[4];
    const char *place = data + cell->at * 16;
    memcpy(view, place, sizeof view);
    data = view[0] <= 12 ? place + 4 : (const char *)array->buffers[2 + view[2]];
    start = view[0] <= 12 ? 0 : view[3];
    end = start + view[0];
  } else {
    start = arrow_signed(data, column->width, cell->at);
    end = arrow_signed(data, column->width, cell->at + 1);
    data = (const char *)array->buffers[2];
  }
  *length = (size_t)(end - start);
  return *length == 0 ? "" : data + start;
}

#endif
