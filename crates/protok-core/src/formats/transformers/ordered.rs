//! A map that keeps the order in which its keys came, as Python's does.

use crate::vocab::SeededMap;

/// See the [module](self). Every operation but going through it takes constant time.
#[derive(Debug, Clone)]
pub(super) struct Ordered<V> {
    entries: Vec<(String, Option<V>)>,
    places: SeededMap<String, usize>,
}

impl<V> Default for Ordered<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: SeededMap::default() }
    }
}

impl<V> Ordered<V> {
    /// Sets a value; a key that is there keeps its place.
    pub(super) fn set(&mut self, key: &str, value: V) {
        match self.places.get(key) {
            Some(&place) => self.entries[place].1 = Some(value),
            None => {
                self.places.insert(key.to_owned(), self.entries.len());
                self.entries.push((key.to_owned(), Some(value)));
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.entries[*self.places.get(key)?].1.as_ref()
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.entries[*self.places.get(key)?].1.as_mut()
    }

    /// Takes a value out; the key comes last if it is set again.
    pub(super) fn take(&mut self, key: &str) -> Option<V> {
        self.entries[self.places.remove(key)?].1.take()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &V)> + Clone {
        self.entries.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_places() {
        let mut map = Ordered::default();
        for (key, value) in [("a", 1), ("b", 2), ("c", 3), ("a", 4)] {
            map.set(key, value);
        }
        assert_eq!(map.take("b"), Some(2));
        assert_eq!((map.take("b"), map.get("b")), (None, None));
        map.set("b", 5);
        if let Some(value) = map.get_mut("c") {
            *value = 6;
        }
        assert_eq!(map.iter().collect::<Vec<_>>(), [("a", &4), ("c", &6), ("b", &5)]);
    }
}
