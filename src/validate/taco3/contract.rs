//! `taco:structure` of TACO 3: the files of every sample, in order.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::MAX_LEVELS;

/// Names that a path may have; readers read no tables of deeper folders. The tables of a path take
/// memory by the square of its depth.
const PATH_NAMES_MAX: usize = MAX_LEVELS + 1;

/// A direct member of a sample, or of a folder in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ContractMember {
    Folder(String),
    File(String),
    /// `prefix*[least,most]suffix`: files numbered from 0 without gaps.
    Sequence {
        prefix: String,
        suffix: String,
        least: usize,
        most: usize,
    },
}

/// The members of a sample, by folder; that of the sample itself has an empty name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MemberContract {
    folders: BTreeMap<String, Vec<ContractMember>>,
    /// Number of names of the longest path that is left out; 0 for none.
    longest_left_out: usize,
}

/// Why the members of a folder are others than in the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The contract has a member that is not here.
    Missing(String),
    /// A member that the contract does not have, or at another place.
    Unexpected(String),
    /// A sequence has another number of files than it may.
    Count { pattern: String, found: usize },
}

impl ContractMember {
    fn from_name(name: &str) -> Self {
        Self::read_sequence(name).unwrap_or_else(|| Self::File(name.to_owned()))
    }

    fn read_sequence(name: &str) -> Option<Self> {
        let (prefix, rest) = name.split_once("*[")?;
        let (range, suffix) = rest.split_once(']')?;
        let (least, most) = range.split_once(',')?;
        let (least, most) = (least.trim().parse().ok()?, most.trim().parse().ok()?);
        Some(Self::Sequence {
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
            least,
            most,
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Folder(name) | Self::File(name) => name.clone(),
            Self::Sequence {
                prefix,
                suffix,
                least,
                most,
            } => format!("{prefix}*[{least},{most}]{suffix}"),
        }
    }
}

impl MemberContract {
    /// The contract of the paths of `taco:structure`, without those that are too deep.
    pub fn from_paths<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut contract = Self::default();
        contract.folders.insert(String::new(), Vec::new());
        let mut known: HashMap<String, HashSet<ContractMember>> = HashMap::new();
        for path in paths {
            let names = path.split('/').count();
            if names > PATH_NAMES_MAX {
                contract.longest_left_out = contract.longest_left_out.max(names);
                continue;
            }
            let mut folder = String::new();
            let mut parts = path.split('/').peekable();
            while let Some(part) = parts.next() {
                let member = if parts.peek().is_some() {
                    ContractMember::Folder(part.to_owned())
                } else {
                    ContractMember::from_name(part)
                };
                let members = contract.folders.entry(folder.clone()).or_default();
                if known
                    .entry(folder.clone())
                    .or_default()
                    .insert(member.clone())
                {
                    members.push(member);
                }
                folder = if folder.is_empty() {
                    part.to_owned()
                } else {
                    format!("{folder}/{part}")
                };
            }
        }
        contract
    }

    /// Number of levels that the longest of the paths takes that are too deep for the contract;
    /// `None` where none is.
    pub fn levels_of_too_deep_path(&self) -> Option<usize> {
        (self.longest_left_out > 0).then_some(self.longest_left_out + 1)
    }

    /// Names of the level tables below the samples: `children`, `children/before`, ….
    pub fn tables(&self) -> impl Iterator<Item = String> {
        self.folders.keys().map(|folder| {
            if folder.is_empty() {
                "children".to_owned()
            } else {
                format!("children/{folder}")
            }
        })
    }

    /// The members of the folder whose files the level table `name` has.
    pub fn members(&self, table: &str) -> Option<&[ContractMember]> {
        let folder = if table == "children" {
            ""
        } else {
            table.strip_prefix("children/")?
        };
        self.folders.get(folder).map(Vec::as_slice)
    }

    /// Two members of one folder whose names differ in case alone.
    pub fn find_names_alike(&self) -> Option<(String, String)> {
        self.folders.values().find_map(|members| {
            let mut known: HashMap<String, String> = HashMap::new();
            members.iter().map(ContractMember::text).find_map(|name| {
                let other = known.insert(name.to_lowercase(), name.clone());
                other.map(|other| (other, name))
            })
        })
    }
}

/// Compares the names of the rows of one parent, in order, with the members of its folder.
pub(super) fn compare(members: &[ContractMember], names: &[&str]) -> Result<(), Mismatch> {
    let mut rest = names.iter().copied().peekable();
    for member in members {
        match member {
            ContractMember::Folder(name) | ContractMember::File(name) => {
                match rest.next_if(|found| found == name) {
                    Some(_) => {}
                    None if names.contains(&name.as_str()) => {
                        return Err(Mismatch::Unexpected(
                            rest.next().unwrap_or_default().to_owned(),
                        ));
                    }
                    None => return Err(Mismatch::Missing(name.clone())),
                }
            }
            ContractMember::Sequence {
                prefix,
                suffix,
                least,
                most,
            } => {
                let mut count = 0;
                while rest
                    .next_if(|found| **found == format!("{prefix}{count}{suffix}"))
                    .is_some()
                {
                    count += 1;
                }
                if !(*least..=*most).contains(&count) {
                    return Err(Mismatch::Count {
                        pattern: member.text(),
                        found: count,
                    });
                }
            }
        }
    }
    rest.next()
        .map_or(Ok(()), |name| Err(Mismatch::Unexpected(name.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(paths: &[&str]) -> MemberContract {
        MemberContract::from_paths(paths.iter().copied())
    }

    #[test]
    fn folders_and_files_are_members_in_order() {
        let contract = contract(&[
            "before/image.tif",
            "after/image.tif",
            "after/quality/mask.tif",
            "label.tif",
        ]);
        let tables: Vec<String> = contract.tables().collect();
        assert_eq!(
            tables,
            [
                "children",
                "children/after",
                "children/after/quality",
                "children/before"
            ]
        );
        let of =
            |table: &str, names: &[&str]| compare(contract.members(table).expect("members"), names);
        assert_eq!(of("children", &["before", "after", "label.tif"]), Ok(()));
        assert_eq!(
            of("children", &["before", "label.tif"]),
            Err(Mismatch::Missing("after".into()))
        );
        assert_eq!(
            of("children", &["after", "before", "label.tif"]),
            Err(Mismatch::Unexpected("after".into()))
        );
        assert_eq!(
            of("children", &["before", "after", "label.tif", "x"]),
            Err(Mismatch::Unexpected("x".into()))
        );
        assert_eq!(of("children/after/quality", &["mask.tif"]), Ok(()));
    }

    #[test]
    fn sequences_are_counted_from_0_without_gaps() {
        let contract = contract(&["img*[1,4].tif", "opt*[0,3].tif"]);
        let of = |names: &[&str]| compare(contract.members("children").expect("members"), names);
        assert_eq!(of(&["img0.tif", "img1.tif"]), Ok(()));
        assert_eq!(
            of(&["img0.tif", "opt0.tif", "opt1.tif", "opt2.tif"]),
            Ok(())
        );
        assert_eq!(
            of(&["img0.tif", "img1.tif", "img3.tif"]),
            Err(Mismatch::Unexpected("img3.tif".into()))
        );
        assert_eq!(
            of(&["opt0.tif"]),
            Err(Mismatch::Count {
                pattern: "img*[1,4].tif".into(),
                found: 0
            })
        );
        let five: Vec<String> = (0..5).map(|number| format!("img{number}.tif")).collect();
        let five: Vec<&str> = five.iter().map(String::as_str).collect();
        assert_eq!(
            of(&five),
            Err(Mismatch::Count {
                pattern: "img*[1,4].tif".into(),
                found: 5
            })
        );
    }

    /// All tables of this path would have names of 2.5 GB.
    #[test]
    fn a_path_of_many_folders_is_left_out() {
        let deep = "a/".repeat(50_000) + "b.tif";
        let found = contract(&["a/b/c/d/e/f/g.tif", &deep, "h.tif"]);
        assert_eq!(found.levels_of_too_deep_path(), Some(50_002));
        assert_eq!(found.tables().count(), 7);
        assert_eq!(
            compare(found.members("children").expect("members"), &["a", "h.tif"]),
            Ok(())
        );
        assert_eq!(contract(&["a/b.tif"]).levels_of_too_deep_path(), None);
    }

    /// Each would be compared with all others.
    #[test]
    fn many_members_of_a_folder_are_kept_once_in_order() {
        let names: Vec<String> = (0..100_000).map(|n| format!("{n}.tif")).collect();
        let twice = names.iter().chain(&names).map(String::as_str);
        let found = MemberContract::from_paths(twice);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(
            compare(found.members("children").expect("members"), &names),
            Ok(())
        );
    }

    #[test]
    fn names_that_differ_in_case_alone_are_found() {
        assert_eq!(
            contract(&["label.tif", "a/label.tif"]).find_names_alike(),
            None
        );
        let alike = contract(&["label.tif", "LABEL.tif"]).find_names_alike();
        assert_eq!(alike, Some(("label.tif".into(), "LABEL.tif".into())));
    }
}
