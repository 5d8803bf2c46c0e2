// TACO datasets in Octave, through the C library:
//
//   mkoctfile taco_studio.cc -I../../include -I.. -L/path/of/the/library -ltaco_studio_c
//
// taco_studio (COMMAND, …); levels and rows count from 0, as in TACO, and a sample is [level, row].
//
//   dataset = taco_studio ("open", PATH)            taco_studio ("open", PATH, OPTIONS): base_path, with, mode
//   taco_studio ("close", dataset)
//   about = taco_studio ("describe", dataset)       path, format, levels with their columns, collection and notes
//   table = taco_studio ("table", dataset, LEVEL)   the columns of a level
//   table = taco_studio ("query", dataset, SQL)     the columns of a statement over the tables data, level0, level1, …
//   sample = taco_studio ("find", dataset, PATH)    the sample at ids or positions: "roi_0007/s2/t02", "#7/#0"
//   samples = taco_studio ("children", dataset)     the samples of level 0, one a row; ("children", dataset, FOLDER): of a FOLDER
//   id = taco_studio ("id", dataset, sample)
//   is_folder = taco_studio ("is_folder", dataset, sample)
//   path = taco_studio ("gdal_path", dataset, sample)
//   bytes = taco_studio ("read", dataset, sample)
//   [pixels, valid] = taco_studio ("pixels", dataset, sample)   rows × columns × bands; ("pixels", dataset, sample, REQUEST): a struct
//                                                               with bands, window, size, resampling
//   list = taco_studio ("operations")
//   result = taco_studio ("operate", NAME, REQUEST) summary, sound and output of an operation
//   taco_studio ("allow_programs"), taco_studio ("allow_connect")
//   text = taco_studio ("version")
//
// A table is a struct of columns: numbers with NaN for NULL, logical values where none is NULL, cells of texts with [] for NULL, dates and
// timestamps as seconds since 1970-01-01 in UTC. Integers that a double does not hold are texts. Columns of lists, structs, bytes, decimal
// numbers and intervals are left out, with a warning. Errors have identifiers taco_studio:KIND.
#include "arrow_columns.h"
#include "taco_studio.h"

#include <map>
#include <string>

#include <octave/oct.h>
#include <octave/ov-struct.h>
#include <octave/parse.h>

// Open datasets by the number that the session has of them.
static std::map<unsigned, taco_dataset *> open_datasets;
static unsigned last_number = 0;

static octave_value decoded(const std::string &json) { return octave::feval("jsondecode", octave_value(json), 1)(0); }

static std::string encoded(const octave_value &value) {
  if (value.is_string()) return value.string_value();
  return octave::feval("jsonencode", octave_value(value), 1)(0).string_value();
}

[[noreturn]] static void stop_with_last_error() {
  const char *reason = taco_last_error();
  if (reason == nullptr) error("taco_studio: the call failed without a reason");
  octave_scalar_map failed = decoded(reason).scalar_map_value();
  std::string kind = failed.getfield("kind").string_value();
  error_with_id(("taco_studio:" + kind).c_str(), "%s", failed.getfield("message").string_value().c_str());
}

static std::string take_text(char *text) {
  if (text == nullptr) stop_with_last_error();
  std::string taken(text);
  taco_free(text);
  return taken;
}

static unsigned number_of(const octave_value &value, const char *what) {
  double number = value.xdouble_value("taco_studio: %s is not a number", what);
  if (!(number >= 0 && number <= UINT32_MAX)) error("taco_studio: %s is not a number of 32 bits", what);
  return static_cast<unsigned>(number);
}

static taco_sample sample_of(const octave_value &value) {
  NDArray numbers = value.xarray_value("taco_studio: a sample is [level, row]");
  if (numbers.numel() != 2) error("taco_studio: a sample is [level, row]");
  return {number_of(numbers(0), "the level"), number_of(numbers(1), "the row")};
}

static octave_value column_value(const table_column &column, octave_idx_type rows) {
  if (column.texts != nullptr) {
    Cell cells(rows, 1);
    for (octave_idx_type row = 0; row < rows; row++)
      cells(row) = column.valid[row] ? octave_value(std::string(column.texts[row])) : octave_value(Matrix());
    return octave_value(cells);
  }
  bool is_whole = true;
  for (octave_idx_type row = 0; row < rows; row++) is_whole &= column.valid[row] != 0;
  if (column.type == COLUMN_BOOLEAN && is_whole) {
    boolNDArray truths(dim_vector(rows, 1));
    for (octave_idx_type row = 0; row < rows; row++) truths(row) = column.numbers[row] != 0;
    return octave_value(truths);
  }
  double seconds = column.type == COLUMN_DATE ? 86400 : 1;
  NDArray numbers(dim_vector(rows, 1));
  for (octave_idx_type row = 0; row < rows; row++) numbers(row) = column.valid[row] ? column.numbers[row] * seconds : octave::numeric_limits<double>::NaN();
  return octave_value(numbers);
}

static octave_value columns_of(struct ArrowArrayStream *stream) {
  column_table table;
  char reason[1024];
  if (read_columns(stream, &table, reason, sizeof reason) != 0) error("taco_studio: %s", reason);
  octave_scalar_map columns;
  std::string left_out;
  for (size_t at = 0; at < table.count; at++) {
    const table_column &column = table.columns[at];
    if (column.type == COLUMN_LEFT_OUT) left_out += (left_out.empty() ? "" : ", ") + std::string(column.name);
    else columns.setfield(column.name, column_value(column, static_cast<octave_idx_type>(table.rows)));
  }
  free_columns(&table);
  if (!left_out.empty()) warning_with_id("taco_studio:left_out", "columns of types that a table here has not: %s", left_out.c_str());
  return octave_value(columns);
}

// Values of C in rows as an array of Octave, in columns.
template <typename NumberArray, typename Number>
static octave_value transposed(const taco_pixels &pixels) {
  const Number *values = reinterpret_cast<const Number *>(pixels.values);
  octave_idx_type bands = pixels.shape[0], rows = pixels.shape[1], columns = pixels.shape[2];
  NumberArray array(dim_vector(rows, columns, bands));
  for (octave_idx_type band = 0; band < bands; band++)
    for (octave_idx_type row = 0; row < rows; row++)
      for (octave_idx_type column = 0; column < columns; column++) array(row, column, band) = *values++;
  return octave_value(array);
}

static octave_value pixel_values(const taco_pixels &pixels) {
  std::string dtype(pixels.dtype);
  if (dtype == "uint8") return transposed<uint8NDArray, uint8_t>(pixels);
  if (dtype == "int8") return transposed<int8NDArray, int8_t>(pixels);
  if (dtype == "uint16") return transposed<uint16NDArray, uint16_t>(pixels);
  if (dtype == "int16") return transposed<int16NDArray, int16_t>(pixels);
  if (dtype == "uint32") return transposed<uint32NDArray, uint32_t>(pixels);
  if (dtype == "int32") return transposed<int32NDArray, int32_t>(pixels);
  if (dtype == "uint64") return transposed<uint64NDArray, uint64_t>(pixels);
  if (dtype == "int64") return transposed<int64NDArray, int64_t>(pixels);
  if (dtype == "float32") return transposed<FloatNDArray, float>(pixels);
  return transposed<NDArray, double>(pixels);
}

static octave_value_list read_pixels(taco_dataset *dataset, taco_sample sample, const char *request) {
  taco_pixels pixels;
  if (taco_read_pixels(dataset, sample, request, &pixels) != 0) stop_with_last_error();
  octave_value values = pixel_values(pixels);
  boolNDArray valid(values.dims(), true);
  if (pixels.valid != nullptr) {
    taco_pixels flags = pixels;
    flags.values = pixels.valid;
    valid = transposed<uint8NDArray, uint8_t>(flags).bool_array_value();
  }
  taco_free(pixels.values);
  taco_free(pixels.valid);
  return ovl(values, valid);
}

static octave_value children_of(taco_dataset *dataset, const octave_value_list &args) {
  taco_sample folder = {0, 0}, *samples;
  size_t count;
  if (args.length() > 2) folder = sample_of(args(2));
  if (taco_children(dataset, args.length() > 2 ? &folder : nullptr, &samples, &count) != 0) stop_with_last_error();
  Matrix rows(count, 2);
  for (size_t at = 0; at < count; at++) {
    rows(at, 0) = samples[at].level;
    rows(at, 1) = samples[at].row;
  }
  taco_free(samples);
  return octave_value(rows);
}

static octave_value_list read_bytes(taco_dataset *dataset, taco_sample sample) {
  uint8_t *bytes;
  size_t size;
  if (taco_read(dataset, sample, &bytes, &size) != 0) stop_with_last_error();
  uint8NDArray values(dim_vector(1, size));
  for (size_t at = 0; at < size; at++) values(at) = bytes[at];
  taco_free(bytes);
  return ovl(values);
}

DEFUN_DLD(taco_studio, args, , "taco_studio (COMMAND, …): TACO datasets; taco_studio.cc lists the commands.") {
  if (args.length() == 0) print_usage();
  // The library has threads of its own: it stays loaded until the session ends.
  octave::interpreter::the_interpreter()->mlock();
  std::string command = args(0).xstring_value("taco_studio: the command is a text");
  auto need = [&](octave_idx_type count) {
    if (args.length() < count) error("taco_studio: %s takes more arguments", command.c_str());
  };
  if (command == "version") return ovl(std::string(taco_version()));
  if (command == "operations") return ovl(decoded(take_text(taco_operations())));
  if (command == "allow_programs") return taco_allow_programs(), octave_value_list();
  if (command == "allow_connect") return taco_allow_connect(), octave_value_list();
  need(2);
  if (command == "open") {
    std::string path = args(1).xstring_value("taco_studio: the path is a text");
    std::string options = args.length() > 2 ? encoded(args(2)) : "{}";
    taco_dataset *dataset = taco_open(path.c_str(), options.c_str());
    if (dataset == nullptr) stop_with_last_error();
    open_datasets[++last_number] = dataset;
    return ovl(last_number);
  }
  if (command == "operate") {
    std::string name = args(1).xstring_value("taco_studio: the name is a text");
    std::string request = args.length() > 2 ? encoded(args(2)) : "{}";
    return ovl(decoded(take_text(taco_operate(name.c_str(), request.c_str()))));
  }
  unsigned number = number_of(args(1), "the dataset");
  if (open_datasets.count(number) == 0) error("taco_studio: the dataset is closed");
  taco_dataset *dataset = open_datasets[number];
  if (command == "close") {
    taco_close(dataset);
    open_datasets.erase(number);
    return octave_value_list();
  }
  if (command == "describe") return ovl(decoded(take_text(taco_describe(dataset))));
  if (command == "children") return ovl(children_of(dataset, args));
  need(3);
  struct ArrowArrayStream stream;
  if (command == "table") {
    if (taco_table(dataset, number_of(args(2), "the level"), &stream) != 0) stop_with_last_error();
    return ovl(columns_of(&stream));
  }
  if (command == "query") {
    octave_scalar_map query;
    query.setfield("sql", args(2).xstring_value("taco_studio: the statement is a text"));
    if (taco_query(dataset, encoded(octave_value(query)).c_str(), &stream) != 0) stop_with_last_error();
    return ovl(columns_of(&stream));
  }
  if (command == "find") {
    taco_sample found;
    std::string path = args(2).xstring_value("taco_studio: the path is a text");
    if (taco_find(dataset, path.c_str(), &found) != 0) stop_with_last_error();
    RowVector value(2);
    value(0) = found.level;
    value(1) = found.row;
    return ovl(value);
  }
  taco_sample sample = sample_of(args(2));
  if (command == "id") return ovl(take_text(taco_id(dataset, sample)));
  if (command == "gdal_path") return ovl(take_text(taco_gdal_path(dataset, sample)));
  if (command == "read") return read_bytes(dataset, sample);
  if (command == "is_folder") {
    int folder = taco_is_folder(dataset, sample);
    if (folder < 0) stop_with_last_error();
    return ovl(folder == 1);
  }
  if (command == "pixels") {
    std::string request = args.length() > 3 ? encoded(args(3)) : "{}";
    return read_pixels(dataset, sample, request.c_str());
  }
  error("taco_studio: there is no command %s", command.c_str());
}
