% Walks a dataset: octave-cli --path FOLDER_OF_THE_OCT_FILE walk.m DATASET SQL SAMPLE. Prints one line of JSON for each thing that the
% library gives.
words = argv ();
if numel (words) != 3
  error ("usage: octave-cli walk.m DATASET SQL SAMPLE");
end
warning ("on", "taco_studio:left_out");
show = @(value) printf ("%s\n", jsonencode (value));

dataset = taco_studio ("open", words{1});
about = taco_studio ("describe", dataset);
show (struct ("version", taco_studio ("version"), "levels", numel (about.levels)));
table = taco_studio ("table", dataset, 0);
show (struct ("rows", numel (table.id), "columns", {fieldnames(table)}));
show (struct ("query", taco_studio ("query", dataset, words{2})));
roots = taco_studio ("children", dataset);
ids = arrayfun (@(row) taco_studio ("id", dataset, roots(row, :)), 1:rows (roots), "UniformOutput", false);
show (struct ("roots", {ids}, "folder", taco_studio ("is_folder", dataset, roots(1, :))));
sample = taco_studio ("find", dataset, words{3});
bytes = taco_studio ("read", dataset, sample);
show (struct ("size", numel (bytes), "sum", sum (double (bytes)), "level", sample(1)));
[pixels, valid] = taco_studio ("pixels", dataset, sample, struct ("bands", {{1}}, "window", [0, 0, 3, 2]));
show (struct ("shape", [size(pixels), size(pixels, 3)], "first_row", pixels(1, :, 1), "first_column", pixels(:, 1, 1)', ...
  "valid", all (valid(:))));
taco_studio ("close", dataset);

report = taco_studio ("operate", "validate", struct ("input", words{1}, "deep", true));
show (struct ("sound", report.sound));
try
  taco_studio ("open", "missing.tacozip");
catch failed
  show (struct ("kind", failed.identifier, "message", failed.message));
end
