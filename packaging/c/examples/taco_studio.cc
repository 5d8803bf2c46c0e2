/* Taco Studio for Octave, by the C library: one function, taco_studio(COMMAND, ...).
 *
 *   mkoctfile -I../include -L/path/of/the/library -ltaco_studio_c -Wl,-rpath,/path/of/the/library taco_studio.cc
 */
#include <octave/Cell.h>
#include <octave/error.h>
#include <octave/interpreter.h>
#include <octave/lo-ieee.h>
#include <octave/oct-map.h>
#include <octave/oct.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arrow_columns.h"
#include "taco_studio.h"

namespace {

/* What is released at the end of its block, also when an error of Octave leaves it. */
struct FreeMemory {
  void operator()(void *memory) const { taco_free(memory); }
};
template <class T> using Owned = std::unique_ptr<T, FreeMemory>;

struct Table : arrow_table {
  Table() : arrow_table() {}
  Table(const Table &) = delete;
  ~Table() { arrow_release(this); }
};

/* Open datasets by their number, from 1. What is open when Octave ends is left to the system. */
std::map<int, taco_dataset *> &open_datasets() {
  static auto *open = new std::map<int, taco_dataset *>;
  return *open;
}

/* --- JSON, for which Octave has functions from version 7 on --- */

/* Reads what the library writes. Objects are structs, arrays of numbers columns, other arrays cells, null is []; integers from 2^53 on are
 * texts. */
struct JsonReader {
  const char *at;

  void skip_spaces() { at += strspn(at, " \t\r\n"); }

  octave_value read_value() {
    skip_spaces();
    switch (*at) {
      case '{': return read_object();
      case '[': return read_array();
      case '"': return octave_value(read_text());
      case 't': at += 4; return octave_value(true);
      case 'f': at += 5; return octave_value(false);
      case 'n': at += 4; return octave_value(Matrix());
      default: return read_number();
    }
  }

  octave_value read_number() {
    std::string text(at, strspn(at, "+-.0123456789eE"));
    if (text.empty()) error("taco_studio: the JSON of the library can't be read");
    at += text.size();
    double number = std::strtod(text.c_str(), nullptr);
    bool is_exact = std::fabs(number) < LARGEST_EXACT || text.find_first_of(".eE") != std::string::npos;
    return is_exact ? octave_value(number) : octave_value(text);
  }

  std::string read_text() {
    std::string text;
    for (at++; *at != '"' && *at != '\0'; at++) {
      if (*at != '\\') {
        text += *at;
        continue;
      }
      switch (*++at) {
        case 'n': text += '\n'; break;
        case 'r': text += '\r'; break;
        case 't': text += '\t'; break;
        case 'b': text += '\b'; break;
        case 'f': text += '\f'; break;
        case 'u':
          /* The library writes control characters alone so. */
          text += static_cast<char>(std::strtol(std::string(at + 1, 4).c_str(), nullptr, 16));
          at += 4;
          break;
        default: text += *at;
      }
    }
    at++;
    return text;
  }

  /* True, behind it, at the end of an array or object; else at the next item. */
  bool ends(char mark) {
    skip_spaces();
    if (*at == ',') at++;
    skip_spaces();
    if (*at != mark && *at != '\0') return false;
    at++;
    return true;
  }

  octave_value read_array() {
    std::vector<octave_value> items;
    bool are_numbers = true;
    for (at++; !ends(']'); are_numbers = are_numbers && items.back().is_double_type() && items.back().is_real_scalar())
      items.push_back(read_value());
    octave_idx_type count = static_cast<octave_idx_type>(items.size());
    if (are_numbers && count > 0) {
      ColumnVector numbers(count);
      for (octave_idx_type item = 0; item < count; item++) numbers(item) = items[item].double_value();
      return octave_value(numbers);
    }
    Cell cells(count, 1);
    for (octave_idx_type item = 0; item < count; item++) cells(item) = items[item];
    return octave_value(cells);
  }

  octave_value read_object() {
    octave_scalar_map fields;
    for (at++; !ends('}');) {
      std::string name = read_text();
      skip_spaces();
      at++;
      fields.setfield(name, read_value());
    }
    return octave_value(fields);
  }
};

octave_value from_json(const char *text) { return JsonReader{text}.read_value(); }

std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (char letter : text) {
    char escape[8];
    snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(letter));
    if (static_cast<unsigned char>(letter) < 0x20) quoted += escape;
    else quoted += (letter == '"' || letter == '\\' ? "\\" : "") + std::string(1, letter);
  }
  return quoted + "\"";
}

std::string number_text(double number, bool is_logical) {
  char text[32];
  if (is_logical) return number != 0 ? "true" : "false";
  if (!std::isfinite(number)) return "null";
  bool is_integer = number == std::round(number) && std::fabs(number) <= LARGEST_EXACT;
  snprintf(text, sizeof text, is_integer ? "%.0f" : "%.15g", number);
  if (std::strtod(text, nullptr) != number) snprintf(text, sizeof text, "%.17g", number);
  return text;
}

/* A value as JSON. Cells, and arrays of several values, are arrays; [] is null, as where JSON is read. */
std::string to_json(const octave_value &value) {
  if (value.is_string()) return quote(value.string_value());
  std::string items;
  if (value.isstruct() && value.numel() == 1) {
    octave_scalar_map fields = value.scalar_map_value();
    for (auto field = fields.begin(); field != fields.end(); field++)
      items += (items.empty() ? "" : ",") + quote(fields.key(field)) + ":" + to_json(fields.contents(field));
    return "{" + items + "}";
  }
  bool is_known = value.iscell() || value.isnumeric() || value.islogical();
  if (!is_known) error("taco_studio: a %s is not a value of JSON", value.class_name().c_str());
  if (value.iscell()) {
    Cell cells = value.cell_value();
    for (octave_idx_type at = 0; at < cells.numel(); at++) items += (at == 0 ? "" : ",") + to_json(cells(at));
    return "[" + items + "]";
  }
  NDArray numbers = value.array_value();
  if (numbers.dims().zero_by_zero()) return "null";
  for (octave_idx_type at = 0; at < numbers.numel(); at++)
    items += (at == 0 ? "" : ",") + number_text(numbers(at), value.islogical());
  return numbers.numel() == 1 ? items : "[" + items + "]";
}

/* --- arguments --- */

octave_value argument(const octave_value_list &arguments, int at, const char *what) {
  if (at >= arguments.length()) error("taco_studio: %s is missing", what);
  return arguments(at);
}

std::string text_argument(const octave_value_list &arguments, int at, const char *what) {
  return argument(arguments, at, what).xstring_value("taco_studio: %s is not a text", what);
}

taco_dataset *dataset_argument(const octave_value_list &arguments) {
  int number = argument(arguments, 1, "the dataset").xint_value("taco_studio: the dataset is not a number that \"open\" gave");
  auto found = open_datasets().find(number);
  if (found == open_datasets().end()) error("taco_studio: there is no open dataset %d", number);
  return found->second;
}

/* A request, a text of JSON or a struct, as JSON. "{}" when it is missing. */
std::string request_argument(const octave_value_list &arguments, int at) {
  if (at >= arguments.length()) return "{}";
  octave_value request = arguments(at);
  return request.is_string() ? request.string_value() : to_json(request);
}

/* Ends the command with the library's reason: its identifier is taco_studio:KIND, and taco_studio("last_error") has place and hints. */
[[noreturn]] void fail() {
  const char *reason = taco_last_error();
  std::string json = reason == nullptr ? "{}" : reason;
  octave_scalar_map fields = from_json(json.c_str()).scalar_map_value();
  std::string text = fields.getfield("message").string_value();
  Cell hints = fields.getfield("hints").cell_value();
  for (octave_idx_type at = 0; at < hints.numel(); at++) text += "\n  try: " + hints(at).string_value();
  error_with_id(("taco_studio:" + fields.getfield("kind").string_value()).c_str(), "%s", text.c_str());
}

octave_value text_or_fail(char *text) {
  Owned<char> owned(text);
  if (!owned) fail();
  return octave_value(owned.get());
}

octave_value json_or_fail(char *text) {
  Owned<char> owned(text);
  if (!owned) fail();
  return from_json(owned.get());
}

taco_sample sample_argument(const taco_dataset *dataset, const octave_value_list &arguments) {
  taco_sample sample;
  if (taco_find(dataset, text_argument(arguments, 2, "the sample").c_str(), &sample) != 0) fail();
  return sample;
}

/* --- tables --- */

octave_value bytes_value(const char *bytes, size_t length) {
  uint8NDArray values(dim_vector(1, static_cast<octave_idx_type>(length)));
  if (length > 0) memcpy(values.fortran_vec(), bytes, length);
  return octave_value(values);
}

/* Numbers; NA for NULL. Seconds since 1970-01-01 UTC for dates, too. */
octave_value numbers_value(const arrow_table &table, int64_t at, const arrow_column &column) {
  ColumnVector values(static_cast<octave_idx_type>(table.rows), octave_NA);
  double *out = values.fortran_vec();
  for (arrow_cell cell = arrow_before(&table, at); arrow_next(&cell); out++)
    if (!arrow_is_null(&column, &cell)) *out = arrow_number(&column, &cell) * (column.kind == COLUMN_DATE ? 86400 : 1);
  return octave_value(values);
}

octave_value booleans_value(const arrow_table &table, int64_t at, const arrow_column &column) {
  boolNDArray values(dim_vector(static_cast<octave_idx_type>(table.rows), 1));
  bool *out = values.fortran_vec();
  for (arrow_cell cell = arrow_before(&table, at); arrow_next(&cell); out++) *out = arrow_number(&column, &cell) != 0;
  return octave_value(values);
}

/* Texts, bytes, and integers that no number of Octave's doubles is; NA for NULL. */
octave_value cells_value(const arrow_table &table, int64_t at, const arrow_column &column) {
  Cell values(static_cast<octave_idx_type>(table.rows), 1, octave_value(octave_NA));
  octave_idx_type row = 0;
  for (arrow_cell cell = arrow_before(&table, at); arrow_next(&cell); row++) {
    if (arrow_is_null(&column, &cell)) continue;
    size_t length;
    char number[24];
    if (column.kind == COLUMN_TEXT || column.kind == COLUMN_BYTES) {
      const char *bytes = arrow_bytes(&column, &cell, &length);
      values(row) = column.kind == COLUMN_TEXT ? octave_value(std::string(bytes, length)) : bytes_value(bytes, length);
    } else {
      arrow_write_integer(&column, &cell, number);
      values(row) = octave_value(number);
    }
  }
  return octave_value(values);
}

/* A struct with a field for each column that Octave has values for; a warning names the others. */
octave_value table_value(struct ArrowArrayStream &stream) {
  Table table;
  if (arrow_collect(&stream, &table) != 0) error("taco_studio: %s", table.problem);
  octave_scalar_map fields;
  std::string left_out;
  for (int64_t at = 0; at < table.schema.n_children; at++) {
    const struct ArrowSchema *schema = table.schema.children[at];
    arrow_column column = arrow_describe(schema);
    if (fields.isfield(column.name)) error("taco_studio: two columns are called %s", column.name);
    if (column.kind == COLUMN_OTHER)
      left_out += (left_out.empty() ? "" : ", ") + std::string(column.name) + " (" + arrow_other(schema) + ")";
    else if (column.kind == COLUMN_TEXT || column.kind == COLUMN_BYTES || !arrow_is_exact(&table, at))
      fields.setfield(column.name, cells_value(table, at, column));
    else if (column.kind == COLUMN_BOOL && !arrow_has_nulls(&table, at))
      fields.setfield(column.name, booleans_value(table, at, column));
    else
      fields.setfield(column.name, numbers_value(table, at, column));
  }
  if (!left_out.empty()) warning_with_id("taco_studio:left_out", "left out: %s", left_out.c_str());
  return octave_value(fields);
}

/* --- pixels --- */

/* rows x columns x bands of an array of bands x rows x columns. */
template <class Array, class T> Array image_of(const taco_pixels &pixels, const T *values) {
  octave_idx_type bands = pixels.shape[0], rows = pixels.shape[1], columns = pixels.shape[2];
  Array image(dim_vector(rows, columns, bands));
  auto *out = image.fortran_vec();
  for (octave_idx_type band = 0; band < bands; band++)
    for (octave_idx_type column = 0; column < columns; column++)
      for (octave_idx_type row = 0; row < rows; row++) *out++ = values[(band * rows + row) * columns + column];
  return image;
}

template <class Array, class T> octave_value pixels_value(const taco_pixels &pixels) {
  size_t count = pixels.shape[0] * pixels.shape[1] * pixels.shape[2];
  if (count * sizeof(T) != pixels.bytes) error("taco_studio: the pixels do not fit their shape");
  return octave_value(image_of<Array>(pixels, reinterpret_cast<const T *>(pixels.values)));
}

octave_value values_of(const taco_pixels &pixels) {
  static const std::map<std::string, octave_value (*)(const taco_pixels &)> known = {
      {"uint8", pixels_value<uint8NDArray, uint8_t>},   {"int16", pixels_value<int16NDArray, int16_t>},
      {"uint16", pixels_value<uint16NDArray, uint16_t>}, {"int32", pixels_value<int32NDArray, int32_t>},
      {"uint32", pixels_value<uint32NDArray, uint32_t>}, {"int64", pixels_value<int64NDArray, int64_t>},
      {"uint64", pixels_value<uint64NDArray, uint64_t>}, {"float32", pixels_value<FloatNDArray, float>},
      {"float64", pixels_value<NDArray, double>}};
  auto found = known.find(pixels.dtype);
  if (found == known.end()) error("taco_studio: pixels of %s are not read here", pixels.dtype);
  return found->second(pixels);
}

octave_value_list read_pixels(const octave_value_list &arguments) {
  taco_dataset *dataset = dataset_argument(arguments);
  taco_sample sample = sample_argument(dataset, arguments);
  taco_pixels pixels;
  if (taco_read_pixels(dataset, sample, request_argument(arguments, 3).c_str(), &pixels) != 0) fail();
  Owned<uint8_t> values(pixels.values), valid(pixels.valid);
  octave_value image = values_of(pixels);
  if (valid) return ovl(image, image_of<boolNDArray>(pixels, valid.get()));
  return ovl(image, boolNDArray(image.dims(), true));
}

/* --- samples --- */

octave_value read_children(const octave_value_list &arguments) {
  taco_dataset *dataset = dataset_argument(arguments);
  bool has_folder = arguments.length() > 2;
  taco_sample folder = {0, 0}, *list;
  if (has_folder) folder = sample_argument(dataset, arguments);
  size_t count;
  if (taco_children(dataset, has_folder ? &folder : nullptr, &list, &count) != 0) fail();
  Owned<taco_sample> samples(list);
  Cell ids(static_cast<octave_idx_type>(count), 1);
  boolNDArray folders(dim_vector(static_cast<octave_idx_type>(count), 1));
  for (size_t at = 0; at < count; at++) {
    ids(at) = text_or_fail(taco_id(dataset, samples.get()[at]));
    folders(at) = taco_is_folder(dataset, samples.get()[at]) == 1;
  }
  octave_scalar_map children;
  children.setfield("id", ids);
  children.setfield("folder", folders);
  return octave_value(children);
}

octave_value read_bytes(const octave_value_list &arguments) {
  taco_dataset *dataset = dataset_argument(arguments);
  taco_sample sample = sample_argument(dataset, arguments);
  uint8_t *bytes;
  size_t size;
  if (taco_read(dataset, sample, &bytes, &size) != 0) fail();
  Owned<uint8_t> owned(bytes);
  return bytes_value(reinterpret_cast<const char *>(bytes), size);
}

octave_value open_dataset(const octave_value_list &arguments) {
  std::string path = text_argument(arguments, 1, "the path"), options = request_argument(arguments, 2);
  taco_dataset *dataset = taco_open(path.c_str(), options.c_str());
  if (dataset == nullptr) fail();
  int number = open_datasets().empty() ? 1 : open_datasets().rbegin()->first + 1;
  open_datasets()[number] = dataset;
  return octave_value(number);
}

octave_value_list close_dataset(const octave_value_list &arguments) {
  taco_close(dataset_argument(arguments));
  open_datasets().erase(arguments(1).int_value());
  return ovl();
}

octave_value read_table(const octave_value_list &arguments) {
  taco_dataset *dataset = dataset_argument(arguments);
  int level = arguments.length() > 2 ? arguments(2).xint_value("taco_studio: the level is not a number") : 0;
  if (level < 0) error("taco_studio: levels are counted from 0");
  struct ArrowArrayStream stream;
  if (taco_table(dataset, static_cast<uint32_t>(level), &stream) != 0) fail();
  return table_value(stream);
}

octave_value read_query(const octave_value_list &arguments) {
  taco_dataset *dataset = dataset_argument(arguments);
  octave_value query = argument(arguments, 2, "the query");
  if (query.is_string()) {
    octave_scalar_map fields;
    fields.setfield("sql", query);
    query = octave_value(fields);
  }
  std::string request = to_json(query);
  struct ArrowArrayStream stream;
  if (taco_query(dataset, request.c_str(), &stream) != 0) fail();
  return table_value(stream);
}

octave_value_list run_command(const std::string &command, const octave_value_list &arguments) {
  if (command == "version") return ovl(taco_version());
  if (command == "last_error") return ovl(from_json(taco_last_error() == nullptr ? "null" : taco_last_error()));
  if (command == "json") return ovl(to_json(argument(arguments, 1, "the value")));
  if (command == "open") return ovl(open_dataset(arguments));
  if (command == "close") return close_dataset(arguments);
  if (command == "levels") return ovl(taco_levels(dataset_argument(arguments)));
  if (command == "describe") return ovl(json_or_fail(taco_describe(dataset_argument(arguments))));
  if (command == "table") return ovl(read_table(arguments));
  if (command == "query") return ovl(read_query(arguments));
  if (command == "children") return ovl(read_children(arguments));
  if (command == "read") return ovl(read_bytes(arguments));
  if (command == "pixels") return read_pixels(arguments);
  if (command == "gdal_path") {
    taco_dataset *dataset = dataset_argument(arguments);
    return ovl(text_or_fail(taco_gdal_path(dataset, sample_argument(dataset, arguments))));
  }
  if (command == "operations") return ovl(json_or_fail(taco_operations()));
  if (command == "operate") {
    std::string name = text_argument(arguments, 1, "the name of the operation");
    return ovl(json_or_fail(taco_operate(name.c_str(), request_argument(arguments, 2).c_str())));
  }
  if (command == "allow_programs") return taco_allow_programs(), ovl();
  if (command == "allow_connect") return taco_allow_connect(), ovl();
  error("taco_studio: there is no command %s; `help taco_studio` lists them", command.c_str());
}

}  // namespace

DEFMETHOD_DLD(taco_studio, interp, arguments, ,
              "taco_studio (COMMAND, ...)\n\
\n\
Reads TACO datasets and runs the operations of Taco Studio.\n\
\n\
  dataset = taco_studio (\"open\", PATH, OPTIONS)    a number; PATH may be an address; OPTIONS: base_path, with, mode\n\
  taco_studio (\"close\", dataset)\n\
  taco_studio (\"describe\", dataset)               path, format, levels with their columns, collection, notes\n\
  taco_studio (\"levels\", dataset)                 their number\n\
  taco_studio (\"table\", dataset, LEVEL)           of a level, from 0\n\
  taco_studio (\"query\", dataset, QUERY)           SQL, or a struct: sql, filters, steps, limit\n\
  taco_studio (\"children\", dataset, FOLDER)       ids in a FOLDER, or of level 0, and which are FOLDERs\n\
  taco_studio (\"read\", dataset, SAMPLE)           the bytes of a FILE; SAMPLE is ids or positions: roi_0007/s2/t02\n\
  taco_studio (\"gdal_path\", dataset, SAMPLE)      the path by which GDAL reads it\n\
  [values, valid] = taco_studio (\"pixels\", dataset, SAMPLE, REQUEST)   rows x columns x bands; valid is false where\n\
                                                  there is no data; REQUEST: bands, window, size, resampling\n\
  taco_studio (\"operations\")                      name, purpose and request of each operation\n\
  taco_studio (\"operate\", NAME, REQUEST)          summary, sound, output\n\
  taco_studio (\"allow_programs\"), taco_studio (\"allow_connect\"), taco_studio (\"version\")\n\
  taco_studio (\"json\", VALUE)                     a value as JSON\n\
  taco_studio (\"last_error\")                      kind, message, place and hints of the last failure of the library\n\
\n\
A table is a struct with a column in each field: t.(\"stac:crs\"). Texts and bytes are cells; dates and times seconds\n\
since 1970-01-01 UTC, as time () gives; NULL is NA, and a column of booleans with NULL one of numbers. 64-bit integers\n\
are numbers where doubles have all of a column exactly, else texts. A warning (taco_studio:left_out) names the columns\n\
that are left out: lists, structs, decimals.\n\
\n\
OPTIONS and REQUEST are structs or texts of JSON. In a struct an array of one value is a cell: struct (\"bands\", {{1}}). Results that\n\
the library writes as JSON are structs, in which arrays of numbers are columns and other arrays cells.\n\
An error's identifier is taco_studio:KIND.") {
  /* The datasets outlive `clear all`. */
  interp.mlock();
  return run_command(text_argument(arguments, 0, "the command"), arguments);
}
