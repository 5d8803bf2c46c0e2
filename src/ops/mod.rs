//! Operations on datasets without a session: one blocking function for each verb, with typed input, a [`crate::jobs::JobContext`]
//! for progress, warnings and cancel, and typed output. The command line, the session and the window's panels call the same
//! functions. Must not know commands, documents or windows.

mod align_schema;
mod archive;
mod arrow_tensor;
mod byte_map;
mod catalogue;
mod check;
mod chunk;
mod command_line;
mod copy_as;
mod create;
mod describe;
pub mod doctor;
mod draft_of_assembly;
mod duplicate_ids;
mod edit;
mod export_subset;
mod extend;
mod filter;
mod first_rows;
mod folder_table;
mod footprints;
mod fork;
mod histograms;
mod import;
mod import_dataset;
mod layout;
mod leakage;
mod legacy;
mod migrate;
mod missing_parts;
mod optimise;
mod own_sources;
mod percentiles;
pub mod plan;
mod preview;
pub mod publish;
mod repair;
mod reset;
mod sample_data;
mod save_rows;
mod sidecars;
mod source_files;
mod stats;
mod summaries;
mod table_layout;
mod tables;
mod taco3;
mod thumbnails;
mod verify;
mod write;

pub use align_schema::align_schemas;
pub use archive::is_archive;
pub use byte_map::{ByteLayout, Part as BytePart, Stretch as ByteStretch, byte_layout};
pub use catalogue::{CatalogueChoice, is_catalogue};
pub use check::{check_dataset, check_draft, check_rasters};
pub use chunk::{
    ChunkArray, ChunkPlace, ChunkRequest, chunks_of, is_streamable, read_chunk, read_requested_chunk, save_chunk, split_chunk,
};
pub use command_line::{command_line, posix_line};
pub use copy_as::{copy_as, lacks_tables_for};
pub use create::{CreateInput, CreateOutput, create, warn_of_mended_names};
pub use describe::{DescribeRequest, describe_dataset, describe_to};
pub use draft_of_assembly::draft_of_assembly;
pub use edit::{DatasetEdit, EditWay, Edited, edit_dataset, plan_edit};
pub use export_subset::{ExportRequest, RowChoice, export_subset};
pub use extend::{ExtendInput, Extended, extend, extend_draft};
pub use filter::{Kept, kept};
pub use first_rows::{FirstRows, first_rows};
pub use folder_table::folder_table;
pub use footprints::{FootprintRequest, Footprints, OutlineKind, footprint_sources, footprints, times_of};
pub use fork::draft_of;
pub use histograms::{HistogramRequest, Scale, histograms};
pub use import::{Imported, import_folder, import_paths, import_scenes, is_data, is_folder_of_folders, join_metadata};
pub use import_dataset::{DatasetForm, DatasetImport, ImportedDataset, import_dataset};
pub use layout::{
    FoundLayout, LayoutChoice, LayoutProposal, LayoutRequest, ListContradiction, ProposedColumn, ProposedPosition, find_layout,
    layout_to_show, propose_layout, read_layout,
};
pub use leakage::{leakage_of_container, leakage_of_draft};
pub use legacy::{CompileRequest, EditRequest, Generation, compile, edit_tortilla, is_taco_name, write_first_generation};
pub use migrate::{
    Action, CollectionMapping, Conversion, FieldChoice, FieldMapping, MigrateRequest, Migrated, RenamedSample, is_other_generation,
    migrate,
};
pub use missing_parts::MissingParts;
pub use optimise::{KeptFile, OptimiseRequest, Optimised, optimise};
pub use own_sources::places_of;
pub use percentiles::{BandHistogram, BandPercentiles, PercentileRequest, Percentiles, PositionPercentiles, percentiles};
pub use preview::{
    DatasetOutline, EditableContents, IndexPreview, OptimisePreview, dataset_outline, editable_contents, folder_of_index,
    index_preview, optimise_preview, outline_of, zips_elsewhere,
};
pub use repair::{Repaired, repair};
pub use reset::reset;
pub use sample_data::{SAMPLE_FOLDER, make_sample_dataset};
pub use save_rows::{json_lines, row_format, save_rows};
pub use sidecars::{
    FilesKind, RasterWithSidecars, Sidecars, burn_in_sidecars, pack_sidecars, proposed_copies, rasters_with_sidecars,
};
pub use stats::{StatsRequest, pooled_statistics, pooled_statistics_of_draft};
pub use summaries::{Bars, ColumnSummary, SummaryRequest, as_numbers, bar_text, level_summary, summary_of};
pub use tables::{draft_tables, lazy_tables, query_dataset, tables_of};
pub use taco3::{FieldMove, LackingFiles, LibraryRun, RenamedMember, Taco3Prepared, Taco3Request, prepare_taco3};
pub use thumbnails::{Thumbnail, ThumbnailRequest, thumbnail};
pub use verify::{Depth, Verified, verify, written_paths};
pub use write::{checked_build, convert, export_asset};
