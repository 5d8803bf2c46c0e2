//! The data model as plain data (TACO 2.0, part I): ids, values, samples, tortillas, the
//! collection, the tree, findings. No IO, no threads, no format details.

mod address;
mod asset;
mod collection;
mod common_shape;
mod consistency;
mod convention;
mod file_url;
mod finding;
mod hub;
mod hub_listing;
mod ids;
mod level_tortillas;
mod location;
mod name_pattern;
mod packed_member;
mod padding;
mod property;
mod row_ref;
mod rule;
mod sample;
mod shapes;
mod skeleton;
mod skeleton_update;
mod stamp;
mod studio_link;
mod taco3_types;
mod taco_0_2;
mod time;
mod url_encoding;
mod value;

pub use address::{Address, Scheme, is_remote, place_above, place_below, vsi_place};
pub use asset::AssetPath;
pub use collection::{
    COMPUTED_KEYS, Collection, EXTENT_ORIGIN, ExtentOrigin, KNOWN_KEYS, TASKS, UNKNOWN_LICENCE,
    UNKNOWN_PROVIDER, placeholder_description,
};
pub use common_shape::{CommonShape, ShapeChild, ShapeUse, common_shape};
pub use consistency::{
    AcceptedValue, Consistency, Outlier, OutlierMessage, Position, PropertyAgreement,
};
pub use convention::{
    CONVENTIONS, Convention, ConventionClass, ConventionContent, ConventionField,
};
pub use file_url::{file_url_of, path_of_file_url};
pub use finding::{FINDINGS_KEPT, Finding, Report};
pub use hub_listing::HubListing;
pub use ids::{
    DistinctFileNames, IdFault, MAX_FOLDER_NESTING, MAX_LEVELS, META_NAME, NameFault, NameNumbers,
    PAD_PREFIX, check_dataset_id, check_field_name, check_portable_name, check_sample_id,
    find_free_name, forms_of_name, id_matches, in_nfc, is_padding, list_numbered_names,
    portable_name, safe_relative, without_case,
};
pub use level_tortillas::{UnitedFields, list_tortillas_below};
pub use location::Location;
pub use name_pattern::{NamePart, NamePattern, PartKind};
pub use packed_member::{PackedCodec, PackedMember};
pub use padding::{PaddingNumbers, pad_to, padding_file, padding_id, padding_like};
pub use property::RasterProperty;
pub use row_ref::RowRef;
pub use rule::{Profile, Rule, RuleSettings, Severity, parse_rule_level};
pub use sample::{
    Dataset, NodePath, Payload, Sample, SampleKind, SamplePath, Schema, Tortilla, find_schema,
    no_values,
};
pub use shapes::{
    FILE_SHAPE, MostCommonShape, RootChanges, RootShape, RootShapes, ShapeId, Shapes,
};
pub use skeleton::{PitPattern, PitRoot, PitSchema, Skeleton, SkeletonLevel};
pub use stamp::{Modified, Stamp};
pub use studio_link::{StudioLink, is_studio_link};
pub use taco_0_2::{
    CORE_FIELDS, HISTOGRAM_BINS, HISTOGRAM_ENDS, SPLITS_0_2, SPLITS_OF_TOOLS_0_2, TASKS_0_2,
    TASKS_OF_TOOLS_0_2, missing_of_taco_0_2,
};
pub use taco3_types::taco3_type;
pub use time::parse_utc_time;
pub use value::{FieldSpec, Value, dtype_name, same_values};
