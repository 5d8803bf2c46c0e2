//! Consistency by position as plain data: the common values of the rasters at each position of the
//! tree over all roots, and the rasters that differ. [`crate::validate`] computes it from headers.

use std::fmt;
use std::sync::Arc;

use super::{Location, Property, SamplePath};

/// A raster that differs from the others at its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// Row of its root in level 0.
    pub root: u32,
    /// Its row in the level of the position.
    pub row: u32,
    /// Its ids from the root.
    pub path: SamplePath,
    /// Its value, for users.
    pub found: Arc<str>,
    /// The value of its own root that it is compared with, such as `before is EPSG:32635`; empty
    /// when it is compared with the common value.
    pub beside: Arc<str>,
}

/// The values of one property at one position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PropertyAgreement {
    /// The common value, for users; empty when no raster has the property, or no value is common.
    pub common: String,
    /// Number of rasters that have it.
    pub agreeing: usize,
    /// Number of rasters that were compared.
    pub compared: usize,
    /// Number of different values.
    pub kinds: usize,
    /// Rasters that differ from the common value, in row order; empty when no value is shared by
    /// more than half of the rasters.
    pub outliers: Vec<Outlier>,
}

impl PropertyAgreement {
    /// True when rasters differ and no value is shared by more than half of them.
    pub fn varies(&self) -> bool {
        self.agreeing < self.compared && self.outliers.is_empty()
    }
}

/// One position of the tree: the corresponding samples of all roots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position {
    /// Level of its samples.
    pub level: usize,
    /// Positions from the root down; empty for the roots themselves.
    pub place: Vec<u32>,
    /// Ids below the root in most roots, joined with ` / `; empty for the roots themselves.
    pub name: String,
    /// Number of rasters.
    pub rasters: usize,
    /// One for each property, in the order of [`Property::ALL`].
    pub agreements: [PropertyAgreement; 8],
}

impl Position {
    /// The values of a property.
    pub fn agreement(&self, property: Property) -> &PropertyAgreement {
        &self.agreements[property.index()]
    }

    /// The values of a property, to be changed.
    pub fn agreement_mut(&mut self, property: Property) -> &mut PropertyAgreement {
        &mut self.agreements[property.index()]
    }

    /// Name for users: that of the roots is `roots`.
    pub fn title(&self) -> &str {
        if self.name.is_empty() {
            tr!("roots")
        } else {
            &self.name
        }
    }
}

/// Consistency of a dataset by position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consistency {
    /// Number of roots.
    pub roots: usize,
    /// Number of headers read.
    pub headers: usize,
    /// Number of files that are no rasters.
    pub others: usize,
    /// Number of files that were not read: they are new, or reading them failed.
    pub unread: usize,
    /// Outliers that are accepted and not listed, with their number.
    pub accepted: Vec<(Accepted, usize)>,
    /// Positions with rasters, in tree order.
    pub positions: Vec<Position>,
}

/// A value at a position that its owner accepts although it differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Accepted {
    /// Positions from the root down.
    pub place: Vec<u32>,
    /// The property.
    pub property: Property,
    /// The value, as in [`Outlier::found`]; every value when absent.
    #[serde(default)]
    pub found: Option<String>,
}

impl Consistency {
    /// Every outlier with its position and property, by position, then property.
    pub fn outliers(&self) -> impl Iterator<Item = (&Position, Property, &Outlier)> {
        self.positions.iter().flat_map(|position| {
            Property::ALL.into_iter().flat_map(move |property| {
                position
                    .agreement(property)
                    .outliers
                    .iter()
                    .map(move |outlier| (position, property, outlier))
            })
        })
    }

    /// Rows in level 0 of the roots with outliers, ascending.
    pub fn roots_that_differ(&self) -> Vec<u32> {
        let roots: std::collections::BTreeSet<u32> = self
            .outliers()
            .map(|(_, _, outlier)| outlier.root)
            .collect();
        roots.into_iter().collect()
    }

    /// Positions where the rasters have several types or numbers of bands, of which none is that of
    /// more than half: a tie, without outliers.
    pub fn ties(&self) -> impl Iterator<Item = &Position> {
        self.positions
            .iter()
            .filter(|position| has_mixed_kinds(position))
    }

    /// Removes outliers that are accepted, and counts them.
    pub fn accept(&mut self, accepted: &[Accepted]) {
        for entry in accepted {
            let mut removed = 0;
            for position in self
                .positions
                .iter_mut()
                .filter(|position| position.place == entry.place)
            {
                let outliers = &mut position.agreement_mut(entry.property).outliers;
                let before = outliers.len();
                outliers.retain(|outlier| {
                    entry
                        .found
                        .as_deref()
                        .is_some_and(|found| found != &*outlier.found)
                });
                removed += before - outliers.len();
            }
            self.accepted.push((entry.clone(), removed));
        }
    }

    /// The form in JSON: counts, and each position with its properties and outliers.
    pub fn json(&self) -> serde_json::Value {
        let positions = self.positions.iter().map(|position| {
            let properties = Property::ALL
                .into_iter()
                .filter(|&property| position.agreement(property).compared > 0);
            let properties = properties.map(|property| {
                let agreement = position.agreement(property);
                let outliers = agreement.outliers.iter().map(|outlier| {
                    let mut json = serde_json::json!({
                        "at": outlier.path.to_string(),
                        "found": &*outlier.found,
                    });
                    if !outlier.beside.is_empty() {
                        json["beside"] = (&*outlier.beside).into();
                    }
                    json
                });
                let json = serde_json::json!({
                    "common": (!agreement.common.is_empty()).then_some(&agreement.common),
                    "agreeing": agreement.agreeing,
                    "compared": agreement.compared,
                    "kinds": agreement.kinds,
                    "outliers": outliers.collect::<Vec<_>>(),
                });
                (property.key().to_owned(), json)
            });
            serde_json::json!({
                "level": position.level,
                "position": position.place,
                "name": position.name,
                "rasters": position.rasters,
                "properties": properties.collect::<serde_json::Map<_, _>>(),
            })
        });
        serde_json::json!({
            "roots": self.roots,
            "headers": self.headers,
            "others": self.others,
            "roots_that_differ": self.roots_that_differ().len(),
            "positions_without_majority": self.ties().count(),
            "positions": positions.collect::<Vec<_>>(),
        })
    }
}

fn has_mixed_kinds(position: &Position) -> bool {
    [Property::DataType, Property::Bands]
        .into_iter()
        .any(|property| position.agreement(property).varies())
}

/// Outlier of a consistency finding.
pub struct OutlierMessage<'a> {
    /// Its position.
    pub position: &'a Position,
    /// The property.
    pub property: Property,
    /// The raster.
    pub outlier: &'a Outlier,
}

impl OutlierMessage<'_> {
    /// The location of the finding.
    pub fn location(&self) -> Location {
        Location::Sample {
            level: self.position.level,
            row: self.outlier.row,
            path: self.outlier.path.clone(),
        }
    }
}

impl fmt::Display for OutlierMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agreement = self.position.agreement(self.property);
        let (found, common, beside) = (
            &*self.outlier.found,
            agreement.common.as_str(),
            &*self.outlier.beside,
        );
        let (count, total) = (agreement.agreeing, agreement.compared);
        let place = match self.position.name.as_str() {
            "" => tr!("roots").to_owned(),
            position => tr!("rasters at the position {position}", position),
        };
        let others = tr!(
            "{count} of {total} {place} have {common}",
            count,
            total,
            place,
            common
        );
        let said = match self.property {
            Property::DataType => tr!("The data type is {found}; {others}.", found, others),
            Property::Bands => tr!("The number of bands is {found}; {others}.", found, others),
            Property::Size => tr!("The raster has {found} pixels; {others}.", found, others),
            Property::Crs if beside.is_empty() => {
                tr!("The CRS is {found}; {others}.", found, others)
            }
            Property::Crs => tr!("The CRS is {found}; {beside}.", found, beside),
            Property::PixelSize => tr!("The pixel size is {found}; {others}.", found, others),
            Property::Nodata => tr!("The nodata value is {found}; {others}.", found, others),
            Property::Overlap => tr!(
                "The overlap with {beside} is {found}; {others}.",
                found,
                beside,
                others
            ),
            Property::TimeOrder => tr!(
                "The start time compared with {beside} is {found}; {count} of {total} {place} are \
                    {common}.",
                beside,
                found,
                count,
                total,
                place,
                common
            ),
        };
        f.write_str(&said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Rule;

    fn outlier(root: u32, found: &str) -> Outlier {
        Outlier {
            root,
            row: root,
            path: SamplePath::default(),
            found: found.into(),
            beside: "".into(),
        }
    }

    #[test]
    fn accepted_values_are_no_outliers() {
        let mut position = Position {
            place: vec![1],
            ..Position::default()
        };
        position.agreement_mut(Property::Bands).outliers =
            vec![outlier(1, "4"), outlier(2, "13"), outlier(3, "4")];
        let mut all = Consistency {
            positions: vec![position],
            ..Consistency::default()
        };
        assert_eq!(all.roots_that_differ(), [1, 2, 3]);
        let accepted = |place: u32, property, found: Option<&str>| Accepted {
            place: vec![place],
            property,
            found: found.map(Into::into),
        };
        all.accept(&[
            accepted(0, Property::Bands, None),
            accepted(1, Property::Size, None),
        ]);
        assert_eq!(all.roots_that_differ(), [1, 2, 3]);
        all.accept(&[accepted(1, Property::Bands, Some("4"))]);
        assert_eq!(all.roots_that_differ(), [2]);
        all.accept(&[accepted(1, Property::Bands, None)]);
        assert_eq!(
            all.accepted
                .iter()
                .map(|(_, count)| *count)
                .collect::<Vec<_>>(),
            [0, 0, 2, 1]
        );
        assert!(all.roots_that_differ().is_empty());
    }

    #[test]
    fn every_property_has_a_rule_of_its_own() {
        for property in Property::ALL {
            assert_eq!(Property::of_rule(property.rule()), Some(property));
        }
        assert_eq!(Property::of_rule(Rule::IdUnique), None);
    }
}
