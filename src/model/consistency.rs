//! Consistency by position as plain data: the common values of the rasters at each position of the
//! tree over all roots, and the rasters that differ. [`crate::validate`] computes it from headers.

use std::fmt;
use std::sync::Arc;

use super::{Location, RasterProperty, SamplePath};

/// A raster that differs from the others at its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// Row of its root in level 0.
    pub root: u32,
    /// Its row in the level of the position.
    pub row: u32,
    /// Its ids from the root.
    pub path: SamplePath,
    /// Its value, as text for users.
    pub found: Arc<str>,
    /// The raster of the same root that it is compared with, by name or with the value, such as
    /// `before is EPSG:32635`; empty when it is compared with the common value.
    pub reference: Arc<str>,
}

/// The values of one property at one position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PropertyAgreement {
    /// The value of more than half of the rasters, as text for users; empty when no raster has the
    /// property, or no value is that of more than half.
    pub common: String,
    /// Number of rasters with the most frequent value.
    pub agreeing: usize,
    /// Number of rasters that were compared.
    pub compared: usize,
    /// Number of values, each counted once.
    pub distinct_values: usize,
    /// Rasters that differ from the common value, in row order; empty when no value is shared by
    /// more than half of the rasters.
    pub outliers: Vec<Outlier>,
}

impl PropertyAgreement {
    /// True when rasters differ and no value is shared by more than half of them.
    pub fn has_no_majority(&self) -> bool {
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
    /// The values of each property, in the order of [`RasterProperty::ALL`].
    pub agreements: [PropertyAgreement; 8],
}

impl Position {
    /// The values of a property.
    pub fn agreement(&self, property: RasterProperty) -> &PropertyAgreement {
        &self.agreements[property.index()]
    }

    /// The values of a property, to be changed.
    pub fn agreement_mut(&mut self, property: RasterProperty) -> &mut PropertyAgreement {
        &mut self.agreements[property.index()]
    }

    /// The name, or `roots` for the position of the roots.
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
    /// Number of files that are not rasters.
    pub non_rasters: usize,
    /// Number of files whose headers were not read: new files, and those that can't be read.
    pub unread: usize,
    /// The accepted values, each with the number of outliers that it hides.
    pub accepted: Vec<(AcceptedValue, usize)>,
    /// Positions with rasters, in tree order.
    pub positions: Vec<Position>,
}

/// A value at a position that its owner accepts although it differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct AcceptedValue {
    /// Positions from the root down.
    pub place: Vec<u32>,
    /// The property.
    pub property: RasterProperty,
    /// The value, as in [`Outlier::found`]; every value when absent.
    #[serde(default)]
    pub found: Option<String>,
}

impl Consistency {
    /// Every outlier with its position and property, by position, then property.
    pub fn outliers(&self) -> impl Iterator<Item = (&Position, RasterProperty, &Outlier)> {
        self.positions.iter().flat_map(|position| {
            RasterProperty::ALL.into_iter().flat_map(move |property| {
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

    /// Positions without a majority: the rasters have several data types or numbers of bands, and
    /// none is that of more than half. They have no outliers.
    pub fn ties(&self) -> impl Iterator<Item = &Position> {
        self.positions.iter().filter(|position| is_tie(position))
    }

    /// Removes the outliers with these values, and counts them in [`Consistency::accepted`].
    pub fn accept(&mut self, accepted: &[AcceptedValue]) {
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

    /// Counts, and each position with its properties and outliers.
    pub fn json(&self) -> serde_json::Value {
        let positions = self.positions.iter().map(|position| {
            let properties = RasterProperty::ALL
                .into_iter()
                .filter(|&property| position.agreement(property).compared > 0);
            let properties = properties.map(|property| {
                let agreement = position.agreement(property);
                let outliers = agreement.outliers.iter().map(|outlier| {
                    let mut json = serde_json::json!({
                        "at": outlier.path.to_string(),
                        "found": &*outlier.found,
                    });
                    if !outlier.reference.is_empty() {
                        json["beside"] = (&*outlier.reference).into();
                    }
                    json
                });
                let json = serde_json::json!({
                    "common": (!agreement.common.is_empty()).then_some(&agreement.common),
                    "agreeing": agreement.agreeing,
                    "compared": agreement.compared,
                    "kinds": agreement.distinct_values,
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
            "others": self.non_rasters,
            "roots_that_differ": self.roots_that_differ().len(),
            "positions_without_majority": self.ties().count(),
            "positions": positions.collect::<Vec<_>>(),
        })
    }
}

fn is_tie(position: &Position) -> bool {
    [RasterProperty::DataType, RasterProperty::Bands]
        .into_iter()
        .any(|property| position.agreement(property).has_no_majority())
}

/// Formats the message of the finding about an outlier.
pub struct OutlierMessage<'a> {
    /// Where the rasters are that were compared.
    pub position: &'a Position,
    /// The property in which the outlier differs.
    pub property: RasterProperty,
    /// The raster that differs.
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
        let (found, common, reference) = (
            &*self.outlier.found,
            agreement.common.as_str(),
            &*self.outlier.reference,
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
        let message = match self.property {
            RasterProperty::DataType => tr!("The data type is {found}; {others}.", found, others),
            RasterProperty::Bands => {
                tr!("The number of bands is {found}; {others}.", found, others)
            }
            RasterProperty::Size => tr!("The raster has {found} pixels; {others}.", found, others),
            RasterProperty::Crs if reference.is_empty() => {
                tr!("The CRS is {found}; {others}.", found, others)
            }
            RasterProperty::Crs => tr!("The CRS is {found}; {reference}.", found, reference),
            RasterProperty::PixelSize => tr!("The pixel size is {found}; {others}.", found, others),
            RasterProperty::Nodata => tr!("The nodata value is {found}; {others}.", found, others),
            RasterProperty::Overlap => tr!(
                "The overlap with {reference} is {found}; {others}.",
                found,
                reference,
                others
            ),
            RasterProperty::TimeOrder => tr!(
                "The start time compared with {reference} is {found}; {count} of {total} {place} \
                    are {common}.",
                reference,
                found,
                count,
                total,
                place,
                common
            ),
        };
        f.write_str(&message)
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
            reference: "".into(),
        }
    }

    #[test]
    fn accepted_values_are_not_outliers() {
        let mut position = Position {
            place: vec![1],
            ..Position::default()
        };
        position.agreement_mut(RasterProperty::Bands).outliers =
            vec![outlier(1, "4"), outlier(2, "13"), outlier(3, "4")];
        let mut all = Consistency {
            positions: vec![position],
            ..Consistency::default()
        };
        assert_eq!(all.roots_that_differ(), [1, 2, 3]);
        let accepted = |place: u32, property, found: Option<&str>| AcceptedValue {
            place: vec![place],
            property,
            found: found.map(Into::into),
        };
        all.accept(&[
            accepted(0, RasterProperty::Bands, None),
            accepted(1, RasterProperty::Size, None),
        ]);
        assert_eq!(all.roots_that_differ(), [1, 2, 3]);
        all.accept(&[accepted(1, RasterProperty::Bands, Some("4"))]);
        assert_eq!(all.roots_that_differ(), [2]);
        all.accept(&[accepted(1, RasterProperty::Bands, None)]);
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
        for property in RasterProperty::ALL {
            assert_eq!(RasterProperty::of_rule(property.rule()), Some(property));
        }
        assert_eq!(RasterProperty::of_rule(Rule::IdUnique), None);
    }
}
