//! The events of a pointer and a keyboard, one batch a frame.

use egui::{Event, Key, Modifiers, PointerButton, Pos2};

use crate::error::{Error, Result};

pub(super) fn clicks(at: Pos2, button: PointerButton) -> Vec<Vec<Event>> {
    vec![
        vec![Event::PointerMoved(at)],
        vec![make_button_event(at, button, true)],
        vec![make_button_event(at, button, false)],
    ]
}

fn make_button_event(pos: Pos2, button: PointerButton, pressed: bool) -> Event {
    Event::PointerButton {
        pos,
        button,
        pressed,
        modifiers: Modifiers::NONE,
    }
}

pub(super) fn drag(from: Pos2, to: Pos2) -> Vec<Vec<Event>> {
    let mut moves = vec![
        vec![Event::PointerMoved(from)],
        vec![make_button_event(from, PointerButton::Primary, true)],
    ];
    moves.extend((1..=10).map(|step| {
        vec![Event::PointerMoved(
            from + (to - from) * (step as f32 / 10.0),
        )]
    }));
    moves.extend([
        vec![Event::PointerMoved(to)],
        vec![make_button_event(to, PointerButton::Primary, false)],
    ]);
    moves
}

/// A key press with its modifiers, which are released one frame later.
pub(super) fn press(key: Key, modifiers: Modifiers) -> Vec<Vec<Event>> {
    let down = vec![
        Event::ModifiersChanged(modifiers),
        make_key_event(key, modifiers, true),
        make_key_event(key, modifiers, false),
    ];
    vec![down, vec![Event::ModifiersChanged(Modifiers::NONE)]]
}

fn make_key_event(key: Key, modifiers: Modifiers, pressed: bool) -> Event {
    Event::Key {
        key,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers,
    }
}

/// `Ctrl+Shift+Z`, as menus write it.
pub(super) fn key_of(text: &str) -> Result<(Key, Modifiers)> {
    let mut modifiers = Modifiers::NONE;
    let mut key = None;
    for word in text.split(['+', ' ']).filter(|word| !word.is_empty()) {
        match word {
            "Ctrl" | "Cmd" => modifiers |= Modifiers::COMMAND | Modifiers::CTRL,
            "Shift" => modifiers |= Modifiers::SHIFT,
            "Alt" => modifiers |= Modifiers::ALT,
            "Del" => key = Some(Key::Delete),
            "Esc" => key = Some(Key::Escape),
            word => key = Key::from_name(word),
        }
    }
    key.map(|key| (key, modifiers))
        .ok_or_else(|| Error::usage(format!("there is no key {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn keys_are_read_as_menus_write_them() {
        assert_eq!(key_of("F8").expect("is a key"), (Key::F8, Modifiers::NONE));
        let (key, modifiers) = key_of("Ctrl+Shift+Z").expect("is a key");
        assert!(key == Key::Z && modifiers.command && modifiers.shift && !modifiers.alt);
        assert_eq!(key_of("Enter").expect("is a key").0, Key::Enter);
        assert!(key_of("Ctrl+Nothing").is_err());
    }

    #[test]
    fn a_drag_begins_and_ends_where_it_should() {
        let moves = drag(pos2(0.0, 0.0), pos2(100.0, 50.0));
        assert!(matches!(
            moves[1][0],
            Event::PointerButton { pressed: true, pos, .. } if pos == pos2(0.0, 0.0)
        ));
        assert!(matches!(
            moves.last().expect("has moves")[0],
            Event::PointerButton { pressed: false, pos, .. } if pos == pos2(100.0, 50.0)
        ));
    }
}
