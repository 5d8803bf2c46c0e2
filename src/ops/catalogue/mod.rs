//! STAC catalogues as sources: an Item, an ItemCollection, a Collection, a Catalog, the answer of
//! an API search or a table of Items (stac-geoparquet) becomes a draft. Items are roots, their
//! chosen assets are positions, and properties are columns with types. Remote assets stay where
//! they are until the dataset is written.

mod choice;
mod documents;
mod item_metadata;
mod item_tables;
mod items;
mod json_reader;
mod links;
mod properties;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::container::asset_size;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    Address, AssetPath, Collection, Dataset, Payload, Sample, Tortilla, is_remote, no_values,
    portable_name,
};
use crate::remote::{FILE_SIZE_MAX, RemoteFile};
use crate::text::list_first;

pub use choice::CatalogueChoice;
pub use documents::is_catalogue;
use documents::read_items;
use items::{ItemCollector, StacAsset, StacItem};
use links::check_link_allowed;
use search::ItemSearch;

/// Items that are read unless another number is given.
const LIMIT: usize = 100_000;
/// Keys of assets that an error names.
const KEYS_NAMED: usize = 20;
/// Remote assets whose sizes are asked for at one time.
const ASKED_AT_ONCE: usize = 256;
/// Most bytes that all assets together may have by their stated sizes.
const TOTAL_MAX: u64 = FILE_SIZE_MAX << 10;

impl CatalogueChoice {
    /// True for a source that is a catalogue: one by its name, and any address of a web server that
    /// items are chosen of.
    pub fn reads(&self, source: &Path) -> bool {
        is_catalogue(source)
            || (*self != Self::default()
                && Address::from_path(source).is_some_and(|address| address.is_web()))
    }
}

/// The draft of a catalogue. Its collection is empty, as a STAC Collection lacks what a dataset
/// needs.
///
/// # Errors
/// For a document that is no STAC, a catalogue without items or without a chosen asset, two items
/// with one id, an asset whose place can't be read or is not allowed, sizes of remote assets that
/// no server states, and sizes whose sum no store holds.
pub fn read_catalogue(path: &Path, choice: &CatalogueChoice, ctx: &JobContext) -> Result<Dataset> {
    ctx.stage(tr!("Reading the catalogue"), None);
    let limit = choice.limit.unwrap_or(LIMIT);
    let search = ItemSearch::from_choice(choice, limit)?;
    let mut found = ItemCollector::new(&search, &choice.assets, limit);
    read_items(path, &search, &mut found, ctx)?;
    let items = found.items();
    if items.is_empty() {
        return Err(Error::usage("the catalogue has no items")
            .at_path(path)
            .hint("for a search, widen its box and its times"));
    }
    let names = names_of_positions(items);
    if names.is_empty() {
        return Err(Error::usage("no asset of the items is chosen")
            .at_path(path)
            .hint(format!(
                "they have {}",
                list_first(found.keys(), KEYS_NAMED)
            )));
    }
    check_ids(items, path)?;
    check_servers(items)?;
    let sizes = sizes_of(items, ctx)?;
    check_total(&sizes).map_err(|error| error.at_path(path))?;
    let mut sizes = sizes.into_iter();
    let (items, mut columns) = found.finish(ctx)?;
    let schema = columns.iter().map(|column| column.field.clone()).collect();
    let samples = items.into_iter().enumerate().map(|(index, item)| {
        let files = item.assets.into_iter().zip(&mut sizes);
        let files = files.map(|(asset, size)| Sample {
            id: names.get(&asset.key).cloned().unwrap_or(asset.key),
            payload: Payload::asset(AssetPath::File(asset.place), size),
            values: no_values(),
        });
        let mut sample =
            Sample::new_folder(&portable_name(&item.id), Tortilla::new(files.collect()));
        sample.values = columns
            .iter_mut()
            .map(|column| column.value(index))
            .collect();
        sample
    });
    let root = Tortilla {
        samples: samples.collect(),
        schema,
    };
    Ok(Dataset {
        collection: Collection::default(),
        root: root.into(),
    })
}

/// The id of each position: the key of the asset, with the ending of its files where all have one.
fn names_of_positions(items: &[StacItem]) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut endings: BTreeMap<Arc<str>, BTreeSet<String>> = BTreeMap::new();
    for asset in items.iter().flat_map(|item| &item.assets) {
        endings
            .entry(asset.key.clone())
            .or_default()
            .insert(asset.ending());
    }
    endings
        .into_iter()
        .map(|(key, endings)| {
            let name = name_position(&key, &endings);
            (key, name.into())
        })
        .collect()
}

/// The id of the position of a key, whose files have these endings; an empty text is no ending.
fn name_position(key: &str, endings: &BTreeSet<String>) -> String {
    let only = endings.first().filter(|_| endings.len() == 1);
    match only.filter(|ending| !ending.is_empty()) {
        Some(ending) if !key.to_ascii_lowercase().ends_with(&format!(".{ending}")) => {
            portable_name(&format!("{key}.{ending}"))
        }
        _ => portable_name(key),
    }
}

fn check_ids(items: &[StacItem], path: &Path) -> Result<()> {
    let mut known = BTreeSet::new();
    match items
        .iter()
        .find(|item| !known.insert(portable_name(&item.id)))
    {
        Some(item) => Err(Error::usage(format!("two items have the id {}", item.id))
            .at_path(path)
            .hint("a dataset has each id once: search one collection, or fewer times")),
        None => Ok(()),
    }
}

/// Refuses assets to which the server of their document may not lead.
fn check_servers(items: &[StacItem]) -> Result<()> {
    let mut known = BTreeSet::new();
    for item in items {
        for asset in &item.assets {
            let servers = [&item.document, &asset.place]
                .map(|place| Address::from_path(place).map(|address| address.origin()));
            if let [Some(from), Some(to)] = servers
                && known.insert((from, to))
            {
                check_link_allowed(&item.document, &asset.place)?;
            }
        }
    }
    Ok(())
}

/// The size of each asset of all items in bytes: as the catalogue states it, else as its file or
/// server does.
fn sizes_of(items: &[StacItem], ctx: &JobContext) -> Result<Vec<u64>> {
    let assets: Vec<(&StacItem, &StacAsset)> = items
        .iter()
        .flat_map(|item| item.assets.iter().map(move |asset| (item, asset)))
        .collect();
    ctx.stage(tr!("Reading sizes"), Some(assets.len() as u64));
    let named = |error: Error, (item, asset): (&StacItem, &StacAsset)| {
        error.hint(format!("it is the asset {} of {}", asset.key, item.id))
    };
    let mut sizes = Vec::with_capacity(assets.len());
    for assets in assets.chunks(ASKED_AT_ONCE) {
        ctx.check()?;
        let is_asked =
            |asset: &&(&StacItem, &StacAsset)| is_remote(&asset.1.place) && asset.1.size.is_none();
        let asked: Vec<&Path> = assets
            .iter()
            .filter(is_asked)
            .map(|(_, asset)| &*asset.place)
            .collect();
        let mut answers = RemoteFile::open_all(&asked, 1)?.into_iter();
        for of @ (_, asset) in assets {
            let size = match asset.size {
                Some(size) if is_remote(&asset.place) => Ok(size),
                None if is_remote(&asset.place) => match answers.next() {
                    Some(answer) => answer.map(|file| file.size_bytes()),
                    None => Err(Error::internal("a remote asset was not asked for")),
                },
                // A local file is there to be asked.
                _ => asset_size(&AssetPath::file(&*asset.place)),
            };
            sizes.push(size.map_err(|error| named(error, *of))?);
            ctx.step(1);
        }
    }
    Ok(sizes)
}

/// Refuses sizes whose sum no store holds, as they are added up wherever a dataset is shown or
/// written.
fn check_total(sizes: &[u64]) -> Result<()> {
    let total = sizes.iter().copied().fold(0, u64::saturating_add);
    if total <= TOTAL_MAX {
        return Ok(());
    }
    let error = Error::too_large(format!(
        "the {} assets have more than {TOTAL_MAX} bytes together",
        sizes.len()
    ));
    Err(error
        .hint("sizes that the catalogue states are wrong: choose fewer items, or other assets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_sizes_whose_sum_overflows_are_refused() {
        assert!(check_total(&[FILE_SIZE_MAX - 1; 1024]).is_ok());
        let error = check_total(&[FILE_SIZE_MAX - 1; 16_400]).expect_err("is too much");
        assert_eq!(error.kind(), crate::error::Kind::TooLarge, "{error:?}");
    }
}
