//! Writes a FOLDER into a temporary folder beside the target and renames it; to a store, object by
//! object with COLLECTION.json last.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;

use bytes::Bytes;

use crate::container::atomic_write::{ObjectFolder, PartialFolder, check_space};
use crate::container::sample_bytes::{CopySources, WHOLE_MAX, WholeLocalFile};
use crate::container::{Assembly, BuildOptions, BuildPlan, Built, RowSource};
use crate::error::{Error, IoContext, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::{AssetPath, META_NAME, NameFault, check_portable_name, is_remote, without_case};
use crate::text::PrintableLine;

/// Names reserved for parts of a dataset, as in the Python tools.
const REFUSED: [&str; 3] = [".tacocat", "DATA", "METADATA"];

/// Writes the folder. On error nothing is left behind.
///
/// # Errors
/// As [`crate::container::write`].
pub fn write(assembly: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    if options
        .target
        .file_name()
        .is_some_and(|name| REFUSED.iter().any(|refused| name == *refused))
    {
        return Err(
            Error::usage("a dataset can't have this name: it means a part of one")
                .at_path(&options.target),
        );
    }
    ctx.stage(tr!("Planning"), None);
    let plan = BuildPlan::new(assembly, options.format, false, 0)?;
    check_names(&plan, ctx)?;
    let sources = CopySources::of_version(&assembly.version, options.on_damage);
    plan.expect_sources(assembly)?;
    if is_remote(&options.target) {
        return write_objects(assembly, &plan, options, sources, ctx);
    }
    check_space(&options.target, plan.data_end)?;
    let output = PartialFolder::new(&options.target, options.overwrite)?;
    let root = output.path();
    make_folders(root, &plan)?;
    ctx.stage(tr!("Writing"), Some(plan.files.len() as u64));
    let step = sources.batch_length(&plan, assembly);
    for first in (0..plan.files.len()).step_by(step) {
        let batch = first..plan.files.len().min(first + step);
        sources.prefetch(&plan, assembly, &batch);
        try_map(batch, |_, index| {
            ctx.check()?;
            let file = &plan.files[index];
            let source = plan.source(assembly, file);
            let name = || plan.sample(assembly, index);
            let copied = copy(
                source,
                &name,
                &root.join(plan.file_name(file)),
                &sources,
                ctx,
            );
            copied.map_err(|error| plan.name_sample(error, assembly, index))?;
            ctx.step(1);
            Ok(())
        })?;
    }
    let damaged = sources.finish(ctx)?;
    ctx.stage(tr!("Writing the metadata"), Some(plan.folders.len() as u64));
    let local = try_map(&plan.folders, |_, folder| {
        ctx.check()?;
        let bytes = plan.local_meta(assembly, &plan.positions, folder, options)?;
        put(&root.join(plan.meta_name(folder)), &bytes)?;
        ctx.step(1);
        Ok(bytes.len() as u64)
    })?;
    std::fs::create_dir(root.join("METADATA")).io_at("make a folder of the output", root)?;
    let mut bytes = plan.data_end + local.iter().sum::<u64>();
    for (name, content) in plan.consolidated_members(assembly, &plan.positions, options, ctx)? {
        bytes += content.len() as u64;
        put(&root.join(name), &content)?;
    }
    ctx.check()?;
    ctx.stage(tr!("Syncing to disk"), None);
    output.finish()?;
    Ok(Built::whole(assembly, &plan, options, bytes, damaged))
}

/// Number of small files, and bytes of them, that are sent at once.
const AT_ONCE: (usize, u64) = (256, 32 << 20);

/// Writes the folder to a store. The bytes are those of [`write`].
fn write_objects(
    assembly: &Assembly,
    plan: &BuildPlan,
    options: &BuildOptions,
    sources: CopySources,
    ctx: &JobContext,
) -> Result<Built> {
    refuse_own_objects(assembly, &options.target)?;
    let output = ObjectFolder::new(&options.target, options.overwrite)?;
    let sending = Sending {
        assembly,
        plan,
        options,
        sources: &sources,
        output: &output,
        ctx,
    };
    ctx.stage(tr!("Writing"), Some(plan.files.len() as u64));
    // What the folder does not have yet, so that a dataset that is replaced stays whole for as long
    // as possible.
    let replaced = sending.samples((0..plan.files.len()).collect(), Pass::New)?;
    ctx.stage(tr!("Writing the metadata"), Some(plan.folders.len() as u64));
    let (replaced_local, local_bytes) =
        sending.local_tables((0..plan.folders.len()).collect(), Pass::New)?;
    let mut tables = plan.consolidated_members(assembly, &plan.positions, options, ctx)?;
    let bytes = plan.data_end
        + local_bytes
        + tables
            .iter()
            .map(|(_, content)| content.len() as u64)
            .sum::<u64>();
    // The last member is COLLECTION.json, which makes the dataset visible.
    let collection = tables.pop().map(|(_, content)| content);
    let mut tables: Vec<(String, Bytes)> = tables
        .into_iter()
        .map(|(name, content)| (name, content.into()))
        .collect();
    let differing = output.differing(&tables)?;
    tables.retain(|(name, _)| differing.contains(name));
    ctx.check()?;
    if !(replaced.is_empty() && replaced_local.is_empty() && tables.is_empty()) {
        output.hide()?;
    }
    sending
        .replace_members(replaced, replaced_local, tables)
        .map_err(|error| output.incomplete(error))?;
    let damaged = sources
        .finish(ctx)
        .map_err(|error| output.incomplete(error))?;
    output.finish(collection)?;
    Ok(Built::whole(assembly, plan, options, bytes, damaged))
}

/// Which objects are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those whose names the folder does not have.
    New,
    /// Those that the folder has with other bytes.
    Replaced,
}

/// A FOLDER on its way to a store.
struct Sending<'a> {
    assembly: &'a Assembly,
    plan: &'a BuildPlan,
    options: &'a BuildOptions,
    sources: &'a CopySources,
    output: &'a ObjectFolder,
    ctx: &'a JobContext,
}

impl Sending<'_> {
    /// Sends the samples of these indexes, in order; returns those that the next pass has to
    /// replace.
    fn samples(&self, indexes: Vec<usize>, pass: Pass) -> Result<Vec<usize>> {
        let Self {
            assembly,
            plan,
            ctx,
            ..
        } = *self;
        let (mut next, mut replaced) = (0, Vec::new());
        while let Some(&first) = indexes.get(next) {
            ctx.check()?;
            if plan.files[first].size > WHOLE_MAX {
                if self
                    .large(first, pass)
                    .map_err(|error| plan.name_sample(error, assembly, first))?
                {
                    ctx.step(1)
                } else {
                    replaced.push(first)
                }
                next += 1;
                continue;
            }
            let (mut end, mut bytes) = (next, 0);
            while let Some(file) = indexes
                .get(end)
                .map(|index| &plan.files[*index])
                .filter(|file| file.size <= WHOLE_MAX)
                && end - next < AT_ONCE.0
                && (end == next || bytes + file.size <= AT_ONCE.1)
            {
                bytes += file.size;
                end += 1;
            }
            let some = &indexes[next..end];
            // Neighbours of the plan: those between two that are replaced are left out.
            some.chunk_by(|one, other| one + 1 == *other)
                .for_each(|run| {
                    self.sources
                        .prefetch(plan, assembly, &(run[0]..run[run.len() - 1] + 1));
                });
            let read = try_map(some, |_, index| {
                ctx.check()?;
                let file = &plan.files[*index];
                let mut bytes = vec![0; file.size as usize];
                let read = self.sources.read_into(
                    plan.source(assembly, file),
                    &|| plan.sample(assembly, *index),
                    &mut bytes,
                );
                read.map_err(|error| plan.name_sample(error, assembly, *index))?;
                Ok((plan.file_name(file), Bytes::from(bytes)))
            })?;
            ctx.bytes(bytes);
            replaced.extend(self.put(some, read, pass)?);
            next = end;
        }
        Ok(replaced)
    }

    /// Sends the small objects of these indexes, in their order; returns the indexes of those that
    /// the next pass has to replace.
    fn put(
        &self,
        indexes: &[usize],
        objects: Vec<(String, Bytes)>,
        pass: Pass,
    ) -> Result<Vec<usize>> {
        let replaced = match pass {
            Pass::New => {
                let names: Vec<String> = objects.iter().map(|(name, _)| name.clone()).collect();
                let differing: HashSet<String> =
                    self.output.put_new(objects)?.into_iter().collect();
                let own = indexes.iter().copied().zip(names);
                own.filter(|(_, name)| differing.contains(name))
                    .map(|(index, _)| index)
                    .collect()
            }
            Pass::Replaced => {
                self.output.put_all(objects)?;
                Vec::new()
            }
        };
        self.ctx.step((indexes.len() - replaced.len()) as u64);
        Ok(replaced)
    }

    /// Sends a sample that is too large for memory; false when the next pass has to replace it.
    fn large(&self, index: usize, pass: Pass) -> Result<bool> {
        let file = &self.plan.files[index];
        let name = self.plan.file_name(file);
        let write = |writer: &mut dyn Write| self.write_sample(index, writer);
        match pass {
            Pass::New => self.output.stream_new(&name, file.size, write),
            Pass::Replaced => self.output.stream(&name, file.size, write).map(|()| true),
        }
    }

    fn write_sample(&self, index: usize, writer: &mut dyn Write) -> Result<()> {
        let Self { assembly, plan, .. } = *self;
        let put = &mut |chunk: &[u8]| {
            writer
                .write_all(chunk)
                .io_at("send the sample", &self.options.target)
        };
        self.sources
            .stream(
                plan.source(assembly, &plan.files[index]),
                &|| plan.sample(assembly, index),
                self.ctx,
                put,
            )
            .map(drop)
    }

    /// Sends what replaces members of the folder.
    fn replace_members(
        &self,
        samples: Vec<usize>,
        local_tables: Vec<usize>,
        tables: Vec<(String, Bytes)>,
    ) -> Result<()> {
        self.samples(samples, Pass::Replaced)?;
        self.local_tables(local_tables, Pass::Replaced)?;
        self.output.put_all(tables)?;
        self.ctx.check()
    }

    /// Sends the `__meta__` of these FOLDERs; returns those that the next pass has to replace, and
    /// the bytes of all.
    fn local_tables(&self, indexes: Vec<usize>, pass: Pass) -> Result<(Vec<usize>, u64)> {
        let Self {
            assembly,
            plan,
            options,
            ctx,
            ..
        } = *self;
        let (mut replaced, mut bytes) = (Vec::new(), 0);
        for some in indexes.chunks(AT_ONCE.0) {
            let local = try_map(some, |_, index| {
                ctx.check()?;
                let folder = &plan.folders[*index];
                let encoded = plan.local_meta(assembly, &plan.positions, folder, options)?;
                Ok((plan.meta_name(folder), Bytes::from(encoded)))
            })?;
            bytes += local
                .iter()
                .map(|(_, bytes): &(String, Bytes)| bytes.len() as u64)
                .sum::<u64>();
            replaced.extend(self.put(some, local, pass)?);
        }
        Ok((replaced, bytes))
    }
}

/// Refuses to write over the objects that the samples are read from: they would be gone before they
/// are read.
fn refuse_own_objects(assembly: &Assembly, target: &Path) -> Result<()> {
    let above = format!("{}/", target.display().to_string().trim_end_matches('/'));
    for source in assembly.levels.iter().flat_map(|level| &level.sources) {
        if let RowSource::Asset { path, .. } = source
            && let Some(path) = path.local_file().or(path.remote_file())
            && path.to_str().is_some_and(|text| text.starts_with(&above))
        {
            return Err(
                Error::usage("the dataset is read from the folder that it would replace")
                    .at_path(path)
                    .hint("choose another name for the output"),
            );
        }
    }
    Ok(())
}

/// Refuses names that some file systems cannot store or would merge, on every system, so that the
/// output can be copied anywhere. Windows device names are the exception: official datasets contain
/// FOLDERs called `aux`, so where such a name is valid it is written with a warning.
fn check_names(plan: &BuildPlan, ctx: &JobContext) -> Result<()> {
    let mut seen = HashSet::with_capacity(plan.files.len() + plan.folders.len());
    let (mut devices, mut first_device) = (0u64, None);
    let names = plan
        .files
        .iter()
        .map(|file| plan.file_name(file))
        .chain(plan.folders.iter().map(|folder| plan.meta_name(folder)));
    for (index, name) in names.enumerate() {
        if index % 4096 == 0 {
            ctx.check()?;
        }
        for step in name.split('/') {
            match check_portable_name(step) {
                Err(NameFault::Device) if !cfg!(windows) => {
                    devices += 1;
                    first_device.get_or_insert_with(|| step.to_owned());
                }
                outcome => outcome.map_err(|fault| unportable_name_error(&name, &fault))?,
            }
        }
        let mut hasher = DefaultHasher::new();
        without_case(&name).hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            return Err(unportable_name_error(
                &name,
                &"differs from another in case or Unicode form alone",
            ));
        }
    }
    if let Some(name) = first_device {
        ctx.warn(format!(
            "{devices} paths have a name that Windows takes for a device, such as \
            {name}: it can't hold this FOLDER"
        ));
    }
    Ok(())
}

fn unportable_name_error(name: &str, why: &dyn std::fmt::Display) -> Error {
    let name = name
        .trim_start_matches("DATA/")
        .trim_end_matches(META_NAME)
        .trim_end_matches('/');
    let error = Error::invalid(format!(
        "a name {why}, so not every system can hold this FOLDER"
    ))
    .at_place(name.printable_line());
    error.hint("write a .tacozip, which holds every id, or rename the sample")
}

fn make_folders(root: &Path, plan: &BuildPlan) -> Result<()> {
    let data = root.join("DATA");
    std::fs::create_dir(&data).io_at("make a folder of the output", &data)?;
    for folder in &plan.folders {
        let name = plan.meta_name(folder);
        if let Some(parent) = Path::new(&name).parent() {
            std::fs::create_dir_all(root.join(parent))
                .io_at("make a folder of the output", root.join(parent))?;
        }
    }
    Ok(())
}

fn copy(
    source: &RowSource,
    name: &dyn Fn() -> String,
    target: &Path,
    sources: &CopySources,
    ctx: &JobContext,
) -> Result<()> {
    match source {
        RowSource::Asset {
            path: AssetPath::File(from),
            size,
            modified,
        } if !is_remote(from) => {
            let mut input = WholeLocalFile::open(from, *size, *modified)?;
            // `create_new`, so nothing is overwritten on a file system that treats `A.tif` and
            // `a.tif` as one name. Permissions are not copied: a read-only source gives a writable
            // copy.
            let mut output = File::create_new(target).io_at("write the output", target)?;
            let copied =
                std::io::copy(&mut input.file, &mut output).io_at("copy the sample", &**from)?;
            input.finish(from)?;
            ctx.bytes(copied);
            Ok(())
        }
        small if small.size_bytes() <= WHOLE_MAX => {
            let mut bytes = vec![0; small.size_bytes() as usize];
            sources.read_into(small, name, &mut bytes)?;
            ctx.bytes(bytes.len() as u64);
            put(target, &bytes)
        }
        large => {
            let mut file = File::create_new(target).io_at("write the output", target)?;
            sources.stream(large, name, ctx, &mut |chunk| {
                file.write_all(chunk).io_at("write the output", target)
            })?;
            Ok(())
        }
    }
}

fn put(target: &Path, bytes: &[u8]) -> Result<()> {
    File::create_new(target)
        .and_then(|mut file| file.write_all(bytes))
        .io_at("write the output", target)
}
