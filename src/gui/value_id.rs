//! Identity of shared values, for keys of caches. An address alone would be no key: another value
//! can be at the same address later, and its views would be those of the first.

use std::any::Any;
use std::sync::{Arc, Weak};

/// Identifies the value of an [`Arc`]: the ids of one `Arc` and its clones are equal, those of any
/// other differ. Holds no value, only its memory, which no other value gets as long as the id
/// exists.
#[derive(Clone, Debug)]
pub struct ValueId(Weak<dyn Any + Send + Sync>);

impl ValueId {
    pub fn from_arc<T: Any + Send + Sync>(value: &Arc<T>) -> Self {
        let value: Arc<dyn Any + Send + Sync> = value.clone();
        Self(Arc::downgrade(&value))
    }
}

impl PartialEq for ValueId {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ValueId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_value_in_the_same_memory_has_another_id() {
        let first = Arc::new([1u64; 8]);
        let id = ValueId::from_arc(&first);
        assert_eq!(id, ValueId::from_arc(&first.clone()));
        drop(first);
        for value in 0..1000u64 {
            assert_ne!(ValueId::from_arc(&Arc::new([value; 8])), id);
        }
    }
}
