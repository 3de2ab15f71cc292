//! What the page shows per reference that a reader may choose, and how contenders look.

use crate::{Analysis, Role, Run, plain, short};

/// As many drivers have a colour of their own.
const COLOURS: usize = 8;

/// The class of a contender's colour; that of a driver follows from its number.
pub fn colour(role: Role, number: usize) -> String {
    match role {
        Role::Floor => "k-floor".to_owned(),
        Role::Noop => "k-noop".to_owned(),
        Role::Driver => format!("k-{}", number % COLOURS),
    }
}

pub struct View<'a> {
    /// The reference, as people say it; empty if there is none.
    pub name: String,
    pub analysis: &'a Analysis<'a>,
}

impl<'a> View<'a> {
    pub fn of(analysis: &'a Analysis<'a>) -> View<'a> {
        View { name: analysis.reference.map(|one| short(analysis.run, one)).unwrap_or_default(), analysis }
    }
}

pub struct Faces {
    pub ids: Vec<String>,
    pub labels: Vec<String>,
    /// Their classes: `c-N` (the place in the run) hides a contender, `k-N` is its colour.
    pub classes: Vec<String>,
    pub drivers: Vec<bool>,
}

impl Faces {
    pub fn of(run: &Run) -> Faces {
        let mut colours: Vec<String> = Vec::new();
        let mut drivers = 0..;
        for one in &run.contenders {
            // A control has the colour of the contender that it repeats.
            let base = one.id.rsplit_once('#').filter(|_| one.control).map(|(base, _)| base);
            let known = run.contenders.iter().zip(&colours).find(|(known, _)| Some(known.id.as_str()) == base);
            colours.push(match known {
                Some((_, colour)) => colour.clone(),
                None if one.role == Role::Driver => colour(one.role, drivers.next().unwrap_or_default()),
                None => colour(one.role, 0),
            });
        }
        Faces {
            ids: run.contenders.iter().map(|one| one.id.clone()).collect(),
            drivers: run.contenders.iter().map(|one| one.role == Role::Driver).collect(),
            labels: run.contenders.iter().map(|one| plain(&one.label)).collect(),
            classes: colours.iter().enumerate().map(|(place, colour)| format!("c-{place} {colour}")).collect(),
        }
    }

    /// The contender's place in the run; after the last if it is none of the run's.
    pub fn place(&self, id: &str) -> usize {
        self.ids.iter().position(|known| known == id).unwrap_or(self.ids.len())
    }

    pub fn label(&self, id: &str) -> String {
        self.labels.get(self.place(id)).cloned().unwrap_or_else(|| plain(id))
    }

    /// Classes and names of those contenders, each once, in the order of the run.
    pub fn legend<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
        let mut places: Vec<usize> = ids.map(|id| self.place(id)).filter(|place| *place < self.ids.len()).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| (self.classes[place].clone(), self.labels[place].clone())).collect()
    }
}
