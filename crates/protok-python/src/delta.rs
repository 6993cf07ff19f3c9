//! `protok.Delta`: what a push released, a named tuple of CPython's own kind.
//!
//! A stream makes one for each token, and a class of this binding takes several times as long to
//! make. The calls that make such tuples are reached by pointer: that is the unsafe code here.
//!
//! What most tokens release is a text that depends on nothing but the token, and the same few
//! hundred tokens come again and again: such deltas are kept, and given out again.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;
use std::sync::Mutex;

use protok_core::stream::stop::{Found, Stops};
use protok_core::stream::{Delta, Reason};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyString, PyTuple, PyType};
use pyo3::{ffi, intern};

const DOC: &CStr = c"What a push, or the end of a stream, released.\n\
\n\
A tuple of `text`, the text that is certain now and was not before; `ids`, the tokens of which all\n\
text is released now and was not before; `stopped`, whether a stop string or a stop id ended the\n\
stream; and `reason`, why no more comes: \"stop string\", \"stop id\", \"end\", \"incomplete\n\
character\" for an end within a character, or None while more may come. `stop` is the stop string\n\
or the stop id.\n\
\n\
Examples\n\
--------\n\
>>> import protok\n\
>>> tok = protok.load(\"protok:demo\")\n\
>>> text, ids, stopped, reason = tok.stream(stop=\"two\").push(tok.encode(\"one two\"))\n\
>>> text, stopped\n\
('one ', True)\n";

const FIELDS: [(&CStr, &CStr); 5] = [
    (c"text", c"The text that is certain now and was not before."),
    (c"ids", c"The tokens of which all text is released now and was not before."),
    (c"stopped", c"Whether a stop string or a stop id ended the stream."),
    (c"reason", c"Why no more comes, or None while more may come."),
    (c"stop", c"The stop string or the stop id."),
];

/// How many of the fields the tuple has by place.
const PLACES: i32 = 4;

static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The type.
pub fn delta_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let made = TYPE.get_or_try_init(py, || {
        let field = |&(name, doc): &(&CStr, &CStr)| ffi::PyStructSequence_Field {
            name: name.as_ptr(),
            doc: doc.as_ptr(),
        };
        let mut fields: Vec<ffi::PyStructSequence_Field> = FIELDS.iter().map(field).collect();
        fields.push(ffi::PyStructSequence_Field { name: ptr::null(), doc: ptr::null() });
        let mut description = ffi::PyStructSequence_Desc {
            name: c"protok.Delta".as_ptr(),
            doc: DOC.as_ptr(),
            fields: fields.as_mut_ptr(),
            n_in_sequence: PLACES,
        };
        // SAFETY: the description and its fields, ended by one without a name, live through the
        // call; their strings live for ever. The result is a new reference or null with an error.
        let made = unsafe {
            let made = ffi::PyStructSequence_NewType(&raw mut description);
            Bound::from_owned_ptr_or_err(py, made.cast())?
        };
        Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}

/// A delta that released one token and all of its text, which stands here as well: one line of
/// memory says whether it is the one that is asked for.
struct Kept {
    id: u32,
    length: u8,
    text: [u8; LONGEST_KEPT],
    delta: Py<PyAny>,
}

impl Kept {
    fn is_for(&self, id: u32, text: &[u8]) -> bool {
        self.id == id && self.text.get(..usize::from(self.length)) == Some(text)
    }
}

/// The deltas that are kept: of ids that end alike two, the later one first.
static KEPT: Mutex<Vec<[Option<Kept>; 2]>> = Mutex::new(Vec::new());
const PAIRS_KEPT: usize = 1 << 12;
const LONGEST_KEPT: usize = 27;

/// The Python form of what the push of one id released.
pub fn of_one<'py>(
    py: Python<'py>,
    delta: &Delta,
    stops: &Stops,
    pushed: &Bound<'py, PyInt>,
    id: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = delta.ids == [id] && delta.reason.is_none() && delta.bytes().len() <= LONGEST_KEPT;
    let kept = if plain { KEPT.try_lock().ok() } else { None };
    let Some(mut kept) = kept else { return to_python(py, delta, stops, Some(pushed)) };
    let place = id as usize % PAIRS_KEPT;
    let pair = kept.get(place).into_iter().flatten().flatten();
    if let Some(found) = pair.into_iter().find(|found| found.is_for(id, delta.bytes())) {
        return Ok(found.delta.bind(py).clone());
    }
    let made = to_python(py, delta, stops, Some(pushed))?;
    if kept.is_empty() {
        kept.resize_with(PAIRS_KEPT, || [None, None]);
    }
    let mut new = Kept {
        id,
        length: delta.bytes().len() as u8,
        text: [0; LONGEST_KEPT],
        delta: made.clone().unbind(),
    };
    new.text[..delta.bytes().len()].copy_from_slice(delta.bytes());
    let [first, second] = &mut kept[place];
    let old = std::mem::replace(second, first.replace(new));
    // Letting go of it may run code that pushes.
    drop(kept);
    drop(old);
    Ok(made)
}

/// The Python form of what the engine released. `pushed` is the id that was pushed, if it was one.
pub fn to_python<'py>(
    py: Python<'py>,
    delta: &Delta,
    stops: &Stops,
    pushed: Option<&Bound<'py, PyInt>>,
) -> PyResult<Bound<'py, PyAny>> {
    let text = match &*delta.text() {
        "" => intern!(py, "").clone(),
        text => PyString::new(py, text),
    };
    let ids = match (delta.ids.as_slice(), pushed) {
        ([], _) => PyTuple::empty(py),
        // Mostly the id that came is the one that is released.
        ([id], Some(pushed)) if pushed.extract::<u32>().is_ok_and(|pushed| pushed == *id) => {
            PyTuple::new(py, [pushed])?
        }
        (ids, _) => PyTuple::new(py, ids)?,
    };
    let none = || py.None().into_bound(py);
    let spelled = |index: usize| PyString::new(py, &stops.strings()[index]).into_any();
    let (reason, stop) = match delta.reason {
        None => (none(), none()),
        Some(Reason::Text(Found { index, .. }) | Reason::Hidden(index)) => {
            (intern!(py, "stop string").clone().into_any(), spelled(index))
        }
        Some(Reason::Id(id)) => {
            (intern!(py, "stop id").clone().into_any(), id.into_pyobject(py)?.into_any())
        }
        Some(Reason::End) => (intern!(py, "end").clone().into_any(), none()),
        Some(Reason::Incomplete) => {
            (intern!(py, "incomplete character").clone().into_any(), none())
        }
    };
    let stopped = PyBool::new(py, delta.reason.is_some_and(Reason::is_stop)).to_owned();
    let values = [text.into_any(), ids.into_any(), stopped.into_any(), reason, stop];
    let kind = delta_type(py)?;
    // SAFETY: the type was made by `PyStructSequence_NewType` with as many fields as there are
    // values; each is set once, and the tuple takes over the reference. Nobody else has the tuple.
    unsafe {
        let tuple = ffi::PyStructSequence_New(kind.as_type_ptr());
        let tuple = Bound::from_owned_ptr_or_err(py, tuple)?;
        for (place, value) in (0..).zip(values) {
            ffi::PyStructSequence_SetItem(tuple.as_ptr(), place, value.into_ptr());
        }
        Ok(tuple)
    }
}
