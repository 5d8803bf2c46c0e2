//! Texts that are cast: what is a number, a time or an interval, and which one, is what DuckDB
//! reads.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::answers::Answer;
use super::{Engines, Outcome};

/// Statements of each kind, of [`TEXTS`] texts.
const STATEMENTS: usize = 12;
const TEXTS: usize = 25;

/// Texts of one kind, made of parts.
struct Kind {
    /// The column that reads the text `t`.
    reads: &'static str,
    /// One of each, in order.
    parts: &'static [&'static [&'static str]],
    /// Letters of which one is put anywhere in every second text.
    letters: &'static [u8],
}

const NUMBERS: &[&[&str]] = &[
    &["", "", " ", "+", "-", "+-", " -"],
    &["", "0", "1", "15", "1_0", "007", "1__0", "99", "255"],
    &["", "", ".", ".5", ".49", ".1_5", "_", "_."],
    &["", "", "e1", "E2", "e-1", "e+1.", "e", "e "],
    &["", "", " ", "x"],
];
const DATES: &[&str] = &[
    "2023-01-02",
    "2023-1-2",
    "2024/02/29",
    "2023-02-29",
    "2023 1 2",
    "0001-01-01",
    "12023-01-02",
    "44-07-03 (BC)",
    "-1-01-01",
    " 1969-12-31",
    "2023-13-01",
    "epoch",
    "2023-01-02x",
];
const TIMES: &[&str] = &[
    "",
    " 12:34",
    "T12:34:56",
    " 12:34:56.5",
    " 1:2:3",
    " 12:34:56.1234567",
    " 24:00:00",
    " 24:00:01",
    " 12:60:00",
    " 12:34:60",
    " 12:",
    " 12",
    "T",
    "  1:2:",
];

const KINDS: &[Kind] = &[
    Kind {
        reads: "TRY_CAST(t AS INTEGER)",
        parts: NUMBERS,
        letters: b"0159_.eE+- ",
    },
    Kind {
        reads: "TRY_CAST(t AS UTINYINT)",
        parts: NUMBERS,
        letters: b"0159_.eE+- ",
    },
    Kind {
        reads: "TRY_CAST(t AS DOUBLE)",
        parts: NUMBERS,
        letters: b"0159_.eE+- ",
    },
    // DuckDB rounds 5e-5 to 0.01.
    Kind {
        reads: "TRY_CAST(t AS DECIMAL(9, 2))",
        parts: &[NUMBERS[0], NUMBERS[1], NUMBERS[2], NUMBERS[4]],
        letters: b"0159_.+- ",
    },
    Kind {
        reads: "CAST(TRY_CAST(t AS DATE) AS VARCHAR)",
        parts: &[DATES, TIMES],
        letters: b"0123459-/: ",
    },
    Kind {
        reads: "CAST(TRY_CAST(t AS TIMESTAMP) AS VARCHAR)",
        parts: &[
            DATES,
            TIMES,
            &[
                "",
                "",
                "Z",
                "+01",
                "-01:30",
                "+0100",
                "+01:00:30",
                " UTC",
                " utc",
                "z",
                " x",
                "+1",
                " ",
            ],
        ],
        letters: b"0123459-/:+TZ. ",
    },
    // DuckDB takes the zone of the text before for one without a zone.
    Kind {
        reads: "CAST(TRY_CAST(t AS TIMESTAMPTZ) AS VARCHAR)",
        parts: &[
            &["2023-01-02", "1969-12-31", "2024-02-29"],
            TIMES,
            &["", "Z", "+01", "-01:30", "+0100", "+01:00:30", "+25", "+1"],
        ],
        letters: b"012345-:+Z. ",
    },
    Kind {
        reads: "CAST(TRY_CAST(t AS TIME) AS VARCHAR)",
        parts: &[
            &["", "", "2023-01-02"],
            &[
                "12:34",
                " 12:34:56",
                "1:2:3.5",
                " 23:59:59.9999999",
                "12:",
                "12",
                "25:00",
                " 0:0",
            ],
            &["", "Z", " x"],
        ],
        letters: b"012345:. ",
    },
];

/// Intervals, whose text is written: the texts of a column are refused.
const INTERVALS: &[&[&str]] = &[
    &["", "", "@ ", "-", "+", " "],
    &["1", "2", "1.5", "0.25", "3.", "40", ".5"],
    &[" ", " ", ""],
    &[
        "year", "months", "mon", "week", "DAYS", "d", "hour", "min", "m", "secs", "s", "ms", "us",
        "quarter", "decade", "x", "",
    ],
    &[
        "",
        "",
        " 2 days",
        " 3h",
        " 01:02:03.5",
        "-1:00",
        " ago",
        " 5",
        " 1",
    ],
];

fn text_of(random: &mut ChaCha8Rng, parts: &[&[&str]], letters: &[u8]) -> String {
    let mut below = |end: usize| random.next_u32() as usize % end;
    let mut text: String = parts.iter().map(|part| part[below(part.len())]).collect();
    if !letters.is_empty() && below(2) == 0 {
        let letter = char::from(letters[below(letters.len())]);
        let at = below(text.len() + 1);
        text.insert(at, letter);
    }
    text
}

/// True where the studio refuses a value that it can't hold.
fn is_beyond(ours: &Answer) -> bool {
    matches!(ours, Answer::Refused(_, text) if text.contains("can't be held here"))
}

#[test]
fn texts_are_read_as_duckdb_reads_them() {
    let mut engines = Engines::start();
    let mut random = ChaCha8Rng::seed_from_u64(31);
    let mut compare = |statement: &str| {
        let (ours, theirs) = engines.answers(statement);
        let outcome = engines.outcome_of(statement, &ours, &theirs, false);
        let is_alike = matches!(outcome, Outcome::Equal | Outcome::BothRefused) || is_beyond(&ours);
        (!is_alike).then(|| format!("{statement}\n  {outcome:?}"))
    };
    let mut other = Vec::new();
    for kind in KINDS {
        for _ in 0..STATEMENTS {
            let texts: Vec<String> = (0..TEXTS)
                .map(|_| format!("('{}')", text_of(&mut random, kind.parts, kind.letters)))
                .collect();
            other.extend(compare(&format!(
                "SELECT t, {} AS c FROM (VALUES {}) AS v(t)",
                kind.reads,
                texts.join(", ")
            )));
        }
    }
    for _ in 0..STATEMENTS * TEXTS {
        let text = text_of(&mut random, INTERVALS, b"");
        other.extend(compare(&format!(
            "SELECT TIMESTAMP '2020-01-31 12:00:00' + INTERVAL '{text}' AS c"
        )));
    }
    assert!(
        other.is_empty(),
        "{} statements:\n{}",
        other.len(),
        other.join("\n")
    );
}
