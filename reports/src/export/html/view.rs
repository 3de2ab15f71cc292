//! What the page shows of a run for each reference that a reader may choose.

use crate::headline::short;
use crate::{Cell, Role, Run, Summary, SummaryRow, against, headline, plain, references};

/// As many drivers have a colour of their own.
const COLOURS: usize = 8;

/// A run summed up against one reference.
pub struct View {
    /// The reference, as people say it.
    pub name: String,
    pub run: Run,
    pub rows: Vec<SummaryRow>,
    pub warnings: Vec<String>,
    pub headline: Vec<String>,
}

/// One a possible reference, the one of id `first` or else the run's own first; there is always at least one.
pub fn views(run: &Run, cells: &[Cell], first: Option<&str>) -> Vec<View> {
    let view = |name: String, (run, summary): (Run, Summary)| {
        let headline = headline(&run, &summary);
        View { name, headline, run, rows: summary.rows, warnings: summary.warnings }
    };
    let asked = first.and_then(|id| run.contender(id));
    let others = references(run).into_iter().filter(|one| asked.is_none_or(|asked| asked.id != one.id));
    let ids = asked.into_iter().chain(others);
    let mut views: Vec<View> = ids.map(|one| view(short(run, one), against(run, cells, &one.id))).collect();
    if views.is_empty() {
        views.push(view(String::new(), (run.clone(), Summary::new(run, cells))));
    }
    views
}

/// How contenders are named and coloured.
pub struct Faces {
    pub ids: Vec<String>,
    pub labels: Vec<String>,
    /// The classes of what is a contender's: `c-N` by its place in the run, by which it is hidden, and `k-N` for its colour.
    pub classes: Vec<String>,
    /// Whether it is a driver, not one of ours.
    pub drivers: Vec<bool>,
}

impl Faces {
    pub fn of(run: &Run) -> Faces {
        let mut colours: Vec<(String, String)> = Vec::new();
        let mut drivers = 0;
        for one in &run.contenders {
            let colour = match one.role {
                Role::Floor => "k-floor".to_owned(),
                Role::Noop => "k-noop".to_owned(),
                // A control has the colour of whom it is once more.
                Role::Driver => {
                    let base = one.id.rsplit_once('#').filter(|_| one.control).map(|(base, _)| base);
                    let known =
                        colours.iter().find(|(id, _)| Some(id.as_str()) == base).map(|(_, colour)| colour.clone());
                    known.unwrap_or_else(|| {
                        drivers += 1;
                        format!("k-{}", (drivers - 1) % COLOURS)
                    })
                }
            };
            colours.push((one.id.clone(), colour));
        }
        Faces {
            ids: run.contenders.iter().map(|one| one.id.clone()).collect(),
            drivers: run.contenders.iter().map(|one| one.role == Role::Driver).collect(),
            labels: run.contenders.iter().map(|one| plain(&one.label)).collect(),
            classes: colours.iter().enumerate().map(|(place, (_, colour))| format!("c-{place} {colour}")).collect(),
        }
    }

    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The contender's place in the run; behind the last where it is none of the run's.
    pub fn place(&self, id: &str) -> usize {
        self.ids.iter().position(|known| known == id).unwrap_or(self.ids.len())
    }

    pub fn label(&self, id: &str) -> String {
        self.labels.get(self.place(id)).cloned().unwrap_or_else(|| plain(id))
    }

    /// Classes and names of those contenders, each once, in the order of the run.
    pub fn legend<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
        let mut places: Vec<usize> = ids.map(|id| self.place(id)).filter(|place| *place < self.count()).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| (self.classes[place].clone(), self.labels[place].clone())).collect()
    }
}
