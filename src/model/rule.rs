//! The table of validation rules. The checks are elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;
use std::fmt;

/// Severity of a finding.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Readers refuse the dataset, or read wrong data.
    Error,
    /// The dataset is readable, but something is wrong or missing.
    Warning,
}

impl Severity {
    /// Name for users and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// The set of rules to check, where the specification and the official tools differ.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The specification.
    Spec,
    /// The current official reader and writers.
    #[default]
    Tools,
}

impl Profile {
    /// Name for users and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::Spec => "spec",
            Profile::Tools => "tools",
        }
    }
}

/// The profiles that contain a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Makes {
    Both,
    /// In both; an error with the profile of the specification, even if files of the official tools
    /// make it a warning by default.
    ErrorOfSpec,
    Spec,
    Tools,
}

macro_rules! rules {
    ($($name:ident $code:literal $severity:ident $makes:ident $section:literal mark!($what:literal) $fix:literal;)+) => {
        /// A validation rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $what] $name,)+ }

        impl Rule {
            /// All rules, in table order.
            pub const ALL: &[Rule] = &[$(Rule::$name,)+];

            /// Code in findings.
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)+ }
            }

            /// How bad a finding of this rule is, in the profile of the tools if that contains it;
            /// see also [`Rule::severity_in`].
            pub fn severity(self) -> Severity {
                match self { $(Rule::$name => Severity::$severity,)+ }
            }

            fn makes(self) -> Makes {
                match self { $(Rule::$name => Makes::$makes,)+ }
            }

            /// Section of the specification, or of the underlying format.
            pub fn section(self) -> &'static str {
                match self { $(Rule::$name => $section,)+ }
            }

            /// Requirement, one sentence.
            pub fn what(self) -> &'static str {
                match self { $(Rule::$name => $what,)+ }
            }

            /// How to resolve a finding, one sentence.
            pub fn fix(self) -> &'static str {
                match self { $(Rule::$name => $fix,)+ }
            }
        }
    };
}

rules! {
    PitRoots "PIT-1" Error Both "5.4"
        mark!("All roots have one shape: the same number of children, with the same ids and types \
            by position, at every depth.")
        "Add, drop or reorder the children named, or pad the position.";
    PitMixed "PIT-3" Error Both "6.1"
        mark!("All samples of level 0 have the same type.")
        "Wrap the FILEs of level 0 into tortillas, or drop the odd ones.";
    PitSchemaUniform "PIT-2" Error Both "5.4"
        mark!("All samples of a level have the same fields with the same types.")
        "Give the field one type everywhere; where it is missing, add it with nulls.";
    PitDepth "PIT-4" Error Both "6.5"
        mark!("A dataset has at most six levels.")
        "Flatten the tree.";
    PitEmptyFolder "PIT-5" Error Both "5.2"
        mark!("Every FOLDER has children.")
        "Add children, or drop the FOLDER.";
    PitDeclared "PIT-6" Error Both "6.3"
        mark!("taco:pit_schema describes the tree that the levels hold.")
        "Run `repair`, which computes it from the levels.";
    PitIncomplete "PIT-7" Warning Both "6.3"
        mark!("taco:pit_schema lists the pattern of every FOLDER: some tools leave out those of \
            sibling FOLDERs from level 2 on.")
        "Run `repair`, which computes it from the levels.";
    PitStale "PIT-8" Warning Both "6.3"
        mark!("The counts n and shape in taco:pit_schema are those of the levels: exports of some \
            tools keep the old ones.")
        "Run `repair`, which counts again.";
    PitPadding "PIT-9" Warning Both "6.3"
        mark!("taco:pit_schema names no padding: some tools list and count the placeholders.")
        "Remove the padding, or write the dataset again with padding only where a sample is \
            missing.";
    PitTransposed "PIT-10" Warning Both "5.4"
        mark!("The FOLDERs of level 0 are samples, not kinds of data: parallel folders with the \
            same file names, such as images and masks, are the other way around.")
        "Make one FOLDER for each name, with its file of every kind; or add the files in the \
            window and arrange them with Pattern.";
    IdCharacters "ID-1" Error Both "5.5.1"
        mark!("An id has no / \\ : or control character, is not empty, and does not begin with two \
            underscores.")
        "Rename the sample.";
    IdUnique "ID-2" Error Both "8.3"
        mark!("Ids are unique among siblings.")
        "Rename or drop one of them.";
    IdDataset "ID-3" Error Both "5.5.2"
        mark!("The dataset's id is lower-case letters, digits, _ and -.")
        "Choose another id, like peru-cropland-s2.";
    IdDatasetLetter "ID-7" Error Tools "5.5.2"
        mark!("The dataset's id has a lower-case letter: the current writer refuses digits and \
            signs alone.")
        "Put a word into the id, like peru-2023.";
    IdDatasetText "ID-6" Warning Spec "5.5.2"
        mark!("The dataset's id has no letters but a to z, as the specification can be read; \
            the tools accept those of any script.")
        "Write the id with letters from a to z.";
    FieldName "ID-4" Error Both "7.2"
        mark!("Field names are letters, digits and _, with at most one colon.")
        "Rename the field.";
    IdPortable "ID-5" Warning Both "5.5.1"
        mark!("Every system can hold an id as the name of a file: no device of Windows, no < > \" \
            | ? *, no dot or space at the end, no siblings that differ in case alone.")
        "Rename the sample, or keep the dataset in an archive.";
    IdUnicode "ID-8" Warning Both "5.5.1"
        mark!("Ids of siblings differ in more than their Unicode form: some systems and programs \
            compare names in one form.")
        "Rename one of them.";
    TypeWord "TYPE-1" Error Both "5.5.1"
        mark!("The type of a sample is FILE or FOLDER.")
        "Write FILE or FOLDER.";
    CollectionRead "COL-1" Error Both "5.5.2"
        mark!("COLLECTION.json exists and is a JSON object.")
        "Restore the file, or correct its JSON.";
    CollectionRequired "COL-2" Error Both "5.5.2"
        mark!("Every required field of the collection is filled.")
        "Fill the field.";
    CollectionType "COL-3" Error Both "5.5.2"
        mark!("Every field of the collection has the type that the specification gives.")
        "Write a value of the type that the message names.";
    CollectionContact "COL-4" Error Both "5.5.2"
        mark!("A contact has a name or an organization, and an address that could be one.")
        "Fill in the name, or correct the address.";
    CollectionExtent "COL-5" Error Both "5.5.2"
        mark!("The extent is [west, south, east, north] in degrees and [start, end] in ISO 8601.")
        "Correct the extent, or leave it out: it is then computed from the samples.";
    CollectionLicence "COL-6" Warning Both "5.5.2"
        mark!("Licences are SPDX identifiers.")
        "Choose an identifier of the SPDX list, like CC-BY-4.0.";
    CollectionTask "COL-7" Warning Both "5.5.2"
        mark!("Tasks are those that the tools accept.")
        "Choose a task of the list, or `other`.";
    CollectionTitle "COL-8" Error Both "5.5.2"
        mark!("The title has at most 250 characters.")
        "Shorten the title.";
    CollectionKeywords "COL-9" Warning Both "5.5.2"
        mark!("The dataset has keywords, so that a search finds it.")
        "Add keywords.";
    ExtentCovers "COL-10" Warning Both "5.5.2"
        mark!("The extent covers every centroid, or the middle of the footprint of samples without \
            one. Across the antimeridian its west is greater than its east.")
        "Run `repair`, which computes the extent from the samples.";
    ExtentHemisphere "COL-11" Warning Both "5.5.2"
        mark!("The extent covers eastern and western longitudes where samples have both: some \
            tools keep only the hemisphere with the wider span. Across the antimeridian its west \
            is greater than its east.")
        "Run `repair`, which computes the extent from the samples.";
    ExtentTimes "EXT-1" Warning Both "5.5.2"
        mark!("The temporal extent meets the time of every sample.")
        "Run `repair`, which computes the extent from the samples.";
    ExtentMiddles "EXT-2" Warning Spec "5.5.2"
        mark!("The temporal extent runs from the first start to the last end: the tools compute it \
            from the middles.")
        "Run `repair`, which computes the extent from the samples.";
    ExtentGlobal "EXT-3" Warning Both "5.5.2"
        mark!("The spatial extent is neither the whole world nor the long way around it where the \
            samples cover a part of it. Across the antimeridian its west is greater than its east.")
        "Run `repair`, which computes the extent from the samples.";
    ContactForm "COL-12" Warning Spec "5.5.2"
        mark!("Contacts are in the form of the specification: name, organization, email, role; the \
            tools write roles, url and links.")
        "Write the role as `role`; leave out url and links.";
    TacoVersion "COL-13" Warning Spec "5.5.2"
        mark!("taco_version is that of this specification; the tools write 0.5.0.")
        "Set taco_version to 2.0.0.";
    ProviderName "COL-14" Warning Tools "5.5.2"
        mark!("Every provider has a name: the current writer refuses one with an organization \
            alone.")
        "Write the organization as the name, too.";
    ClassCategory "COL-15" Warning Both "7.2"
        mark!("Every class of the labels has a category of its own: a mask with one value for two \
            classes can't distinguish them.")
        "Give the classes categories of their own; leave it where several names are meant for one \
            value.";
    ClassName "COL-16" Error Both "7.2"
        mark!("Every class of the labels has a name, and no two have the same one.")
        "Rename one of the classes.";
    ConventionValues "CNV-1" Warning Both "TACO 0.2"
        mark!("Fields of a convention (flood, methane, land cover, change detection) have its type \
            and its values: shares from 0 to 1, and names of its classes.")
        "Compute them again with `extend --with class_shares`, or rename the column.";
    ConventionClasses "CNV-2" Warning Both "TACO 0.2"
        mark!("Where samples have fields of a convention, the labels of the collection name its \
            classes.")
        "Add the classes with `extend --with template`, or name those of your masks as the \
            convention does.";
    FieldSchema "META-1" Error Both "6.2"
        mark!("taco:field_schema lists the columns of every level with their types.")
        "Run `repair`, which computes it from the level tables.";
    LevelReadable "META-2" Error Both "6.2"
        mark!("Every METADATA/levelN.parquet can be read.")
        "Take the file from another copy of the dataset.";
    LevelColumns "META-3" Error Both "8.3"
        mark!("Every level has the columns that readers need.")
        "Write the dataset again from its sources.";
    ParentLink "META-4" Error Both "8.3"
        mark!("internal:parent_id is the row of a FOLDER in the level above, and rows are grouped \
            by it.")
        "Take the level tables from another copy, or write the dataset again.";
    CurrentId "META-5" Error Both "8.3"
        mark!("internal:current_id is the row number.")
        "Run `repair`.";
    RelativePath "META-6" Error Both "8.3"
        mark!("internal:relative_path is the path of ids below DATA/.")
        "Run `repair`.";
    LocalMeta "META-7" Error Both "6.2"
        mark!("Every FOLDER has a __meta__ with the same children as the level table.")
        "Run `repair`, which makes it from the level table.";
    LocalMetaValues "META-8" Error Both "6.2"
        mark!("The values in __meta__ are those of the level table.")
        "Decide which value is right; `repair` takes that of the level table.";
    NoCurrentId "META-9" Warning Tools "8.3"
        mark!("Levels above the deepest have internal:current_id (today's Python reader needs it \
            in nested datasets).")
        "Run `repair`, which adds the column.";
    FieldOrder "META-10" Warning Both "6.2"
        mark!("taco:field_schema lists the columns in the order of the level table: some tools \
            copy the order of the first part.")
        "Run `repair`, which lists them again.";
    StoredPath "META-11" Warning Both "8.3"
        mark!("internal:gdal_vsi is made by readers and not stored: a stored one holds paths of \
            another machine.")
        "Run `repair`, which drops the column.";
    TypeRefused "META-12" Error Tools "6.2"
        mark!("No column of a ZIP is float16 or decimal256: the Python reader does not load such a \
            dataset.")
        "Cast the column to float or to decimal128.";
    TextColumns "META-13" Warning Spec "6.2"
        mark!("Every level has the columns path and internal:relative_path, which the \
            specification lists; the tools write no path, and the other one below level 0 alone.")
        "Leave it, or write the dataset with `--profile spec` where readers of your data need \
            these columns.";
    TableStatistics "META-14" Error Both "6.2"
        mark!("Minimum, maximum and number of nulls in the footer and the page index of a level \
            table are those of its values: readers skip the rows that they exclude. Found by a \
            deep check.")
        "Run `repair`, which writes the level tables again.";
    StatisticsClass "STAT-1" Warning Both "7.2"
        mark!("Class shares in geotiff:stats count the highest class: some tools always give it 0 \
            and share the rest among the others.")
        "Run `repair`, which computes the shares from the pixels.";
    StatisticsValues "STAT-2" Warning Both "7.2"
        mark!("Statistics in geotiff:stats are those of the pixels that are valid and finite, NaN \
            and infinite ones left out: some tools count infinite ones, or look at some blocks \
            only. Found by a deep check.")
        "Run `repair`, which computes them from the pixels.";
    PlaceValues "STAC-1" Warning Both "7.1.1"
        mark!("stac:tensor_shape, stac:geotransform and stac:centroid are those of the raster. \
            Found by a deep check.")
        "Run the stac extension again, which reads them from the raster.";
    PlaceRange "GEO-1" Warning Both "7.1.1"
        mark!("istac:geometry and the grid of stac:geotransform are within the area that their \
            coordinate system maps: metres declared as degrees are not.")
        "Correct istac:crs or stac:crs, or run the stac or istac extension again.";
    PlaceRaster "GEO-2" Warning Both "7.1.1"
        mark!("The footprint of a sample is where its raster is. Found by a deep check.")
        "Run the stac or istac extension again, which reads the footprint from the raster.";
    ZipStructure "ZIP-1" Error Both "6.3"
        mark!("The archive has a central directory that fits its members.")
        "Take the archive from another copy.";
    ZipHeader "ZIP-2" Error Both "6.3"
        mark!("TACO_HEADER is at byte 0 and points at the level tables and COLLECTION.json.")
        "Run `repair`, which writes a new header.";
    ZipStore "ZIP-3" Error Both "6.3"
        mark!("Members are stored: no compression, no encryption, no data descriptor.")
        "Run `repair`, which writes the archive again, or unpack it and open the folder.";
    ZipOverlap "ZIP-4" Error Both "6.3"
        mark!("Members are inside the file and do not overlap.")
        "Take the archive from another copy.";
    ZipCrc "ZIP-5" Error Both "6.3"
        mark!("Every member has its CRC-32.")
        "Take the archive from another copy: its bytes are damaged.";
    ZipName "ZIP-6" Error Both "6.3"
        mark!("Member names are unique, relative, and stay inside the archive.")
        "Rename the member.";
    ZipOffset "ZIP-7" Error Both "6.3"
        mark!("internal:offset and internal:size point at the sample's own bytes.")
        "Run `repair`, which computes the positions.";
    ZipMissing "ZIP-8" Error Both "6.3"
        mark!("Every sample of the levels is in the archive.")
        "Add the data, or drop the sample.";
    ZipStray "ZIP-9" Warning Both "6.3"
        mark!("The archive holds nothing that the levels do not name.")
        "Run `repair`, which leaves it out.";
    ZipHeaderEmpty "ZIP-10" Error Both "6.3"
        mark!("TACO_HEADER lists at least one level and COLLECTION.json: the official header \
            reader lets a count of 0 pass.")
        "Run `repair`, which writes a new header.";
    ZipOffsetOther "ZIP-11" Error Both "6.3"
        mark!("Below level 0 internal:offset points at the sample's own bytes and not at those of \
            another one: some tools sort the offsets by path.")
        "Run `repair`, which computes the positions.";
    FolderMissing "DIR-1" Error Both "6.4"
        mark!("Every sample of the levels is on disk.")
        "Put the file back, or drop the sample.";
    FolderStray "DIR-2" Warning Both "6.4"
        mark!("DATA/ holds nothing that the levels do not name.")
        "Remove the file; `repair` leaves it out.";
    FolderPath "DIR-3" Error Both "6.4"
        mark!("Paths in the levels stay inside DATA/.")
        "Rename the sample.";
    FolderLink "DIR-4" Error Both "6.4"
        mark!("Members are inside the dataset's folder: none is a link that leads out of the \
            dataset.")
        "Replace the link by the file itself, or drop the sample.";
    PartMissing "CAT-1" Error Both "6.5"
        mark!("Every part that an index names exists and can be opened.")
        "Put the part there, or name the folder that holds the parts with --base-path.";
    PartStale "CAT-2" Error Both "6.5"
        mark!("The index holds the rows of its parts, part by part.")
        "Make the index again with `tacocat`.";
    PartList "CAT-3" Warning Both "6.6"
        mark!("The index's collection lists the parts that its rows name.")
        "Make the index again with `tacocat`.";
    PartFacts "CAT-4" Warning Both "6.6"
        mark!("taco:sources says of each part the id and the extent that the part says itself, and \
            counts them.")
        "Make the collection again with `tacollection`, or the index with `tacocat`.";
    PartCount "CAT-5" Error Both "6.6"
        mark!("taco:sources counts the parts that it lists, and has as many ids and extents: with \
            a shorter list, samples are missing and nothing says so.")
        "Put the part that is missing back into the list, or make the collection again with \
            `tacollection`, or the index with `tacocat`.";
    SourceMissing "SRC-1" Error Both "7.1.1"
        mark!("The file behind a sample of a draft can be read.")
        "Put the file back, or point the sample at another one.";
    RasterRead "SRC-2" Warning Both "7.1.1"
        mark!("A FILE with the name of a raster can be opened as one. A deep check reads its \
            pixels as well.")
        "Take the file from another copy, or drop the sample.";
    SidecarLeft "SRC-3" Warning Both "7.1.1"
        mark!("The raster of a draft is complete in its own file: no mask, coordinate system or \
            geotransform is in a sidecar, which is not packed.")
        "Burn it in with `optimise`, pack it as a sample of its own (`create --sidecars pack`), or \
            leave it.";
    FileNeedsOthers "SRC-4" Error Both "5.5.1"
        mark!("Every FILE can be read alone: it is not part of a raster or table of several files, \
            such as the .dat of ENVI without its .hdr. Found in drafts and by a deep check.")
        "Write it as one file: burn it in (`create --sidecars burn-in`), which makes a GeoTIFF of \
            a raster and a FlatGeobuf of a Shapefile.";
    Unreadable "FMT-1" Error Both "6"
        mark!("The container can be opened.")
        "Take the dataset from another copy.";
    TortillaHeader "TOR-1" Warning Both "TORTILLA 0.5"
        mark!("The header of a TORTILLA counts its parts, and its reserved bytes are zero.")
        "Write the file again with `compile`.";
    TortillaRange "TOR-2" Error Both "TORTILLA 0.5"
        mark!("The bytes that tortilla:offset and tortilla:length state are between the header \
            and the footer.")
        "Take the file from another copy.";
    TortillaOverlap "TOR-3" Error Both "TORTILLA 0.5"
        mark!("The samples of a tortilla have bytes of their own.")
        "Take the file from another copy.";
    TortillaNested "TOR-4" Error Both "TORTILLA 0.5"
        mark!("A sample whose format is TORTILLA is a tortilla that can be read.")
        "Take the file from another copy, or drop the sample with `compile`.";
    TortillaParts "TOR-5" Error Both "TORTILLA 0.5"
        mark!("All parts that the header counts exist.")
        "Put the missing part beside the others.";
    TortillaSplit "TOR-6" Warning Both "TORTILLA 0.5"
        mark!("tortilla:data_split is train, test or validation.")
        "Write one of the three words with `edit`, or leave the cell empty.";
    TortillaClass "TOR-7" Warning Both "TORTILLA 0.5"
        mark!("A stac-tortilla or rai-tortilla has all columns of its class.")
        "Add the columns that are missing with `edit`.";
    TortillaTypes "TOR-8" Warning Both "TORTILLA 0.5"
        mark!("A column has one type in all tortillas of a level.")
        "Write them again with one type.";
    TortillaFormat "TOR-9" Warning Both "TORTILLA 0.5"
        mark!("tortilla:file_format is BYTES, TORTILLA or the name of a driver of GDAL.")
        "Write the driver's name as GDAL does, like GTiff, with `edit`.";
    TortillaCollection "TOR-10" Error Both "TACO 0.2"
        mark!("COLLECTION of a TACO 0.2 file has every core field: id, versions, description, \
            licenses, extent, providers; for curators see TOR-15.")
        "Fill the field with `edit --set`.";
    TortillaChain "TOR-11" Error Both "TACO 0.2"
        mark!("The footer of a streamable dataset is a chain of tables that ends with the chunks.")
        "Write the file again with `compile --stream`.";
    TortillaField "TOR-12" Error Both "TACO 0.2"
        mark!("Every field of COLLECTION in a TACO 0.2 file has its type, and a value that TACO \
            0.2 allows.")
        "Correct the field with `edit --set`.";
    TortillaWord "TOR-13" Error Both "TACO 0.2"
        mark!("task and split_strategy of a TACO 0.2 file are words of its lists, or of those of \
            the official tools.")
        "Choose a word of the list with `edit --set`.";
    TortillaTextForm "TOR-14" Error Spec "TACO 0.2"
        mark!("COLLECTION of a TACO 0.2 file has the forms of the specification: four \
            numbers, milliseconds, tasks as it spells them; the tools write lists, ISO 8601 and \
            small letters.")
        "Write the form of the specification with `edit --set`, if the readers of your data expect \
            it.";
    TortillaCurators "TOR-15" Warning ErrorOfSpec "TACO 0.2"
        mark!("COLLECTION of a TACO 0.2 file names its curators: a core field of the \
            specification, which the official tools leave empty.")
        "Name who converted the dataset with `edit --set`.";
    TortillaCoreNull "TOR-16" Warning ErrorOfSpec "TACO 0.2"
        mark!("Every sample of a stac-tortilla has a value in the core columns stac:crs, \
            stac:geotransform, stac:tensor_shape or stac:raster_shape, and stac:time_start.")
        "Write the values with `edit`, or drop the columns where no sample has a place and a time.";
    TortillaEndNull "TOR-17" Warning Spec "TACO 0.2"
        mark!("Every sample of a stac-tortilla has a value in stac:time_end: a core column of the \
            specification, which the official tools leave empty.")
        "Write the values with `edit`; for a single moment, that of stac:time_start.";
    TogForm "TOG-1" Warning Both "TACO 0.2"
        mark!("A raster of a streamable dataset is a TACO Optimized GeoTIFF: a COG with zstd, tile \
            interleave, predictor and BigTIFF, without overviews. Found by a deep check, and by \
            --tog.")
        "Write the dataset again with `optimise --stream`.";
    Taco3Files "NEXT-1" Error Both "TACO 3"
        mark!("The files of a TACO 3 dataset are those that its levels name, where the levels say, \
            and none is empty.")
        "Take the dataset from another copy.";
    Taco3Contract "NEXT-2" Error Both "TACO 3"
        mark!("Every sample of a TACO 3 dataset has the files that taco:structure lists, in its \
            order.")
        "Take the dataset from another copy.";
    Taco3Collection "NEXT-3" Error Both "TACO 3"
        mark!("The level tables of a TACO 3 dataset are those of taco:structure and taco:metadata, \
            whose names differ by more than case.")
        "Take the dataset from another copy, or write it again with the official tool.";
    Taco3Schema "NEXT-4" Error Both "TACO 3"
        mark!("A level table of TACO 3 has the columns and types that taco:metadata declares, and \
            names its level in taco:level.")
        "Take the dataset from another copy, or write it again with the official tool.";
    Taco3RowId "NEXT-5" Error Both "TACO 3"
        mark!("internal:current_id of TACO 3 is the number of the row.")
        "Take the dataset from another copy, or write it again with the official tool.";
    Taco3Path "NEXT-6" Error Both "TACO 3"
        mark!("internal:relative_path of TACO 3 is the number of a sample, or the path of the \
            parent and a name.")
        "Take the dataset from another copy, or write it again with the official tool.";
    Taco3SampleId "NEXT-7" Error Both "TACO 3"
        mark!("Every sample of TACO 3 has an id of its own, from release 0.9.")
        "Take the dataset from another copy, or write it again with the official tool.";
    Taco3Sources "NEXT-8" Error Both "TACO 3"
        mark!("taco:sources of a TACO 3 index lists its archives, with their numbers of samples; \
            no other dataset has it.")
        "Write the index again with the official tool.";
    Taco3SourceFile "NEXT-9" Error Both "TACO 3"
        mark!("Every row of a TACO 3 index names an archive of taco:sources.")
        "Write the index again with the official tool.";
    Taco3PartMissing "NEXT-10" Warning Both "TACO 3"
        mark!("The archives of a TACO 3 index are there.")
        "Get the archive named, or use the others alone.";
    Taco3Task "NEXT-11" Warning Both "TACO 3"
        mark!("Tasks of a TACO 3 dataset are among those that the tools accept.")
        "Choose a task of the list when you write the dataset again.";
    Taco3Profile "NEXT-12" Error Both "TACO 3"
        mark!("Places and times of TACO 3 follow their profile: stac, spatial or temporal, and \
            those of the releases before 0.11.")
        "Correct the values and write the dataset again with the official tool.";
    Taco3Extent "NEXT-13" Warning Both "TACO 3"
        mark!("The extent of a TACO 3 dataset holds the centres and times of its samples.")
        "Write the dataset again with the official tool, which computes the extent.";
    Taco3Zip "NEXT-14" Error Both "TACO 3"
        mark!("An archive of TACO 3 stores its members without descriptors, has the metadata last, \
            and no comment.")
        "Take the dataset from another copy, or write it again with the official tool.";
    CozipIndex "NEXT-15" Error Both "TACO 3"
        mark!("The first member of a TACO 3 archive, __cozip__, indexes the metadata, and its \
            check value is right.")
        "Take the dataset from another copy, or write it again with the official tool.";
    EarlyLayout "EARLY-1" Error Both "6"
        mark!("Level tables are Parquet and have the layout that tacotoolbox writes from 0.13: \
            readers of TACO 2.0 refuse earlier ones.")
        "Write the dataset anew with `migrate`.";
    DataElsewhere "REF-1" Warning Both "5.5.1"
        mark!("Every FILE holds its own data: none is a description of other files or addresses, \
            like VRT, GTI, WMS or GDALG, which is never followed.")
        "Put the pixels themselves into the dataset, for example as GeoTIFF.";
    CrsElsewhere "REF-2" Warning Both "7.1.1"
        mark!("No coordinate system names a file or an address: readers that follow it open any \
            grid, init file or dictionary of their machine. It is never followed here. In rasters \
            found by a deep check.")
        "Write the code of the system, like EPSG:32718, or WKT without grids.";
    ConsistentType "CON-1" Warning Both "5.4"
        mark!("Rasters at a position have the same data type in all roots. Found by a deep check.")
        "Cast the raster to the common type, accept the value, or drop the root.";
    ConsistentBands "CON-2" Warning Both "5.4"
        mark!("Rasters at a position have the same number of bands in all roots. Found by a deep \
            check.")
        "Keep the common bands, accept the value, or drop the root.";
    ConsistentSize "CON-3" Warning Both "5.4"
        mark!("Rasters at a position have the same number of columns and rows in all roots. Found \
            by a deep check.")
        "Crop or resample the raster, accept the value, or drop the root.";
    ConsistentCrs "CON-4" Warning Both "5.4"
        mark!("Rasters of a root have the same CRS, and rasters at a position the same kind of \
            CRS: UTM zones may differ between roots. Found by a deep check.")
        "Reproject the raster into the CRS of its siblings, accept the value, or drop the root.";
    ConsistentPixelSize "CON-5" Warning Both "5.4"
        mark!("Rasters at a position have the same pixel size in all roots. Found by a deep check.")
        "Resample the raster, accept the value, or drop the root.";
    ConsistentNodata "CON-6" Warning Both "5.4"
        mark!("Rasters at a position have the same nodata values in all roots. Found by a deep \
            check.")
        "Set the common nodata value, accept the value, or drop the root.";
    ConsistentOverlap "CON-7" Warning Both "5.4"
        mark!("Rasters at a position cover the same share of the first raster of their root. Found \
            by a deep check.")
        "Check whether the raster belongs to the root; accept the value, or drop the root.";
    ConsistentTimes "CON-8" Warning Both "5.4"
        mark!("The times of siblings have the same order in all roots. Found by a deep check.")
        "Swap the samples, correct the time, accept the order, or drop the root.";
    PathQuote "FMT-2" Warning Tools "6"
        mark!("The path has no apostrophe: the Python reader does not load such a dataset.")
        "Rename the file or the folder that contains it.";
}

impl Rule {
    /// True when `profile` contains this rule; most rules are in both.
    pub fn applies_to(self, profile: Profile) -> bool {
        match self.makes() {
            Makes::Both | Makes::ErrorOfSpec => true,
            Makes::Spec => profile == Profile::Spec,
            Makes::Tools => profile == Profile::Tools,
        }
    }

    /// How bad a finding of this rule is with one profile.
    pub fn severity_in(self, profile: Profile) -> Severity {
        match (self.makes(), profile) {
            (Makes::ErrorOfSpec, Profile::Spec) => Severity::Error,
            _ => self.severity(),
        }
    }

    /// Names of the profiles that contain this rule.
    pub fn profiles(self) -> Vec<&'static str> {
        [Profile::Spec, Profile::Tools]
            .into_iter()
            .filter(|profile| self.applies_to(*profile))
            .map(Profile::as_str)
            .collect()
    }
}

impl Rule {
    /// The rule with this code, in upper or lower case.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|rule| rule.code().eq_ignore_ascii_case(code))
    }
}

/// Rules that are switched off, or have another severity. In JSON an object of codes and levels:
/// `{"CON-3": "off"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct RuleSettings {
    /// `None` for a rule that is off.
    levels: BTreeMap<Rule, Option<Severity>>,
}

impl RuleSettings {
    /// Switches a rule off, or sets the severity of its findings.
    pub fn set(&mut self, rule: Rule, level: Option<Severity>) {
        self.levels.insert(rule, level);
    }

    /// Uses the rule as it is in the table.
    pub fn reset(&mut self, rule: Rule) {
        self.levels.remove(&rule);
    }

    /// True when the rule is switched off.
    pub fn is_off(&self, rule: Rule) -> bool {
        self.levels.get(&rule) == Some(&None)
    }

    /// The severity that was set.
    pub fn severity(&self, rule: Rule) -> Option<Severity> {
        self.levels.get(&rule).copied().flatten()
    }
}

impl TryFrom<BTreeMap<String, String>> for RuleSettings {
    type Error = String;

    fn try_from(levels: BTreeMap<String, String>) -> Result<Self, String> {
        let parsed = levels
            .iter()
            .map(|(code, level)| Ok((rule_of(code)?, level_of(level)?)));
        Ok(Self {
            levels: parsed.collect::<Result<_, String>>()?,
        })
    }
}

impl From<RuleSettings> for BTreeMap<String, String> {
    fn from(settings: RuleSettings) -> Self {
        let word = |level: Option<Severity>| level.map_or("off", Severity::as_str).to_owned();
        settings
            .levels
            .into_iter()
            .map(|(rule, level)| (rule.code().to_owned(), word(level)))
            .collect()
    }
}

fn rule_of(code: &str) -> Result<Rule, String> {
    Rule::of_code(code.trim())
        .ok_or_else(|| format!("there is no rule {code}; `taco-studio rules` lists all"))
}

fn level_of(word: &str) -> Result<Option<Severity>, String> {
    match word.trim() {
        "off" => Ok(None),
        "warning" => Ok(Some(Severity::Warning)),
        "error" => Ok(Some(Severity::Error)),
        other => Err(format!("a rule is off, warning or error, not {other}")),
    }
}

/// Parses `CODE=off`, `CODE=warning` or `CODE=error`.
///
/// # Errors
/// For an unknown rule or level, with the known levels.
pub fn parse_rule_level(text: &str) -> Result<(Rule, Option<Severity>), String> {
    let Some((code, level)) = text.split_once('=') else {
        return Err(
            "write a rule and what it is, like CON-3=off, CON-3=warning or CON-3=error".into(),
        );
    };
    Ok((rule_of(code)?, level_of(level)?))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl serde::Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Rule::ALL.len());
        assert!(codes.len() >= 40);
    }

    #[test]
    fn rules_are_switched_off_by_code() {
        assert_eq!(
            parse_rule_level("con-3=off"),
            Ok((Rule::ConsistentSize, None))
        );
        assert_eq!(
            parse_rule_level("CON-3 = error"),
            Ok((Rule::ConsistentSize, Some(Severity::Error)))
        );
        for wrong in ["CON-3", "CON-99=off", "CON-3=loud"] {
            assert!(parse_rule_level(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_line_of_the_table_is_complete() {
        for rule in Rule::ALL {
            assert!(
                rule.what().ends_with('.') && rule.fix().ends_with('.'),
                "{rule}"
            );
            assert!(
                !rule.section().is_empty() && !rule.profiles().is_empty(),
                "{rule}"
            );
        }
    }

    #[test]
    fn a_severity_differs_where_the_tools_break_the_specification() {
        let differ = Rule::ALL
            .iter()
            .filter(|rule| rule.severity_in(Profile::Spec) != rule.severity_in(Profile::Tools));
        assert_eq!(
            differ.collect::<Vec<_>>(),
            [&Rule::TortillaCurators, &Rule::TortillaCoreNull]
        );
        assert_eq!(
            Rule::TortillaCurators.severity_in(Profile::Spec),
            Severity::Error
        );
    }
}
