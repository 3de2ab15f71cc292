//! What is wrong with a scenario, and where.

/// A segment of a path from a whole to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// To a field, by its name in TOML.
    Field(&'static str),
    /// To an item of a list.
    Item(usize),
}

/// What is wrong with the part that `path` leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: Vec<Segment>,
    /// A full sentence without its full stop.
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(path: &[Segment], message: impl Into<String>) -> Fault {
        Fault { path: path.to_vec(), message: message.into() }
    }

    /// The same fault, seen from the whole of which `segments` lead to this part.
    pub(crate) fn within(mut self, segments: &[Segment]) -> Fault {
        self.path.splice(0..0, segments.iter().copied());
        self
    }
}

/// A fault with this path and message unless something holds.
pub(crate) fn ensure(holds: bool, path: &[Segment], message: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::new(path, message())) }
}
