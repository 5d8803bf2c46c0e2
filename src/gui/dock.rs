//! The docks: the initial arrangements of the panels, and the look of their tabs.

use egui::{Response, Sense, Ui};
use egui_tiles::{
    Container, Linear, LinearDir, SimplificationOptions, TabState, Tile, TileId, Tiles, Tree,
    UiResponse,
};

use super::pane::{DockSide, Pane};
use super::theme;
use super::widgets::{Tone, tab};

/// Panels that are shown with the plan alone, each with the panel that replaces it.
const PLANNING: [(Pane, Pane); 2] = [(Pane::Engine, Pane::Hierarchy), (Pane::Part, Pane::Sample)];

/// What the panels are arranged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// The table over the width, with the fields of the sample and the collection beside it.
    Building,
    /// The table beside the picture of the selected sample.
    Exploring,
    /// The structure above the problems.
    Checking,
}

/// The arrangement of the panels.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Dock {
    tree: Tree<Pane>,
    /// True while the plan is the front tab: its engine and part have tabs beside it.
    #[serde(default)]
    planning: bool,
    /// Whether the bottom panels show their tabs only.
    #[serde(default)]
    bottom: BottomFold,
    /// True when a bottom panel was asked for, or has findings to show, since the document was
    /// opened.
    #[serde(skip)]
    is_called: bool,
    /// Shares of the upper and bottom panels before they were folded.
    #[serde(default)]
    open_shares: Vec<(TileId, f32)>,
}

/// What the user chose for the bottom panels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum BottomFold {
    /// They are folded until there are findings or one of them is asked for.
    #[default]
    Automatic,
    Open,
    /// They are folded until one of them is asked for.
    Folded,
}

/// Height of a row of tabs, in points.
const TABS: f32 = 32.0;
/// Gap between tiles, in points.
const TILE_GAP: f32 = 1.0;

impl Default for Dock {
    fn default() -> Self {
        Self::arranged_for(Arrangement::Building)
    }
}

impl Dock {
    /// The initial arrangement.
    pub fn arranged_for(arrangement: Arrangement) -> Self {
        let mut tiles = Tiles::default();
        let apart = (arrangement == Arrangement::Exploring).then_some(Pane::Preview);
        let left = insert_side(&mut tiles, Some(DockSide::Left), apart);
        let center = insert_side(&mut tiles, None, apart);
        let fields = insert_side(&mut tiles, Some(DockSide::Right), apart);
        let picture = apart.map(|pane| insert_tabs(&mut tiles, [pane]));
        let bottom = insert_side(&mut tiles, Some(DockSide::Bottom), apart);
        // Shares for 1440 × 836 points between the bars.
        let root = match picture {
            Some(picture) => {
                let right = insert_split(
                    &mut tiles,
                    LinearDir::Vertical,
                    [(picture, 520.0), (fields, 316.0)],
                );
                let middle = insert_split(
                    &mut tiles,
                    LinearDir::Vertical,
                    [(center, 561.0), (bottom, 275.0)],
                );
                let main = insert_split(
                    &mut tiles,
                    LinearDir::Horizontal,
                    [(middle, 720.0), (right, 460.0)],
                );
                insert_split(
                    &mut tiles,
                    LinearDir::Horizontal,
                    [(left, 260.0), (main, 1180.0)],
                )
            }
            None => {
                let upper = insert_split(
                    &mut tiles,
                    LinearDir::Horizontal,
                    [(center, 808.0), (fields, 336.0)],
                );
                let height = if arrangement == Arrangement::Checking {
                    380.0
                } else {
                    275.0
                };
                let main = insert_split(
                    &mut tiles,
                    LinearDir::Vertical,
                    [(upper, 836.0 - height), (bottom, height)],
                );
                insert_split(
                    &mut tiles,
                    LinearDir::Horizontal,
                    [(left, 296.0), (main, 1144.0)],
                )
            }
        };
        let mut dock = Self::from_tree(Tree::new(egui::Id::unique("dock"), root, tiles));
        PLANNING
            .into_iter()
            .for_each(|(pane, _)| dock.set_visible(pane, false));
        if arrangement == Arrangement::Checking {
            dock.show(Pane::Structure);
            dock.bottom = BottomFold::Open;
        }
        dock
    }

    fn from_tree(tree: Tree<Pane>) -> Self {
        Self {
            tree,
            planning: false,
            bottom: BottomFold::default(),
            is_called: false,
            open_shares: Vec::new(),
        }
    }

    /// Draws every visible panel through `contents`.
    pub fn ui(&mut self, ui: &mut Ui, contents: &mut dyn PaneContents) {
        self.follow_plan();
        let folded = self.fold_bottom(ui.available_height());
        let folded_tabs = match folded.and_then(|(tile, _)| self.tree.tiles.get(tile)) {
            Some(Tile::Container(Container::Tabs(tabs))) => tabs.children.clone(),
            _ => Vec::new(),
        };
        let mut bridge = Bridge {
            contents,
            folded_tabs,
            opened: false,
        };
        self.tree.ui(&mut bridge, ui);
        let opened = bridge.opened;
        if opened {
            self.is_called = true;
            ui.ctx().request_repaint();
        } else if let Some((tile, share)) = folded
            && self
                .shares_of_bottom()
                .is_some_and(|shares| (shares[tile] - share).abs() > 2.0)
        {
            // The separator was dragged: it stays where it is now.
            (self.bottom, self.open_shares) = (BottomFold::Open, Vec::new());
        }
    }

    /// Folds the bottom panels after a change of the document, unless they were opened for good.
    pub fn next_document(&mut self) {
        self.is_called = false;
    }

    /// Opens the bottom panels for findings, unless they were folded for good.
    pub fn show_findings(&mut self) {
        self.is_called |= self.bottom == BottomFold::Automatic;
    }

    /// True when the bottom panels show their tabs only.
    pub fn is_bottom_folded(&self) -> bool {
        self.bottom != BottomFold::Open && !self.is_called && self.shares_of_bottom().is_some()
    }

    /// The container that has the bottom panels below others, as far as they were not moved
    /// elsewhere.
    fn column_of_bottom(&self) -> Option<TileId> {
        let column = self
            .tree
            .tiles
            .parent_of(self.find_side_tabs(DockSide::Bottom)?)?;
        match self.tree.tiles.get(column)? {
            Tile::Container(Container::Linear(linear))
                if linear.dir == LinearDir::Vertical && linear.children.len() > 1 =>
            {
                Some(column)
            }
            _ => None,
        }
    }

    fn shares_of_bottom(&self) -> Option<&egui_tiles::Shares> {
        match self.tree.tiles.get(self.column_of_bottom()?)? {
            Tile::Container(Container::Linear(linear)) => Some(&linear.shares),
            _ => None,
        }
    }

    /// Sets the shares of the bottom panels and of those above for this height of all, in points.
    /// Returns the bottom tile and its share while it is folded.
    fn fold_bottom(&mut self, height: f32) -> Option<(TileId, f32)> {
        let (bottom, column, is_folded) = (
            self.find_side_tabs(DockSide::Bottom)?,
            self.column_of_bottom()?,
            self.is_bottom_folded(),
        );
        let open = std::mem::take(&mut self.open_shares);
        let Some(Tile::Container(Container::Linear(linear))) = self.tree.tiles.get_mut(column)
        else {
            return None;
        };
        if !is_folded {
            open.into_iter()
                .for_each(|(tile, share)| linear.shares.set_share(tile, share));
            return None;
        }
        let shares: Vec<(TileId, f32)> = linear
            .children
            .iter()
            .map(|&tile| (tile, linear.shares[tile]))
            .collect();
        self.open_shares = if open.is_empty() {
            shares.clone()
        } else {
            open
        };
        let sum: f32 = shares
            .iter()
            .filter(|(tile, _)| *tile != bottom)
            .map(|(_, share)| *share)
            .sum();
        let room = (height - TILE_GAP * (shares.len() - 1) as f32 - TABS).max(1.0);
        for (tile, share) in shares {
            let share = if tile == bottom {
                TABS
            } else {
                share / sum.max(f32::MIN_POSITIVE) * room
            };
            linear.shares.set_share(tile, share);
        }
        Some((bottom, TABS))
    }

    /// Brings engine and part to the front when the plan becomes the front tab, and hides them when
    /// it no longer is.
    fn follow_plan(&mut self) {
        let planning = self.is_active(Pane::Plan);
        if planning == self.planning {
            return;
        }
        self.planning = planning;
        for (pane, instead) in PLANNING {
            let was_front = self.is_active(pane);
            self.set_visible(pane, planning);
            if planning || was_front {
                let front = if planning { pane } else { instead };
                self.tree.make_active(|_, tile| *tile == Tile::Pane(front));
            }
        }
    }

    fn set_visible(&mut self, pane: Pane, visible: bool) {
        if let Some(id) = self.tree.tiles.find_pane(&pane) {
            self.tree.set_visible(id, visible);
        }
    }

    /// Brings a panel to the front and shows its side if that was hidden.
    pub fn show(&mut self, pane: Pane) {
        if let Some(id) = self.tree.tiles.find_pane(&pane) {
            self.is_called |= self
                .tree
                .tiles
                .parent_of(id)
                .is_some_and(|group| self.find_side_tabs(DockSide::Bottom) == Some(group));
            let mut at = Some(id);
            while let Some(tile) = at {
                self.tree.set_visible(tile, true);
                at = self.tree.tiles.parent_of(tile);
            }
        }
        self.tree.make_active(|_, tile| *tile == Tile::Pane(pane));
    }

    /// Shows or hides a side; the bottom panels keep their tabs.
    pub fn toggle(&mut self, side: DockSide) {
        if side == DockSide::Bottom && self.column_of_bottom().is_some() {
            let is_folded = self.is_bottom_folded();
            self.bottom = if is_folded {
                BottomFold::Open
            } else {
                BottomFold::Folded
            };
            self.is_called = is_folded;
            return;
        }
        let Some(tile) = self.find_side_tabs(side) else {
            return;
        };
        let visible = self.tree.is_visible(tile);
        self.tree.set_visible(tile, !visible);
    }

    /// True when the panel is the front tab of its group.
    pub fn is_active(&self, pane: Pane) -> bool {
        let active = self.tree.active_tiles();
        active
            .iter()
            .any(|&tile| self.tree.tiles.get_pane(&tile) == Some(&pane))
    }

    /// The panels of the arrangement, sorted.
    pub fn panes(&self) -> Vec<Pane> {
        let mut panes: Vec<_> = self
            .tree
            .tiles
            .tiles()
            .filter_map(|tile| {
                if let Tile::Pane(pane) = tile {
                    Some(*pane)
                } else {
                    None
                }
            })
            .collect();
        panes.sort_unstable();
        panes
    }

    /// Replaces a dock that lacks a panel or has one twice, as another version may have written.
    pub fn mend(&mut self, arrangement: Arrangement) {
        let mut all = Pane::ALL.to_vec();
        all.sort_unstable();
        if self.panes() != all {
            *self = Self::arranged_for(arrangement);
        }
    }

    /// The tab group that holds a side's panels, wherever they were dragged.
    fn find_side_tabs(&self, side: DockSide) -> Option<TileId> {
        let pane = match side {
            DockSide::Left => Pane::Hierarchy,
            DockSide::Right => Pane::Collection,
            DockSide::Bottom => Pane::Problems,
        };
        let id = self.tree.tiles.find_pane(&pane)?;
        self.tree.tiles.parent_of(id)
    }
}

/// The panels of a side but for `apart`.
fn insert_side(tiles: &mut Tiles<Pane>, side: Option<DockSide>, apart: Option<Pane>) -> TileId {
    let panes = Pane::ALL
        .into_iter()
        .filter(|pane| pane.initial_side() == side);
    insert_tabs(tiles, panes.filter(|pane| Some(*pane) != apart))
}

fn insert_tabs(tiles: &mut Tiles<Pane>, panes: impl IntoIterator<Item = Pane>) -> TileId {
    let panes = panes.into_iter();
    let children = panes.map(|pane| tiles.insert_pane(pane)).collect();
    tiles.insert_tab_tile(children)
}

/// `parts` are tiles with their shares.
fn insert_split(tiles: &mut Tiles<Pane>, dir: LinearDir, parts: [(TileId, f32); 2]) -> TileId {
    let mut linear = Linear::new(dir, parts.map(|(tile, _)| tile).to_vec());
    parts
        .into_iter()
        .for_each(|(tile, share)| linear.shares.set_share(tile, share));
    tiles.insert_container(Container::Linear(linear))
}

/// Contents of the panels.
pub trait PaneContents {
    /// Draws a panel.
    fn pane_ui(&mut self, ui: &mut Ui, pane: Pane);
    /// The number on a panel's tab.
    fn count(&self, pane: Pane) -> Option<(u64, Tone)>;
    /// Fills the right end of the tab bar whose front tab is `pane`, from right to left.
    fn bar_right_ui(&mut self, ui: &mut Ui, pane: Pane);
}

struct Bridge<'a> {
    contents: &'a mut dyn PaneContents,
    /// The tabs of the bottom panels while these are folded.
    folded_tabs: Vec<TileId>,
    /// Set when a tab of the folded group was clicked.
    opened: bool,
}

impl egui_tiles::Behavior<Pane> for Bridge<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        // A folded panel has no height.
        if ui.max_rect().height() < 2.0 {
            return UiResponse::None;
        }
        let t = theme::tokens(ui);
        ui.painter().rect_filled(ui.max_rect(), 0, t.bg1);
        ui.spacing_mut().item_spacing.y = 0.0;
        self.contents.pane_ui(ui, *pane);
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> egui::WidgetText {
        pane.title().into()
    }

    fn tab_ui(
        &mut self,
        tiles: &mut Tiles<Pane>,
        ui: &mut Ui,
        id: egui::Id,
        tile: TileId,
        state: &TabState,
    ) -> Response {
        let pane = tiles.get_pane(&tile).copied();
        let title = pane.map_or(tr!("Group" in "tabs"), Pane::title);
        let count = pane.and_then(|pane| self.contents.count(pane));
        let response = tab(
            ui,
            id,
            pane.and_then(Pane::icon),
            title,
            count,
            state.active,
            Sense::click_and_drag(),
        );
        self.opened |= response.clicked() && self.folded_tabs.contains(&tile);
        // Scroll to a tab when it comes to the front; afterwards the scroll position stays.
        let was = ui.data_mut(|data| {
            std::mem::replace(
                data.get_temp_mut_or(id.with("in front"), false),
                state.active,
            )
        });
        if state.active && !was {
            ui.scroll_to_rect_animation(response.rect, None, egui::style::ScrollAnimation::none());
        }
        response
    }

    fn top_bar_right_ui(
        &mut self,
        tiles: &Tiles<Pane>,
        ui: &mut Ui,
        _tile: TileId,
        tabs: &egui_tiles::Tabs,
        _scroll: &mut f32,
    ) {
        if let Some(pane) = tabs
            .active
            .and_then(|active| tiles.get_pane(&active).copied())
        {
            self.contents.bar_right_ui(ui, pane);
        }
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        TABS
    }

    fn tab_bar_color(&self, visuals: &egui::Visuals) -> egui::Color32 {
        theme::tokens_for_mode(visuals.dark_mode).bg2
    }

    fn tab_bar_hline_stroke(&self, visuals: &egui::Visuals) -> egui::Stroke {
        egui::Stroke::new(1.0, theme::tokens_for_mode(visuals.dark_mode).line)
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        TILE_GAP
    }

    fn min_size(&self) -> f32 {
        120.0
    }

    fn resize_stroke(&self, style: &egui::Style, state: egui_tiles::ResizeState) -> egui::Stroke {
        let t = theme::tokens_for_mode(style.visuals.dark_mode);
        match state {
            egui_tiles::ResizeState::Idle => egui::Stroke::new(1.0, t.bg0),
            _ => egui::Stroke::new(2.0, t.accfill),
        }
    }

    fn drag_preview_stroke(&self, visuals: &egui::Visuals) -> egui::Stroke {
        egui::Stroke::new(1.0, theme::tokens_for_mode(visuals.dark_mode).accfill)
    }

    fn drag_preview_color(&self, visuals: &egui::Visuals) -> egui::Color32 {
        theme::tokens_for_mode(visuals.dark_mode)
            .accbg
            .gamma_multiply(0.7)
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions {
            all_panes_must_have_tabs: true,
            ..SimplificationOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_hide_and_a_shown_panel_brings_its_side_back() {
        let shows = |dock: &Dock, side| {
            dock.find_side_tabs(side)
                .is_some_and(|tile| dock.tree.is_visible(tile))
        };
        let mut dock = Dock::default();
        assert!(shows(&dock, DockSide::Left));
        dock.toggle(DockSide::Left);
        assert!(!shows(&dock, DockSide::Left));
        dock.show(Pane::Columns);
        assert!(shows(&dock, DockSide::Left));
        assert!(dock.is_active(Pane::Columns));
        assert!(!dock.is_active(Pane::Hierarchy));
    }

    #[test]
    fn the_bottom_panels_fold_until_there_is_something_to_show() {
        let mut dock = Dock::default();
        let open = dock
            .shares_of_bottom()
            .cloned()
            .expect("they are below others");
        assert!(dock.is_bottom_folded());
        let (bottom, share) = dock.fold_bottom(836.0).expect("is folded");
        let shares = dock.shares_of_bottom().expect("shares");
        let sum: f32 = shares.iter().map(|(_, share)| share).sum();
        assert!(
            (share - TABS).abs() < 0.01 && (sum - 835.0).abs() < 0.01 && shares[bottom] == TABS,
            "{shares:?}"
        );
        dock.show_findings();
        assert_eq!(dock.fold_bottom(836.0), None);
        assert_eq!(
            dock.shares_of_bottom(),
            Some(&open),
            "they are as high as before"
        );
        // What the user chose is remembered, and holds for the next document.
        dock.toggle(DockSide::Bottom);
        let text = serde_json::to_string(&dock).expect("writes");
        let mut dock: Dock = serde_json::from_str(&text).expect("reads");
        dock.next_document();
        dock.show_findings();
        assert!(dock.is_bottom_folded());
        dock.show(Pane::Log);
        assert!(!dock.is_bottom_folded());
        dock.toggle(DockSide::Bottom);
        dock.toggle(DockSide::Bottom);
        dock.next_document();
        assert!(!dock.is_bottom_folded());
    }

    #[test]
    fn an_arrangement_without_a_panel_is_replaced() {
        let mut dock = Dock::from_tree(Tree::new_tabs(
            egui::Id::unique("dock"),
            vec![Pane::Table, Pane::Table],
        ));
        dock.mend(Arrangement::Building);
        assert_eq!(dock.panes().len(), Pane::ALL.len());
    }
}
