/* Taco Studio for C, and for languages that call C: open TACO datasets of all generations, local and remote; read their tables, samples
 * and pixels; run every operation by name.
 *
 * Functions that return a pointer return NULL on failure, those that return an int return 0 on success and -1 on failure;
 * taco_last_error then has the reason. Texts are UTF-8 and end in a zero byte. What a function gives out is freed by the caller:
 * texts and bytes with taco_free, datasets with taco_close, streams by their own release. Functions may be called from several
 * threads; an error belongs to the thread that caused it. Nothing works in a forked process.
 */
#ifndef TACO_STUDIO_H
#define TACO_STUDIO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open dataset. */
typedef struct taco_dataset taco_dataset;

/* A sample of a dataset: a row of a level, both from 0. */
typedef struct {
  uint32_t level;
  uint32_t row;
} taco_sample;

/* Pixels: bands x rows x columns values without gaps, in the byte order of this machine. */
typedef struct {
  size_t shape[3];
  /* NumPy's name of the type: uint8, int16, uint16, int32, uint32, int64, uint64, float32 or float64. Is not freed. */
  const char *dtype;
  uint8_t *values;
  size_t bytes;
  /* For each value 1 where it is valid and 0 where the raster has no data; NULL when all are valid. */
  uint8_t *valid;
} taco_pixels;

/* A stream of Arrow's C interface (https://arrow.apache.org/docs/format/CStreamInterface.html). */
#ifndef ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream;
#endif

/* The version of the library. Is not freed. */
const char *taco_version(void);

/* The reason of the last failure on this thread, a JSON object: kind, message, place, hints. NULL when there was none. Is not freed, and
 * is valid until the next call on this thread. */
const char *taco_last_error(void);

/* Frees a text or bytes that a function gave out. NULL is ignored. */
void taco_free(void *memory);

/* Opens the dataset at a path or an address. `options` is a JSON object (base_path, with, mode), or NULL. */
taco_dataset *taco_open(const char *path, const char *options);

/* Closes a dataset. NULL is ignored. */
void taco_close(taco_dataset *dataset);

/* Path, format, levels with their columns, collection and notes, as JSON. */
char *taco_describe(const taco_dataset *dataset);

/* Number of levels. */
int taco_levels(const taco_dataset *dataset);

/* The table of a level, with the columns that the dataset stores. */
int taco_table(const taco_dataset *dataset, uint32_t level, struct ArrowArrayStream *stream);

/* The rows of a query, a JSON object (sql, filters, steps, limit) over the tables data, level0, level1, ... */
int taco_query(const taco_dataset *dataset, const char *query, struct ArrowArrayStream *stream);

/* The sample at ids or positions from level 0: roi_0007/s2/t02, #7/#0. */
int taco_find(const taco_dataset *dataset, const char *path, taco_sample *sample);

/* The samples of level 0 (`folder` is NULL), or of a FOLDER, without padding; freed with taco_free. */
int taco_children(const taco_dataset *dataset, const taco_sample *folder, taco_sample **samples, size_t *count);

/* The id of a sample. */
char *taco_id(const taco_dataset *dataset, taco_sample sample);

/* 1 for a FOLDER, 0 for a FILE, -1 on failure. */
int taco_is_folder(const taco_dataset *dataset, taco_sample sample);

/* The path by which GDAL reads a sample. */
char *taco_gdal_path(const taco_dataset *dataset, taco_sample sample);

/* The bytes of a FILE, whose checksum is compared where the container has one. */
int taco_read(const taco_dataset *dataset, taco_sample sample, uint8_t **bytes, size_t *size);

/* Pixels of the raster in a FILE. `request` is a JSON object, or NULL for all: bands (numbers from 1), window (first column, first row,
 * columns, rows), size (columns, rows), resampling (auto, nearest, average). values and valid are freed with taco_free. */
int taco_read_pixels(const taco_dataset *dataset, taco_sample sample, const char *request, taco_pixels *pixels);

/* Name, purpose and request (JSON Schema) of each operation, as JSON. */
char *taco_operations(void);

/* Runs an operation by name with its request, a JSON object; gives {"summary", "sound", "output"}. */
char *taco_operate(const char *name, const char *request);

/* Lets operations start the programs that their requests name. */
void taco_allow_programs(void);

/* Lets operations write to other machines. */
void taco_allow_connect(void);

#ifdef __cplusplus
}
#endif

#endif
