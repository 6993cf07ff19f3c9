//! Memory for large tables.
//!
//! A look-up in a table of several megabytes costs more for finding the page than for reading it,
//! unless pages are large. [`Region`] is zeros straight from the system: nothing is there until it
//! is touched, and [`Region::expect_use`] asks for large pages where the system has them.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::{AnyBitPattern, NoUninit};
use memmap2::MmapMut;

/// What large pages are aligned to.
const LARGE: usize = 2 << 20;

/// A fixed number of values, all zero at first.
pub struct Region<T> {
    /// The values, in memory that `owner` holds and never moves. Kept apart, since to ask the owner
    /// each time costs more than many a look-up.
    first: NonNull<T>,
    count: usize,
    owner: Owner<T>,
}

enum Owner<T> {
    Mapped(MmapMut),
    Allocated(Vec<T>),
}

#[allow(unsafe_code)]
// SAFETY: a region owns its values alone, as a box of them does.
unsafe impl<T: Send> Send for Region<T> {}
#[allow(unsafe_code)]
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Region<T> {}

impl<T: AnyBitPattern + NoUninit> Region<T> {
    /// So many zeros.
    #[must_use]
    pub fn zeroed(count: usize) -> Self {
        let bytes = count.saturating_mul(size_of::<T>());
        let room = bytes.saturating_add(LARGE);
        let mapped = (bytes >= LARGE).then(|| MmapMut::map_anon(room)).and_then(Result::ok);
        let (first, owner) = match mapped {
            Some(mut map) => {
                let start = map.as_ptr().align_offset(LARGE).min(room - bytes);
                let values: &mut [T] = bytemuck::cast_slice_mut(&mut map[start..start + bytes]);
                (NonNull::from(values).cast(), Owner::Mapped(map))
            }
            None => {
                let mut values = vec![T::zeroed(); count];
                (NonNull::from(values.as_mut_slice()).cast(), Owner::Allocated(values))
            }
        };
        Self { first, count, owner }
    }

    /// Says that most of it will be used soon.
    pub fn expect_use(&self) {
        #[cfg(target_os = "linux")]
        if let Owner::Mapped(map) = &self.owner {
            let start = self.first.as_ptr() as usize - map.as_ptr() as usize;
            let bytes = self.count * size_of::<T>();
            // Where the system has none, small pages do.
            let _ = map.advise_range(memmap2::Advice::HugePage, start, bytes);
        }
    }
}

#[allow(unsafe_code)]
impl<T> Deref for Region<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many values of `T` are there, in memory that `owner` holds as long as `self`
        // lives, and nobody else writes to it.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

#[allow(unsafe_code)]
impl<T> DerefMut for Region<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.count) }
    }
}

impl<T> fmt::Debug for Region<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.owner {
            Owner::Mapped(map) => ("mapped", map.len()),
            Owner::Allocated(values) => ("allocated", values.len()),
        };
        f.debug_struct("Region").field("count", &self.count).field("owner", &kind).finish()
    }
}

/// Has a value brought near, if it is there, so that reading it later does not wait.
#[inline]
pub fn prefetch<T>(values: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(place) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[allow(unsafe_code)]
        // SAFETY: the place is one of the slice's, and nothing is read.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_any_size() {
        for count in [0, 1, 1000, LARGE / 16, LARGE / 16 + 1, LARGE / 2] {
            let mut region = Region::<[u64; 2]>::zeroed(count);
            region.expect_use();
            assert_eq!(region.len(), count);
            assert!(region.iter().all(|value| *value == [0; 2]));
            if let Some(last) = region.last_mut() {
                *last = [7, 8];
            }
            assert_eq!(region.last().copied(), (count > 0).then_some([7, 8]));
            prefetch(&region, 0);
            prefetch(&region, count);
        }
    }
}
