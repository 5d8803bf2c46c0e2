//! Operations on datasets without a session: each verb has a typed request, a
//! [`crate::jobs::JobContext`] for progress, warnings and cancel, and a typed output. A verb that
//! opens its datasets by path is an [`Operation`]; the others are functions. The command line, the
//! session and the window's panels use the same ones. Must not import commands, documents or
//! windows.

mod align_schema;
mod archive;
mod arrow_tensor;
mod byte_map;
mod catalogue;
mod check;
mod chunk;
mod command_line;
mod consolidate;
mod convert;
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
mod found_file;
mod histograms;
mod import;
mod import_dataset;
mod import_files;
mod inspect;
mod layout;
mod leakage;
mod legacy;
mod listing;
mod migrate;
mod missing_parts;
mod operation;
mod operation_list;
mod operation_schema;
mod optimise;
mod own_sources;
mod percentiles;
pub mod plan;
mod preview;
pub mod publish;
mod query;
mod remote_cache;
mod repair;
mod reset;
mod sample_data;
mod save_rows;
mod shards;
mod sidecars;
mod source_files;
mod stats;
mod summaries;
mod table_layout;
mod tables;
mod taco3;
mod thumbnails;
mod training_facts;
mod verify;
mod write;

pub use align_schema::align_schemas;
pub use archive::is_archive;
pub use byte_map::{ByteLayout, BytePart, ByteStretch, byte_layout};
pub use catalogue::{CatalogueChoice, is_catalogue};
pub use check::{ValidateRequest, check_draft, check_rasters};
pub use chunk::{
    ChunkArray, ChunkPlace, ChunkRequest, chunks_of, is_streamable, read_chunk,
    read_requested_chunk, save_chunk, split_chunk,
};
pub use command_line::{join_for_posix, join_for_shell};
pub use consolidate::ConsolidateRequest;
pub use convert::ConvertRequest;
pub use copy_as::{copy_as, lacks_tables_for};
pub use create::{CreateOutput, CreateRequest, warn_of_mended_names};
pub use describe::{DescribeRequest, describe_dataset, map_of_dataset, training_code_of};
pub use draft_of_assembly::draft_of_assembly;
pub use edit::{DatasetEdit, EditWay, Edited, edit_dataset, plan_edit};
pub use export_subset::{ExportRequest, RowChoice};
pub use extend::{ExtendRequest, Extended, extend_draft};
pub use filter::{KeptRows, find_matching_rows};
pub use first_rows::{FirstRows, first_rows};
pub use folder_table::folder_table;
pub use footprints::{
    FootprintRequest, Footprints, OutlineKind, footprint_sources, footprints, times_of,
};
pub use fork::draft_of;
pub use found_file::{check_folder_depth, is_data};
pub use histograms::{HistogramRequest, Scale};
pub use import::{
    Imported, import_folder, import_paths, import_scenes, is_folder_of_folders, join_metadata,
};
pub use import_dataset::{DatasetForm, DatasetImport, ImportedDataset, import_dataset};
pub use inspect::{InspectRequest, Inspected};
pub use layout::{
    FoundLayout, LayoutChoice, LayoutProposal, LayoutRequest, ListContradiction, ProposedColumn,
    ProposedPosition, find_layout, layout_to_show, propose_layout, read_layout,
};
pub use leakage::{DatasetLeakageRequest, leakage_of_container, leakage_of_draft};
pub use legacy::{CompileRequest, EditRequest, Generation, is_taco_name, write_first_generation};
pub use listing::{ExtensionList, ExtensionsRequest, RuleList, RulesRequest};
pub use migrate::{
    CollectionMapping, Conversion, FieldAction, FieldChoice, FieldMapping, MigrateRequest,
    Migrated, RenamedSample, is_other_generation,
};
pub use missing_parts::MissingParts;
pub use operation::{Operation, OperationOutput, PathUse, PathVisitor, WrittenFile};
pub use operation_list::{AnyOperation, AnyOutput, OperationDescription};
pub use optimise::{KeptFile, OptimiseRequest, Optimised};
pub use own_sources::places_of;
pub use percentiles::{
    BandHistogram, BandPercentiles, PercentileRequest, Percentiles, PositionPercentiles,
};
pub use preview::{
    DatasetOutline, EditableContents, IndexPreview, OptimisePreview, dataset_outline,
    editable_contents, folder_of_index, index_preview, optimise_preview, outline_of,
    zips_elsewhere,
};
pub use query::QueryRequest;
pub use remote_cache::RemoteCacheRequest;
pub use repair::{RepairRequest, Repaired};
pub use reset::reset;
pub use sample_data::{SAMPLE_FOLDER, make_sample_dataset};
pub use save_rows::{json_lines, row_format, save_rows};
pub use sidecars::{
    FilesKind, RasterWithSidecars, SidecarHandling, burn_in_sidecars, pack_sidecars,
    propose_copies_folder, rasters_with_sidecars,
};
pub use stats::{DatasetStatsRequest, StatsRequest, pooled_statistics};
pub use summaries::{
    Bars, ColumnSummary, SummaryRequest, as_numbers, bar_text, level_summary, summary_of,
};
pub use tables::{draft_tables, lazy_tables, tables_of};
pub use taco3::{FieldMove, LackingFiles, LibraryRun, RenamedMember, Taco3Prepared, Taco3Request};
pub use thumbnails::{Thumbnail, ThumbnailRequest, thumbnail};
pub use verify::{Depth, Verified, verify, written_paths};
pub use write::{checked_build, checked_build_with};
