#![allow(clippy::unwrap_used)]
use super::*;

fn counter(options: CountOptions) -> WordCounter {
    WordCounter::new(None, Some(&spec::PreTokenizer::WhitespaceSplit), options).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("protok-counts-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn texts() -> Vec<String> {
    let word = |i: u64| format!("w{:x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 46);
    (0..3000)
        .map(|line| (0..40).map(|i| word(line * 13 + i * 977)).collect::<Vec<_>>().join(" "))
        .collect()
}

fn fed(options: CountOptions, texts: &[String], threads: usize) -> WordCounter {
    let mut counter = counter(options);
    for part in texts.chunks(100) {
        let part: Vec<(&str, u64)> = part.iter().map(|text| (text.as_str(), 1)).collect();
        counter.feed(&part, threads).unwrap();
    }
    counter
}

fn listed(counter: &mut WordCounter) -> Vec<(Vec<u8>, u64)> {
    counter.finish().unwrap();
    counter.counts().iter().map(|(word, count)| (word.to_vec(), count)).collect()
}

#[test]
fn threads_and_limits_do_not_show() {
    let texts = texts();
    let folder = folder("limits");
    for ordered in [false, true] {
        let options = CountOptions { ordered, ..CountOptions::default() };
        let expected = listed(&mut fed(options.clone(), &texts, 1));
        assert!(expected.len() > 50_000);
        assert_eq!(expected.is_sorted(), !ordered);
        for threads in [1, 3] {
            let limited = CountOptions {
                limit: Some(LEAST_LIMIT),
                folder: Some(folder.clone()),
                ..options.clone()
            };
            let mut spilled = fed(limited, &texts, threads);
            assert!(spilled.runs.len() > 5, "{} runs", spilled.runs.len());
            assert_eq!(listed(&mut spilled), expected);
            assert_eq!(listed(&mut fed(options.clone(), &texts, threads)), expected);
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir(folder).unwrap();
}

#[test]
fn files_of_counts_are_added() {
    let texts = texts();
    let folder = folder("files");
    for ordered in [false, true] {
        let options = CountOptions { ordered, ..CountOptions::default() };
        let mut whole = fed(options.clone(), &texts, 2);
        let (one, two) = texts.split_at(1700);
        let paths = [folder.join("one"), folder.join("two"), folder.join("both")];
        fed(options.clone(), one, 1).write(&paths[0], "{\"part\": 1}").unwrap();
        fed(CountOptions { limit: Some(LEAST_LIMIT), ..options.clone() }, two, 2)
            .write(&paths[1], "{}")
            .unwrap();
        let mut merged = counter(options.clone());
        assert_eq!(merged.add_file(&paths[0]).unwrap(), "{\"part\": 1}");
        merged.add_file(&paths[1]).unwrap();
        merged.write(&paths[2], "{}").unwrap();
        assert_eq!(listed(&mut merged), listed(&mut whole));
        let direct = folder.join("direct");
        whole.write(&direct, "{}").unwrap();
        assert_eq!(std::fs::read(&direct).unwrap(), std::fs::read(&paths[2]).unwrap());
        // Words that were counted before a file, and after it, keep their order.
        let mut mixed = fed(options, one, 1);
        mixed.add_file(&paths[1]).unwrap();
        mixed.add(b"w3", 2).unwrap();
        let mut expected = fed(CountOptions { ordered, ..CountOptions::default() }, &texts, 1);
        expected.add(b"w3", 2).unwrap();
        assert_eq!(listed(&mut mixed), listed(&mut expected));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = folder("damage");
    let path = folder.join("counts");
    let texts: Vec<String> = vec!["a b c a".into(), "abc abd".into()];
    fed(CountOptions::default(), &texts, 1).write(&path, "about").unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let damaged = folder.join("damaged");
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        for (kind, content) in [("flipped", other.as_slice()), ("cut", &bytes[..at])] {
            std::fs::write(&damaged, content).unwrap();
            let mut counter = counter(CountOptions::default());
            let result = counter.add_file(&damaged).and_then(|_| counter.finish());
            assert!(result.is_err(), "{kind} at {at}");
        }
    }
    let mut ordered = counter(CountOptions { ordered: true, ..CountOptions::default() });
    assert!(ordered.add_file(&path).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn counts_have_64_bits() {
    let mut counter = counter(CountOptions::default());
    counter.feed(&[("a b a", u64::from(u32::MAX) * 3)], 1).unwrap();
    counter.finish().unwrap();
    assert_eq!(counter.counts().count("a"), u64::from(u32::MAX) * 6);
    assert!(
        super::WordCounter::new(
            None,
            None,
            CountOptions { limit: Some(1000), ..CountOptions::default() }
        )
        .is_err()
    );
}
