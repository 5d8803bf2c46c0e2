//! Writes a FOLDER into a temporary folder beside the target and renames it; to a store, object by object with COLLECTION.json last.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;

use crate::container::atomic_write::{ObjectFolder, PartialFolder, check_space};
use crate::container::sample_bytes::{PlannedFile, Sources, WHOLE_MAX};
use crate::container::{Assembly, BuildOptions, BuildPlan, Built, RowSource};
use crate::error::{Error, IoContext, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::{AssetPath, META_NAME, NameFault, check_portable_name, is_remote, without_case};

/// Names reserved for parts of a dataset, as in the Python tools.
const REFUSED: [&str; 3] = [".tacocat", "DATA", "METADATA"];

/// Writes the folder. On error nothing is left behind.
///
/// # Errors
/// As [`crate::container::write`].
pub fn write(assembly: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    if options.target.file_name().is_some_and(|name| REFUSED.iter().any(|refused| name == *refused)) {
        return Err(Error::usage("a dataset can't have this name: it means a part of one").at_path(&options.target));
    }
    ctx.stage(tr!("Planning"), None);
    let plan = BuildPlan::new(assembly, options.format, 0)?;
    check_names(&plan, ctx)?;
    let sources = Sources::new(options.on_damage);
    plan.expect_sources(assembly)?;
    if is_remote(&options.target) {
        return write_objects(assembly, &plan, options, sources, ctx);
    }
    check_space(&options.target, plan.data_end)?;
    let output = PartialFolder::new(&options.target, options.overwrite)?;
    let root = output.path();
    make_folders(root, &plan)?;
    ctx.stage(tr!("Writing"), Some(plan.files.len() as u64));
    let step = sources.batch(&plan, assembly);
    for first in (0..plan.files.len()).step_by(step) {
        let batch = first..plan.files.len().min(first + step);
        sources.prefetch(&plan, assembly, &batch);
        try_map(batch, |_, index| {
            ctx.check()?;
            let file = &plan.files[index];
            let source = plan.source(assembly, file);
            let name = || plan.sample(assembly, index);
            let copied = copy(source, &name, &root.join(&*file.name), &sources, ctx);
            copied.map_err(|error| plan.name_sample(error, assembly, index))?;
            ctx.step(1);
            Ok(())
        })?;
    }
    let damaged = sources.finish()?;
    ctx.stage(tr!("Writing the metadata"), Some(plan.folders.len() as u64));
    let local = try_map(&plan.folders, |_, folder| {
        ctx.check()?;
        let bytes = plan.local_meta(assembly, &plan.positions, folder, options)?;
        put(&root.join(&*folder.name), &bytes)?;
        ctx.step(1);
        Ok(bytes.len() as u64)
    })?;
    std::fs::create_dir(root.join("METADATA")).io_at("make a folder of the output", root)?;
    let mut bytes = plan.data_end + local.iter().sum::<u64>();
    for (name, content) in plan.consolidated(assembly, &plan.positions, options, ctx)? {
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
    sources: Sources,
    ctx: &JobContext,
) -> Result<Built> {
    refuse_own_objects(assembly, &options.target)?;
    let output = ObjectFolder::new(&options.target, options.overwrite)?;
    ctx.stage(tr!("Writing"), Some(plan.files.len() as u64));
    let mut next = 0;
    while let Some(first) = plan.files.get(next) {
        ctx.check()?;
        let named = |index: usize, error| plan.name_sample(error, assembly, index);
        if first.size > WHOLE_MAX {
            let name = || plan.sample(assembly, next);
            let sent = output.stream(&first.name, first.size, |writer| {
                let source = plan.source(assembly, first);
                sources
                    .stream(source, &name, ctx, &mut |chunk| writer.write_all(chunk).io_at("send the sample", &options.target))?;
                Ok(())
            });
            sent.map_err(|error| named(next, error))?;
            ctx.step(1);
            next += 1;
            continue;
        }
        let (mut end, mut bytes) = (next, 0);
        while let Some(file) = plan.files.get(end).filter(|file| file.size <= WHOLE_MAX && end - next < AT_ONCE.0)
            && (end == next || bytes + file.size <= AT_ONCE.1)
        {
            bytes += file.size;
            end += 1;
        }
        sources.prefetch(plan, assembly, &(next..end));
        let read = try_map(next..end, |_, index| {
            ctx.check()?;
            let file = &plan.files[index];
            let mut bytes = vec![0; file.size as usize];
            let read = sources.read_into(plan.source(assembly, file), &|| plan.sample(assembly, index), &mut bytes);
            read.map_err(|error| named(index, error))?;
            Ok((file.name.to_string(), bytes.into()))
        })?;
        output.put_all(read)?;
        ctx.bytes(bytes);
        ctx.step((end - next) as u64);
        next = end;
    }
    let damaged = sources.finish()?;
    ctx.stage(tr!("Writing the metadata"), Some(plan.folders.len() as u64));
    let mut bytes = plan.data_end;
    for some in plan.folders.chunks(AT_ONCE.0) {
        let local = try_map(some, |_, folder| {
            ctx.check()?;
            Ok((folder.name.to_string(), plan.local_meta(assembly, &plan.positions, folder, options)?.into()))
        })?;
        bytes += local.iter().map(|(_, bytes): &(String, bytes::Bytes)| bytes.len() as u64).sum::<u64>();
        output.put_all(local)?;
        ctx.step(some.len() as u64);
    }
    let mut tables = plan.consolidated(assembly, &plan.positions, options, ctx)?;
    bytes += tables.iter().map(|(_, content)| content.len() as u64).sum::<u64>();
    // The last member is COLLECTION.json, which makes the dataset visible.
    let collection = tables.pop().map(|(_, content)| content);
    output.put_all(tables.into_iter().map(|(name, content)| (name, content.into())).collect())?;
    ctx.check()?;
    output.finish(collection)?;
    Ok(Built::whole(assembly, plan, options, bytes, damaged))
}

/// Refuses to write over the objects that the samples are read from: they would be gone before they are read.
fn refuse_own_objects(assembly: &Assembly, target: &Path) -> Result<()> {
    let above = format!("{}/", target.display().to_string().trim_end_matches('/'));
    for source in assembly.levels.iter().flat_map(|level| &level.sources) {
        if let RowSource::Asset { path: AssetPath::File(path) | AssetPath::Range { container: path, .. }, .. } = source
            && path.to_str().is_some_and(|text| text.starts_with(&above))
        {
            return Err(Error::usage("the dataset is read from the folder that it would replace")
                .at_path(path)
                .hint("choose another name for the output"));
        }
    }
    Ok(())
}

/// Refuses names that some file systems cannot store or would merge, on every system, so that the output can be copied anywhere.
/// Windows device names are the exception: official datasets contain FOLDERs called `aux`, so where such a name is valid it is
/// written with a warning.
fn check_names(plan: &BuildPlan, ctx: &JobContext) -> Result<()> {
    let refused = |name: &str, why: &dyn std::fmt::Display| {
        let name = name.trim_start_matches("DATA/").trim_end_matches(META_NAME).trim_end_matches('/');
        let error = Error::invalid(format!("a name {why}, so not every system can hold this FOLDER")).at(name.escape_debug());
        error.hint("write a .tacozip, which holds every id, or rename the sample")
    };
    let mut seen = HashSet::with_capacity(plan.files.len() + plan.folders.len());
    let (mut devices, mut first_device) = (0u64, None);
    let names = plan.files.iter().map(|file| &*file.name).chain(plan.folders.iter().map(|folder| &*folder.name));
    for (index, name) in names.enumerate() {
        if index % 4096 == 0 {
            ctx.check()?;
        }
        for step in name.split('/') {
            match check_portable_name(step) {
                Err(NameFault::Device) if !cfg!(windows) => {
                    devices += 1;
                    first_device.get_or_insert(step);
                }
                outcome => outcome.map_err(|fault| refused(name, &fault))?,
            }
        }
        let mut hasher = DefaultHasher::new();
        without_case(name).hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            return Err(refused(name, &"differs from another in case alone"));
        }
    }
    if let Some(name) = first_device {
        ctx.warn(format!("{devices} paths have a name that Windows takes for a device, such as {name}: it can't hold this FOLDER"));
    }
    Ok(())
}

fn make_folders(root: &Path, plan: &BuildPlan) -> Result<()> {
    let data = root.join("DATA");
    std::fs::create_dir(&data).io_at("make a folder of the output", &data)?;
    let mut made = HashSet::new();
    for folder in &plan.folders {
        if let Some(parent) = Path::new(&*folder.name).parent()
            && made.insert(parent)
        {
            std::fs::create_dir_all(root.join(parent)).io_at("make a folder of the output", root.join(parent))?;
        }
    }
    Ok(())
}

fn copy(source: &RowSource, name: &dyn Fn() -> String, target: &Path, sources: &Sources, ctx: &JobContext) -> Result<()> {
    match source {
        RowSource::Asset { path: AssetPath::File(from), size, modified } if !is_remote(from) => {
            let mut input = PlannedFile::open(from, *size, *modified)?;
            // `create_new`, so nothing is overwritten on a file system that treats `A.tif` and `a.tif` as one name. Permissions
            // are not copied: a read-only source gives a writable copy.
            let mut output = File::create_new(target).io_at("write the output", target)?;
            let copied = std::io::copy(&mut input.file, &mut output).io_at("copy the sample", &**from)?;
            input.end(from)?;
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
            sources.stream(large, name, ctx, &mut |chunk| file.write_all(chunk).io_at("write the output", target))?;
            Ok(())
        }
    }
}

fn put(target: &Path, bytes: &[u8]) -> Result<()> {
    File::create_new(target).and_then(|mut file| file.write_all(bytes)).io_at("write the output", target)
}
