//! Conventions: what datasets of one kind have in common. Flood and Methane are extensions of a
//! sample in figure 3 of TACO 0.2, whose diagram has their names and no fields; the paper adds land
//! cover and change detection (section 3). The fields below are the studio's own: shares of the
//! classes in the mask of a sample.

use arrow::datatypes::{DataType, Field};
use std::sync::Arc;

use super::{FieldSpec, Value};

/// A class of a convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConventionClass {
    /// Name in `labels:classes`.
    pub name: &'static str,
    /// Value in masks.
    pub value: i64,
    /// Meaning.
    pub description: &'static str,
}

/// Content of a field of a sample, computed from the shares of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConventionContent {
    /// The share of the class at this index, from 0 to 1.
    ClassShare(usize),
    /// The shares of all classes in their order, with the sum 1.
    AllShares,
    /// The name of the class with the greatest share; of several, the first.
    LargestClass,
}

/// A field of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConventionField {
    /// Name of the column.
    pub name: &'static str,
    /// Content.
    pub content: ConventionContent,
    /// Description of the column.
    pub description: &'static str,
}

/// A convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convention {
    /// Name in the option `kind` of extensions.
    pub kind: &'static str,
    /// Task of 2.0.
    pub task: &'static str,
    /// Keywords.
    pub keywords: &'static [&'static str],
    /// Classes, in the order of shares.
    pub classes: &'static [ConventionClass],
    /// Fields of a sample that is a mask.
    pub fields: &'static [ConventionField],
}

const fn class(name: &'static str, value: i64, description: &'static str) -> ConventionClass {
    ConventionClass {
        name,
        value,
        description,
    }
}

const fn share(name: &'static str, index: usize, description: &'static str) -> ConventionField {
    ConventionField {
        name,
        content: ConventionContent::ClassShare(index),
        description,
    }
}

/// All conventions, in the order of the interface.
pub const CONVENTIONS: &[Convention] = &[
    Convention {
        kind: "flood",
        task: "semantic-segmentation",
        keywords: &["flood", "surface water", "disaster response"],
        classes: &[
            class("land", 0, "Not covered by water"),
            class("water", 1, "Covered by water, flooded or permanent"),
        ],
        fields: &[share(
            "flood:water_share",
            1,
            "Share of water among the pixels of land and water, from 0 to 1",
        )],
    },
    Convention {
        kind: "methane",
        task: "semantic-segmentation",
        keywords: &["methane", "plume", "greenhouse gas emissions"],
        classes: &[
            class("background", 0, "No plume of methane"),
            class("plume", 1, "Plume of methane"),
        ],
        fields: &[share(
            "methane:plume_share",
            1,
            "Share of plumes among the pixels of plumes and background, from 0 to 1",
        )],
    },
    // The six categories of the IPCC (2006).
    Convention {
        kind: "land-cover",
        task: "semantic-segmentation",
        keywords: &["land cover", "land use", "mapping"],
        classes: &[
            class(
                "forest land",
                1,
                "Woody vegetation above the national thresholds of a forest",
            ),
            class(
                "cropland",
                2,
                "Arable land, rice fields and agroforestry below the thresholds of a forest",
            ),
            class("grassland", 3, "Rangeland and pasture that is no cropland"),
            class(
                "wetlands",
                4,
                "Land covered or saturated by water for all or part of the year",
            ),
            class("settlements", 5, "Developed land with its transport ways"),
            class(
                "other land",
                6,
                "Bare soil, rock, ice and all that is in no other class",
            ),
        ],
        fields: &[
            ConventionField {
                name: "land_cover:shares",
                content: ConventionContent::AllShares,
                description: "Share of each class of land cover among the pixels that have one, in \
                    the order of labels:classes",
            },
            ConventionField {
                name: "land_cover:largest_class",
                content: ConventionContent::LargestClass,
                description: "Name of the class of land cover with the greatest share",
            },
        ],
    },
    Convention {
        kind: "change-detection",
        task: "semantic-segmentation",
        keywords: &["change detection", "time series", "bitemporal"],
        classes: &[
            class("no change", 0, "Alike at both times"),
            class("change", 1, "Different at the second time"),
        ],
        fields: &[share(
            "change:changed_share",
            1,
            "Share of change among the pixels of change and no change, from 0 to 1",
        )],
    },
];

impl Convention {
    /// The convention and the field that a column belongs to.
    pub fn of_column(name: &str) -> Option<(&'static Convention, &'static ConventionField)> {
        CONVENTIONS.iter().find_map(|convention| {
            Some((
                convention,
                convention.fields.iter().find(|field| field.name == name)?,
            ))
        })
    }

    /// Values of all fields for a mask with these counts of pixels by class; `None` when it has a
    /// pixel of no class.
    pub fn values(&self, counts: &[u64]) -> Option<Vec<Value>> {
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        Some(
            self.fields
                .iter()
                .map(|field| self.compute_value(field.content, counts, total))
                .collect(),
        )
    }

    fn compute_value(&self, content: ConventionContent, counts: &[u64], total: u64) -> Value {
        match content {
            ConventionContent::ClassShare(index) => compute_class_share(counts, total, index),
            ConventionContent::AllShares => {
                let classes = 0..self.classes.len();
                Value::List(
                    classes
                        .map(|index| compute_class_share(counts, total, index))
                        .collect(),
                )
            }
            ConventionContent::LargestClass => {
                let most = counts.iter().max().copied().unwrap_or_default();
                let index = counts
                    .iter()
                    .position(|count| *count == most)
                    .unwrap_or_default();
                self.classes
                    .get(index)
                    .map_or(Value::Null, |class| Value::text(class.name))
            }
        }
    }
}

fn compute_class_share(counts: &[u64], total: u64, index: usize) -> Value {
    counts.get(index).map_or(Value::Null, |count| {
        Value::Float(*count as f64 / total as f64)
    })
}

impl ConventionField {
    /// The column: `double` for a share, a list of them for all, `string` for a name.
    pub fn spec(&self) -> FieldSpec {
        let dtype = match self.content {
            ConventionContent::ClassShare(_) => DataType::Float64,
            ConventionContent::AllShares => {
                DataType::List(Arc::new(Field::new("item", DataType::Float64, true)))
            }
            ConventionContent::LargestClass => DataType::Utf8,
        };
        FieldSpec {
            name: self.name.into(),
            dtype,
            description: self.description.into(),
        }
    }

    /// True for the type of [`ConventionField::spec`] and those with the same values in other
    /// widths.
    pub fn holds_type(&self, dtype: &DataType) -> bool {
        match (self.content, dtype) {
            (_, DataType::Null) => true,
            (_, DataType::Dictionary(_, values)) => self.holds_type(values),
            (ConventionContent::ClassShare(_), dtype) => dtype.is_floating(),
            (
                ConventionContent::AllShares,
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _),
            ) => item.data_type().is_floating(),
            (ConventionContent::AllShares, _) => false,
            (ConventionContent::LargestClass, dtype) => {
                matches!(
                    dtype,
                    DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convention(kind: &str) -> &'static Convention {
        CONVENTIONS
            .iter()
            .find(|convention| convention.kind == kind)
            .expect("is known")
    }

    #[test]
    fn values_are_the_shares_of_the_classes() {
        assert_eq!(
            convention("flood").values(&[3, 1]),
            Some(vec![Value::Float(0.25)])
        );
        assert_eq!(
            convention("methane").values(&[4, 0]),
            Some(vec![Value::Float(0.0)])
        );
        assert_eq!(
            convention("change-detection").values(&[0, 0]),
            None,
            "no pixel has a class"
        );
        let shares = [0.0, 0.5, 0.0, 0.5, 0.0, 0.0].map(Value::Float);
        let wanted = vec![
            Value::List(shares.into_iter().collect()),
            Value::text("cropland"),
        ];
        assert_eq!(
            convention("land-cover").values(&[0, 2, 0, 2, 0, 0]),
            Some(wanted)
        );
    }

    #[test]
    fn names_of_columns_are_unique_and_valid_and_lead_to_their_field() {
        let fields: Vec<&ConventionField> = CONVENTIONS
            .iter()
            .flat_map(|convention| convention.fields)
            .collect();
        for field in &fields {
            super::super::check_field_name(field.name)
                .unwrap_or_else(|fault| panic!("{}: {fault}", field.name));
            assert_eq!(
                Convention::of_column(field.name).map(|(_, found)| found),
                Some(*field)
            );
            assert!(
                field.holds_type(&field.spec().dtype) && !field.holds_type(&DataType::Int64),
                "{}",
                field.name
            );
        }
        assert!(Convention::of_column("flood:other").is_none());
    }
}
