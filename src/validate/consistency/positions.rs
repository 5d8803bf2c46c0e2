//! Positions of a tree: the samples that correspond to each other in all roots.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::{Skeleton, is_padding};

/// Number of a position in [`SamplePositions::nodes`].
pub type NodeId = u32;
/// Marks samples without a position.
const NO_POSITION: NodeId = NodeId::MAX;

#[derive(Clone, Debug, Default)]
pub struct PositionNode {
    /// Positions from the root down; empty for the roots.
    pub place: Vec<u32>,
    /// Id in most roots; empty for the roots.
    pub id: String,
    /// The position above; `None` for the roots.
    pub parent: Option<NodeId>,
}

/// The position of every sample.
pub struct SamplePositions {
    /// Positions of all levels.
    pub nodes: Vec<PositionNode>,
    /// By level and row.
    node: Vec<Vec<NodeId>>,
    /// By level and row, the row of the root in level 0.
    root: Vec<Vec<u32>>,
}

impl SamplePositions {
    /// Finds the position of every sample. The children of FOLDERs at one position are compared
    /// with the most frequent list of ids there: a child of the same id has the same position, and
    /// a child of another id that of its index when the numbers of children are equal. Other
    /// children, and padding, have no position.
    pub fn from_tree(tree: &Skeleton) -> Self {
        let mut positions = Self {
            nodes: vec![PositionNode::default()],
            node: Vec::new(),
            root: Vec::new(),
        };
        let Some(top) = tree.levels.first() else {
            return positions;
        };
        positions.node.push(
            (0..top.len() as u32)
                .map(|row| {
                    if is_padding(top.id(row)) {
                        NO_POSITION
                    } else {
                        0
                    }
                })
                .collect(),
        );
        positions.root.push((0..top.len() as u32).collect());
        for depth in 1..tree.levels.len() {
            positions.add_level(tree, depth);
        }
        positions
    }

    fn add_level(&mut self, tree: &Skeleton, depth: usize) {
        let (above, level) = (&tree.levels[depth - 1], &tree.levels[depth]);
        // For each position above, the most frequent list of children; the first among equally
        // frequent ones.
        let mut lists: HashMap<(NodeId, u64), (usize, u32)> = HashMap::new();
        for row in above.list_folders() {
            let node = self.node[depth - 1][row as usize];
            let mut hasher = DefaultHasher::new();
            above
                .children(row)
                .iter()
                .for_each(|&child| level.id(child).hash(&mut hasher));
            lists.entry((node, hasher.finish())).or_insert((0, row)).0 += 1;
        }
        let mut models: HashMap<NodeId, (usize, u32)> = HashMap::new();
        for (&(node, _), &(count, row)) in
            lists.iter().filter(|((node, _), _)| *node != NO_POSITION)
        {
            let model = models.entry(node).or_insert((count, row));
            let better = (count, above.children(row).len(), std::cmp::Reverse(row));
            if better
                > (
                    model.0,
                    above.children(model.1).len(),
                    std::cmp::Reverse(model.1),
                )
            {
                *model = (count, row);
            }
        }
        // Ids and positions of the children of each position above.
        let mut models: Vec<(NodeId, u32)> = models
            .into_iter()
            .map(|(node, (_, row))| (node, row))
            .collect();
        models.sort_unstable();
        let mut children: HashMap<NodeId, (Vec<NodeId>, HashMap<&str, usize>)> = HashMap::new();
        for (parent, row) in models {
            let (mut made, mut ids) = (Vec::new(), HashMap::new());
            for (index, &child) in above.children(row).iter().enumerate() {
                let mut place = self.nodes[parent as usize].place.clone();
                place.push(index as u32);
                made.push(self.nodes.len() as NodeId);
                ids.entry(level.id(child)).or_insert(index);
                self.nodes.push(PositionNode {
                    place,
                    id: level.id(child).to_owned(),
                    parent: Some(parent),
                });
            }
            children.insert(parent, (made, ids));
        }
        let (mut node, mut root) = (vec![NO_POSITION; level.len()], vec![0; level.len()]);
        for row in above.list_folders() {
            let Some((known, ids)) = children.get(&self.node[depth - 1][row as usize]) else {
                continue;
            };
            let found = above.children(row);
            let taken: Vec<bool> = {
                let mut taken = vec![false; known.len()];
                found
                    .iter()
                    .filter_map(|&child| ids.get(level.id(child)))
                    .for_each(|&index| taken[index] = true);
                taken
            };
            for (index, &child) in found.iter().enumerate() {
                let by_id = ids.get(level.id(child)).copied();
                let by_index = (found.len() == known.len() && !taken[index]).then_some(index);
                root[child as usize] = self.root[depth - 1][row as usize];
                if let Some(index) = by_id.or(by_index).filter(|_| !is_padding(level.id(child))) {
                    node[child as usize] = known[index];
                }
            }
        }
        self.node.push(node);
        self.root.push(root);
    }

    pub fn node(&self, level: usize, row: u32) -> Option<NodeId> {
        self.node
            .get(level)?
            .get(row as usize)
            .copied()
            .filter(|&node| node != NO_POSITION)
    }

    /// Row of the sample's root in level 0.
    pub fn root(&self, level: usize, row: u32) -> u32 {
        self.root
            .get(level)
            .and_then(|rows| rows.get(row as usize))
            .copied()
            .unwrap_or_default()
    }

    /// Ids below the root, joined with ` / `.
    pub fn name(&self, node: NodeId) -> String {
        let mut ids: Vec<&str> = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at.and_then(|at| self.nodes.get(at as usize)) {
            if node.parent.is_some() {
                ids.push(&node.id);
            }
            at = node.parent;
        }
        ids.reverse();
        ids.join(" / ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Sample, Tortilla};

    #[test]
    fn children_correspond_by_id_then_by_index() {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let root = |id: &str, ids: &[&str]| {
            Sample::new_folder(id, Tortilla::new(ids.iter().map(|id| file(id)).collect()))
        };
        let roots = vec![
            root("a", &["before", "after", "label"]),
            root("b", &["before", "after", "label"]),
            root("c", &["before", "label"]),
            root("d", &["label", "before", "after"]),
            root("e", &["before", "later", "label"]),
            root("f", &["before", "__TACOPAD__1", "label", "more"]),
        ];
        let tree = Skeleton::from_dataset(&Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        });
        let positions = SamplePositions::from_tree(&tree);
        let found: Vec<Option<u32>> = (0..tree.levels[1].len() as u32)
            .map(|row| {
                positions
                    .node(1, row)
                    .map(|node| positions.nodes[node as usize].place[0])
            })
            .collect();
        let at = |list: &[i64]| {
            list.iter()
                .map(|&at| u32::try_from(at).ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found,
            at(&[0, 1, 2, 0, 1, 2, 0, 2, 2, 0, 1, 0, 1, 2, 0, -1, 2, -1])
        );
        assert_eq!(
            positions.name(positions.node(1, 1).expect("a position")),
            "after"
        );
        assert_eq!((positions.root(1, 6), positions.root(1, 17)), (2, 5));
    }
}
