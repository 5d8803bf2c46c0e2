% Walks a dataset: octave-cli walk.m DATASET SQL SAMPLE. Prints one line of JSON for each thing that the library gives.
% taco_studio.oct is beside this file.
1;
function show (varargin)
  value = struct ();
  for at = 1:2:numel (varargin)
    value.(varargin{at}) = varargin{at + 1};
  end
  disp (taco_studio ("json", value));
end
function show_failure (failure)
  reason = taco_studio ("last_error");
  show ("identifier", failure.identifier, "message", failure.message, "kind", reason.kind, "place", reason.place, ...
        "hints", reason.hints);
end

words = argv ();
if (numel (words) != 3)
  error ("usage: octave-cli walk.m DATASET SQL SAMPLE");
end
addpath (fileparts (mfilename ("fullpath")));
[path, sql, sample] = words{:};

dataset = taco_studio ("open", path);
description = taco_studio ("describe", dataset);
show ("version", taco_studio ("version"), "levels", taco_studio ("levels", dataset), "title", description.collection.title);

table = taco_studio ("table", dataset);
show ("rows", numel (table.id), "columns", fieldnames (table));

answer = taco_studio ("query", dataset, sql);
for name = fieldnames (answer)'
  values = answer.(name{1});
  kind = class (values);
  if (! iscell (values))
    values = num2cell (values);
  end
  show ("column", name{1}, "class", kind, "values", values);
end

show ("roots", taco_studio ("children", dataset).id);
bytes = taco_studio ("read", dataset, sample);
show ("size", numel (bytes), "sum", sum (double (bytes)), "path", taco_studio ("gdal_path", dataset, sample));
[pixels, valid] = taco_studio ("pixels", dataset, sample, '{"bands": [1], "window": [1, 0, 3, 2]}');
shape = arrayfun (@(side) size (pixels, side), 1:3);
show ("shape", shape, "type", class (pixels), "first_row", pixels(1, :, 1), "second_row", pixels(2, :, 1), "valid", all (valid(:)));

report = taco_studio ("operate", "validate", struct ("input", path, "deep", true));
show ("sound", report.sound, "summary", report.summary);
show ("operations", cellfun (@(operation) operation.name, taco_studio ("operations"), "UniformOutput", false));

% What fails says why.
try
  taco_studio ("open", "none.tacozip");
catch failure
  show_failure (failure);
end
try
  taco_studio ("query", dataset, "SELECT no_such_column FROM data");
catch failure
  show_failure (failure);
end
try
  taco_studio ("table", dataset, 9);
catch failure
  show_failure (failure);
end
taco_studio ("close", dataset);
try
  taco_studio ("levels", dataset);
catch failure
  show ("closed", failure.message);
end
