//! Structure-aware mutations. Where lengths and checksums would reject a changed input, the change
//! is made to the protected data, and lengths and checksums are updated.

mod json;
mod sql;

pub use sql::sql;

use serde_json::Value as Json;

/// Mutates an input of at most the given length. The last argument is libFuzzer's own mutation.
pub type Mutation = fn(&mut Vec<u8>, usize, &mut Random, Engine<'_>);

/// Mutates bytes up to a maximum length.
pub type Engine<'a> = &'a mut dyn FnMut(&mut Vec<u8>, usize);

/// Deterministic random numbers from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.next() % bound as u64) as usize
        }
    }

    /// True with probability 1/`times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// libFuzzer's own mutation.
pub fn plain(bytes: &mut Vec<u8>, longest: usize, _: &mut Random, engine: Engine<'_>) {
    engine(bytes, longest);
}

/// Usually keeps the length, so that offsets stored elsewhere stay valid.
pub fn in_place(bytes: &mut Vec<u8>, longest: usize, random: &mut Random, engine: Engine<'_>) {
    if bytes.is_empty() || random.one_in(8) {
        return engine(bytes, longest);
    }
    for _ in 0..=random.below(3) {
        // Headers and footers are at the ends.
        let start = match random.below(4) {
            0 => random.below(bytes.len().min(256)),
            1 => bytes.len() - 1 - random.below(bytes.len().min(1024)),
            _ => random.below(bytes.len()),
        };
        let length = (1 << random.below(8)).min(bytes.len() - start);
        let mut part = bytes[start..start + length].to_vec();
        engine(&mut part, length);
        bytes[start..start + part.len()].copy_from_slice(&part);
    }
}

/// A Parquet file: mutates pages in place, or the footer with its length updated.
pub fn parquet(bytes: &mut Vec<u8>, longest: usize, random: &mut Random, engine: Engine<'_>) {
    const MAGIC: &[u8] = b"PAR1";
    let body = bytes
        .strip_suffix(MAGIC)
        .and_then(|rest| rest.split_last_chunk::<4>());
    let start = body
        .and_then(|(rest, length)| rest.len().checked_sub(u32::from_le_bytes(*length) as usize));
    let Some(start) = start.filter(|_| random.below(3) > 0) else {
        return in_place(bytes, longest, random, engine);
    };
    let mut footer = bytes[start..bytes.len() - 8].to_vec();
    engine(&mut footer, longest.saturating_sub(start + 8));
    bytes.truncate(start);
    bytes.extend_from_slice(&footer);
    bytes.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    bytes.extend_from_slice(MAGIC);
}

/// A JSON document, usually mutated as a document.
pub fn json(bytes: &mut Vec<u8>, longest: usize, random: &mut Random, engine: Engine<'_>) {
    match serde_json::from_slice::<Json>(bytes) {
        Ok(mut document) if !random.one_in(4) => {
            json::change(&mut document, random, engine);
            *bytes = document.to_string().into_bytes();
            bytes.truncate(longest);
        }
        _ => engine(bytes, longest),
    }
}

/// A journal: mutates the text of one line and updates its checksum.
pub fn journal(bytes: &mut Vec<u8>, longest: usize, random: &mut Random, engine: Engine<'_>) {
    if random.one_in(8) {
        return engine(bytes, longest);
    }
    let mut lines: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines.retain(|line| !line.is_empty());
    let chosen = random.below(lines.len());
    match random.below(6) {
        0 if lines.len() > 2 => drop(lines.remove(chosen)),
        1 if !lines.is_empty() => {
            lines.insert(random.below(lines.len()) + 1, lines[chosen].clone())
        }
        2 => {
            let words: [&[u8]; 3] = [
                b"00000000 \"undo\"",
                b"00000000 \"redo\"",
                b"00000000 {\"recipe\":[]}",
            ];
            lines.insert(
                lines.len().min(chosen + 1),
                words[random.below(words.len())].to_vec(),
            );
        }
        _ => {
            if let Some(line) = lines.get_mut(chosen) {
                let mark = if chosen == 0 { 0 } else { line.len().min(9) };
                let mut text = line.split_off(mark);
                json(&mut text, longest / 2, random, engine);
                line.extend(text);
            }
        }
    }
    bytes.clear();
    for (number, line) in lines.iter().enumerate() {
        match line.get(9..) {
            Some(text) if number > 0 => bytes.extend(
                format!("{:08x} ", crc32fast::hash(text))
                    .bytes()
                    .chain(text.iter().copied()),
            ),
            _ => bytes.extend(line),
        }
        bytes.push(b'\n');
    }
    bytes.truncate(longest);
}

/// A project: mutates its first line or one of the tables after it, and updates lengths and
/// checksums.
pub fn project(bytes: &mut Vec<u8>, longest: usize, random: &mut Random, engine: Engine<'_>) {
    if random.one_in(8) || changed_project(bytes, longest, random, engine).is_none() {
        engine(bytes, longest);
    }
}

fn changed_project(
    bytes: &mut Vec<u8>,
    longest: usize,
    random: &mut Random,
    engine: Engine<'_>,
) -> Option<()> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let mut head: Json = serde_json::from_slice(&bytes[..end]).ok()?;
    let mut rest = &bytes[end + 1..];
    let mut tables = Vec::new();
    for stated in head.get("tables")?.as_array()? {
        let length = usize::try_from(stated.get("bytes")?.as_u64()?).ok()?;
        let (table, further) = rest.split_at_checked(length)?;
        tables.push(table.to_vec());
        rest = further;
    }
    let chosen = random.below(tables.len() * 2 + 1);
    match tables.get_mut(chosen) {
        Some(table) => parquet(table, longest / 2, random, engine),
        None => {
            let listed = head.get("tables").cloned();
            json::change(&mut head, random, engine);
            // The list of tables is kept, so that they are found.
            if let (Some(fields), Some(listed)) = (head.as_object_mut(), listed) {
                fields.insert("tables".into(), listed);
            }
        }
    }
    for (stated, table) in head
        .get_mut("tables")?
        .as_array_mut()?
        .iter_mut()
        .zip(&tables)
    {
        let stated = stated.as_object_mut()?;
        stated.insert("bytes".into(), table.len().into());
        stated.insert("crc32".into(), crc32fast::hash(table).into());
    }
    *bytes = serde_json::to_vec(&head).ok()?;
    bytes.push(b'\n');
    tables.iter().for_each(|table| bytes.extend(table));
    bytes.truncate(longest);
    Some(())
}
