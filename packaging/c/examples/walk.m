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
function show_columns (from, table)
  for name = fieldnames (table)'
    values = table.(name{1});
    kind = class (values);
    if (! iscell (values))
      values = num2cell (values);
    end
    show ("from", from, "column", name{1}, "class", kind, "values", values);
  end
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

show_columns ("table", taco_studio ("table", dataset));
show_columns ("query", taco_studio ("query", dataset, sql));

show ("roots", taco_studio ("children", dataset).id);
bytes = taco_studio ("read", dataset, sample);
show ("size", numel (bytes), "sum", sum (double (bytes)), "path", taco_studio ("gdal_path", dataset, sample));
[pixels, valid] = taco_studio ("pixels", dataset, sample, struct ("window", [1, 0, 3, 2]));
last = double (pixels(:, :, end));
last(! valid(:, :, end)) = NA;
shape = arrayfun (@(side) size (pixels, side), 1:3);
show ("shape", shape, "type", class (pixels), "last_band", {last(1, :), last(2, :)});

report = taco_studio ("operate", "validate", struct ("input", path, "deep", true));
show ("sound", report.sound, "summary", report.summary, "findings", numel (report.output.findings));
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
