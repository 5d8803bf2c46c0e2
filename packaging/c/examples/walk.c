/* Walks a dataset: walk DATASET SQL SAMPLE. Prints one line of JSON for each thing that the library gives.
 *
 *   cc walk.c -I../include -L/path/of/the/library -ltaco_studio_c -o walk
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_columns.h"
#include "taco_studio.h"

static void fail(void) {
  fprintf(stderr, "%s\n", taco_last_error());
  exit(1);
}

/* Rows and columns of a stream, which is released. */
static void print_stream(const char *name, struct ArrowArrayStream *stream) {
  arrow_table table;
  if (arrow_collect(stream, &table) != 0) {
    fprintf(stderr, "%s\n", table.problem);
    exit(1);
  }
  printf("{\"%s\": {\"rows\": %lld, \"columns\": [", name, (long long)table.rows);
  for (int64_t at = 0; at < table.schema.n_children; at++) printf("%s\"%s\"", at ? ", " : "", table.schema.children[at]->name);
  printf("]}}\n");
  arrow_release(&table);
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: walk DATASET SQL SAMPLE\n");
    return 2;
  }
  taco_dataset *dataset = taco_open(arguments[1], NULL);
  if (dataset == NULL) fail();
  printf("{\"version\": \"%s\", \"levels\": %d}\n", taco_version(), taco_levels(dataset));

  struct ArrowArrayStream stream;
  if (taco_table(dataset, 0, &stream) != 0) fail();
  print_stream("table", &stream);
  size_t length = strlen(arguments[2]) + 16;
  char *query = malloc(length);
  snprintf(query, length, "{\"sql\": \"%s\"}", arguments[2]);
  if (taco_query(dataset, query, &stream) != 0) fail();
  free(query);
  print_stream("query", &stream);

  taco_sample *roots, sample;
  size_t children;
  if (taco_children(dataset, NULL, &roots, &children) != 0) fail();
  printf("{\"roots\": [");
  for (size_t at = 0; at < children; at++) {
    char *id = taco_id(dataset, roots[at]);
    if (id == NULL) fail();
    printf("%s{\"id\": \"%s\", \"folder\": %d}", at ? ", " : "", id, taco_is_folder(dataset, roots[at]));
    taco_free(id);
  }
  printf("]}\n");
  taco_free(roots);

  uint8_t *bytes;
  size_t size;
  if (taco_find(dataset, arguments[3], &sample) != 0 || taco_read(dataset, sample, &bytes, &size) != 0) fail();
  uint64_t sum = 0;
  for (size_t at = 0; at < size; at++) sum += bytes[at];
  taco_free(bytes);
  char *path = taco_gdal_path(dataset, sample);
  if (path == NULL) fail();
  printf("{\"size\": %zu, \"sum\": %llu, \"level\": %u}\n", size, (unsigned long long)sum, sample.level);
  taco_free(path);

  taco_pixels pixels;
  if (taco_read_pixels(dataset, sample, "{\"bands\": [1], \"window\": [0, 0, 2, 2]}", &pixels) != 0) fail();
  printf("{\"shape\": [%zu, %zu, %zu], \"dtype\": \"%s\", \"bytes\": %zu}\n", pixels.shape[0], pixels.shape[1], pixels.shape[2], pixels.dtype,
         pixels.bytes);
  taco_free(pixels.values);
  taco_free(pixels.valid);
  taco_close(dataset);

  char *operations = taco_operations();
  if (operations == NULL || strstr(operations, "\"validate\"") == NULL) fail();
  taco_free(operations);
  length = strlen(arguments[1]) + 64;
  char *request = malloc(length);
  snprintf(request, length, "{\"input\": \"%s\", \"deep\": true}", arguments[1]);
  char *report = taco_operate("validate", request);
  free(request);
  if (report == NULL) fail();
  puts(report);
  taco_free(report);

  /* What fails says why, and nothing ends the program. */
  taco_sample outside = {9, 9};
  if (taco_open("none.tacozip", NULL) != NULL || taco_last_error() == NULL) return 3;
  puts(taco_last_error());
  if (taco_open(NULL, NULL) != NULL || taco_levels(NULL) != -1 || taco_id(NULL, outside) != NULL) return 4;
  if (taco_operate("no_such", "{}") != NULL || taco_operate("validate", "{") != NULL) return 5;
  puts(taco_last_error());
  taco_close(NULL);
  taco_free(NULL);
  return 0;
}
