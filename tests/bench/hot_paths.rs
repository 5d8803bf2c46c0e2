//! What users wait for most often, measured call by call: `cargo bench --bench hot_paths`, or a
//! part of it by name. For comparing two versions on one machine:
//! `cargo bench --bench hot_paths -- --save-baseline before`, then `-- --baseline before`.
//! `packaging/bench` compares whole programs.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    missing_docs,
    reason = "a test says what went wrong by ending"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::DataType;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use taco_studio::container::{self, Assembly, BuildOptions, ContainerReader, Format, OnDamage};
use taco_studio::draft::{Edit, Structure};
use taco_studio::jobs::JobContext;
use taco_studio::model::{
    Collection, Dataset, FieldSpec, NodePath, Payload, Sample, Schema, Tortilla, Value,
};
use taco_studio::ops::lazy_tables;
use taco_studio::query::run_sql;
use taco_studio::validate::LiveCheck;

const ROOTS: u32 = 2_000;
const CHILDREN: u32 = 5;
const FILE_BYTES: usize = 4096;

/// A dataset of FOLDERs with five FILEs each, and three columns per level.
fn dataset() -> Dataset {
    let schema: Schema = [
        ("split", DataType::Utf8),
        ("cloud_cover", DataType::Float64),
        ("row", DataType::Int64),
    ]
    .into_iter()
    .map(|(name, dtype)| FieldSpec::new(name, dtype))
    .collect();
    let values = |index: u32| -> Arc<[Value]> {
        let split = ["train", "validation", "test"][index as usize % 3];
        [
            Value::text(split),
            Value::Float(f64::from(index % 101) / 100.0),
            Value::Int(i64::from(index)),
        ]
        .into()
    };
    let file = |root: u32, child: u32| Sample {
        id: format!("band_{child:02}.bin").into(),
        payload: Payload::Bytes(vec![(root % 251) as u8; FILE_BYTES].into()),
        values: values(root * CHILDREN + child),
    };
    let folder = |root: u32| Sample {
        id: format!("roi_{root:06}").into(),
        payload: Payload::Folder(
            Tortilla {
                schema: schema.clone(),
                samples: (0..CHILDREN).map(|child| file(root, child)).collect(),
            }
            .into(),
        ),
        values: values(root),
    };
    let root = Tortilla {
        schema: schema.clone(),
        samples: (0..ROOTS).map(folder).collect(),
    };
    Dataset {
        collection: Collection::template(),
        root: root.into(),
    }
}

fn options(target: PathBuf) -> BuildOptions {
    BuildOptions {
        text_columns: false,
        align_blocks: false,
        target,
        format: Format::Zip,
        parquet: Default::default(),
        overwrite: true,
        parts: None,
        on_damage: OnDamage::Stop,
    }
}

fn written(folder: &Path) -> PathBuf {
    let ctx = JobContext::default();
    let path = folder.join("bench.tacozip");
    let assembly = Assembly::of_dataset(&dataset(), &ctx).expect("assembles");
    container::write(&assembly, &options(path.clone()), &ctx).expect("writes");
    path
}

fn containers(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let ctx = JobContext::default();
    let path = written(folder.path());
    let assembly = Assembly::of_dataset(&dataset(), &ctx).expect("assembles");
    let mut group = criterion.benchmark_group("container");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(
        u64::from(ROOTS * CHILDREN) * FILE_BYTES as u64,
    ));
    group.bench_function("write ZIP", |bencher| {
        bencher.iter(|| {
            container::write(&assembly, &options(folder.path().join("out.tacozip")), &ctx)
                .expect("writes")
        });
    });
    group.throughput(Throughput::Elements(u64::from(ROOTS * CHILDREN)));
    group.bench_function("open ZIP, read both levels", |bencher| {
        bencher.iter(|| {
            let reader = container::open(&path, &ctx).expect("opens");
            (0..2)
                .map(|level| reader.levels().table(level, &ctx).expect("reads").rows())
                .sum::<usize>()
        });
    });
    let reader: Arc<dyn ContainerReader> = container::open(&path, &ctx).expect("opens");
    group.bench_function("find a sample's bytes", |bencher| {
        bencher.iter(|| reader.asset(1, black_box(4711)).expect("is there"))
    });
    group.finish();
}

fn drafts(criterion: &mut Criterion) {
    let ctx = JobContext::default();
    let before = dataset();
    let mut group = criterion.benchmark_group("draft");
    group.bench_function("edit, findings, undo", |bencher| {
        let (mut live, mut edited) = (LiveCheck::default(), before.clone());
        live.check(&edited, None, &ctx).expect("checks");
        bencher.iter(|| {
            let edit = Edit::Remove {
                parent: NodePath(vec![ROOTS / 2]),
                at: 2,
                count: 1,
            };
            let undo = edit.apply(&mut edited).expect("applies");
            let found = live
                .check(&edited, None, &ctx)
                .expect("checks")
                .findings
                .len();
            undo.apply(&mut edited).expect("applies");
            live.check(&edited, None, &ctx).expect("checks");
            found
        });
    });
    group.bench_function("structure after an edit", |bencher| {
        let mut structure = Structure::default();
        let mut edited = before.clone();
        structure.update(&edited);
        bencher.iter_batched(
            || Edit::Rename {
                sample: NodePath(vec![7]).child(0),
                id: "renamed".into(),
            },
            |edit| {
                let undo = edit.apply(&mut edited).expect("applies");
                structure.update(&edited);
                undo.apply(&mut edited).expect("applies");
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn queries(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let ctx = JobContext::default();
    let tables = lazy_tables(&container::open(&written(folder.path()), &ctx).expect("opens"));
    let mut group = criterion.benchmark_group("query");
    for (name, sql) in [
        (
            "filter",
            "SELECT id FROM data WHERE cloud_cover < 0.1 AND split = 'train'",
        ),
        (
            "group",
            "SELECT split, count(*), avg(cloud_cover) FROM l1 GROUP BY split",
        ),
        (
            "top",
            "SELECT id, \"row\" FROM l1 ORDER BY cloud_cover DESC, id LIMIT 20",
        ),
        (
            "join",
            "SELECT count(*) FROM l1 JOIN l0 ON l1.\"internal:parent_id\" = \
                l0.\"internal:current_id\" WHERE l0.split = 'test'",
        ),
    ] {
        run_sql(&tables, sql, None, &ctx).expect("runs");
        group.bench_function(name, |bencher| {
            bencher.iter(|| run_sql(&tables, sql, None, &ctx).expect("runs").row_count)
        });
    }
    group.finish();
}

criterion_group!(benches, containers, drafts, queries);
criterion_main!(benches);
