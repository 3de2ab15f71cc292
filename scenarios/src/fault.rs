//! What is wrong with a scenario, and where.

/// One step from a whole to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To a field, by its name in TOML.
    Field(&'static str),
    /// To an item of a list.
    Item(usize),
}

/// What is wrong with the part that `path` leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: Vec<Step>,
    /// A full sentence without its full stop.
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(path: &[Step], message: impl Into<String>) -> Fault {
        Fault { path: path.to_vec(), message: message.into() }
    }

    /// The same fault, seen from the whole of which `steps` lead to this part.
    pub(crate) fn within(mut self, steps: &[Step]) -> Fault {
        self.path.splice(0..0, steps.iter().copied());
        self
    }
}

/// A fault with this path and message unless something holds.
pub(crate) fn ensure(holds: bool, path: &[Step], message: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::new(path, message())) }
}
