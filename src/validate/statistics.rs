//! Statistics in the metadata: the class shares of `geotiff:stats` (§7.2). Must not open a raster: what pixels say is for the
//! statistics extension.

use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, Skeleton, Value};

const COLUMN: &str = "geotiff:stats";
/// Shares are stored as floats, each rounded.
const SLACK: f64 = 1e-3;

/// Looks for class shares whose last one is 0 in every raster of a level: the mark of tools that lose the highest class.
pub fn check(reader: &dyn ContainerReader, tree: &Skeleton, report: &mut Report, ctx: &JobContext) -> Result<()> {
    for level in 0..tree.levels.len() {
        if !reader.levels().fields(level).iter().any(|field| field.name == COLUMN) {
            continue;
        }
        let table = reader.levels().columns(level, &[COLUMN], ctx)?;
        let Some(column) = table.column_index(COLUMN) else { continue };
        let (mut categorical, mut zeroed) = (0usize, 0usize);
        for row in 0..table.rows() {
            if row % 4096 == 0 {
                ctx.check()?;
            }
            let Value::List(bands) = table.value(row, column) else { continue };
            for shares in bands.iter().filter_map(numbers).filter(|shares| are_shares(shares)) {
                categorical += 1;
                zeroed += usize::from(shares.last() == Some(&0.0));
            }
        }
        if categorical > 0 && zeroed == categorical {
            let message = format!(
                "The highest class has the share 0 in all {categorical} bands with class shares: most likely it was left out. Compute the statistics again from the pixels."
            );
            report.add(Rule::StatisticsClass, Location::Column { level, name: COLUMN.into() }, message);
        }
    }
    Ok(())
}

fn numbers(band: &Value) -> Option<Vec<f64>> {
    let Value::List(items) = band else { return None };
    items.iter().map(|item| if let Value::Float(number) = item { Some(*number) } else { None }).collect()
}

/// Shares of classes lie between 0 and 1 and sum to 1; minimum, maximum, mean and the like do not.
fn are_shares(numbers: &[f64]) -> bool {
    let sum: f64 = numbers.iter().sum();
    numbers.len() >= 2 && numbers.iter().all(|share| (0.0..=1.0).contains(share)) && (sum - 1.0).abs() <= SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_from_continuous_statistics() {
        assert!(are_shares(&[0.24, 0.76, 0.0]));
        assert!(!are_shares(&[0.0, 255.0, 93.4, 12.1, 100.0, 80.0, 93.0, 101.0, 120.0]));
        assert!(!are_shares(&[1.0]) && !are_shares(&[0.2, 0.2]) && !are_shares(&[f64::NAN, 1.0]));
    }
}
