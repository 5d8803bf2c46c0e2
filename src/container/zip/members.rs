//! The members of an archive that is written.

use crate::container::BuildPlan;
use crate::container::plan::PlannedFile;
use crate::zip_format::{DosTime, ZipMember};

/// What is kept of a FILE that was written: its name and place are those of the plan, and there are
/// as many as samples.
#[derive(Clone, Copy, Debug)]
pub struct WrittenMember {
    /// CRC-32 of the data.
    pub crc: u32,
    /// Modification time.
    pub time: DosTime,
}

/// The members of an archive behind TACO_HEADER, in order.
pub struct Members<'a> {
    /// Names and places of the FILEs.
    pub plan: &'a BuildPlan,
    /// The FILEs, in the order of the plan.
    pub files: Vec<WrittenMember>,
    /// The metadata.
    pub tables: Vec<ZipMember>,
}

impl Members<'_> {
    /// Number of members.
    pub fn count(&self) -> usize {
        self.files.len() + self.tables.len()
    }

    /// Offset behind the last member.
    pub fn end(&self) -> u64 {
        self.tables
            .last()
            .map_or(self.plan.data_end, |member| member.data() + member.size)
    }

    /// Calls `each` for every member, in order, until one fails.
    pub fn try_for_each<E>(
        &self,
        mut each: impl FnMut(&ZipMember) -> Result<(), E>,
    ) -> Result<(), E> {
        for (file, written) in self.plan.files.iter().zip(&self.files) {
            each(&planned_member(self.plan, file, *written))?;
        }
        self.tables.iter().try_for_each(each)
    }
}

/// The member of a planned FILE.
pub fn planned_member(
    plan: &BuildPlan,
    file: &PlannedFile,
    WrittenMember { crc, time }: WrittenMember,
) -> ZipMember {
    ZipMember {
        name: plan.file_name(file).into(),
        local: file.local,
        size: file.size,
        padding: file.padding,
        crc,
        time,
    }
}
