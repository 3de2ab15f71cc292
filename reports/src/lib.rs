//! What is shown: the result model, what is concluded from it, and one exporter per format.
//!
//! A [`Run`] and its [`Cell`]s are what a comparison leaves behind (`run.json` and `cells.jsonl` of a run folder). An [`Analysis`]
//! concludes from them, and an [`Exporter`] makes a text of it: it prints nothing and opens nothing.
//!
//! A room uses only the rooms above it in this list:
//!
//! - `quantity`, `text`: numbers and words
//! - `model`: what the files of a run hold
//! - `analysis`: `bottleneck`, `row`, `band`, `cut_short`, `comparison`, `conditions`, `rounds`, `summary`, `analysis`
//! - `analysis`: `short_label`, `judge`, `cross_check`, `ranking`, `findings`, `further`, `combined`, `explain`, `sweep`, `ladder`
//! - `analysis`: `conclude`, `servers`, `check`, `history`
//! - `export`: `part`, `exporter`, `column`, `head`, `faults`, `ladder`, `document`, `sheets`, `chart`, `history`, `releases`, `sweep`, `short`
//! - `export`: `side_by_side`, `story`, `table`, `markdown`, `check`, `csv`, `json`, `bencher`, `svg`, `time`, `live`, `html`, `published`, `export`
//! - `sample`: runs for tests, with the feature of that name

mod analysis;
mod export;
#[cfg(test)]
mod golden;
mod model;
mod quantity;
#[cfg(any(test, feature = "sample"))]
#[doc(hidden)]
pub mod sample;
mod text;

pub use model::measure;
#[cfg(test)]
pub(crate) use model::schema;

pub(crate) use analysis::{
    band, bottleneck, comparison, conditions, cross_check, cut_short, explain, findings, further, judge, ladder,
    ranking, rounds, row, summary,
};
pub(crate) use model::attempts;

pub use analysis::Analysis;
pub use analysis::bottleneck::Bottleneck;
pub use analysis::check::{Check, CheckError, Checked, Judgement};
pub use analysis::combined::{Agreement, Combined, CombinedRow, InRun};
pub use analysis::cut_short::{why_cut_short, why_passes_left_out};
pub use analysis::explain::{NOTHING_EXPLAINS, explanation, more_calls};
pub use analysis::history::{
    By, Cause, Group, History, HistoryLine, HistoryPoint, LeftOut, LevelChange, Panel, PastRun,
};
pub use analysis::judge::{Difference, judged};
pub use analysis::ladder::{Climbed, LOWEST_RATE, Ladder, Limit, LimitedBy, Step, climbed};
pub use analysis::ranking::whose;
pub use analysis::rounds::CountedRounds;
pub use analysis::row::{Place, SummaryRow, Verdict, reference, references};
pub use analysis::servers::Carried;
pub use analysis::short_label::{is_key, options_at, short};
pub use analysis::sweep::{Axis, Sweep, Swept, SweptFigures, SweptPoint};

pub use cqldyno_measure::least_for;
pub use cqldyno_statistics::{Growth, LEAST_BLOCKS, growth, median};
pub use export::exporter::{ExportError, Exporter, Look};
pub use export::part::{Field, Notes, Part, Sheet, TableRow};
pub use export::{
    Curve, EXPORTERS, Front, Listed, NO_RATIOS, OWN_DEFAULTS, PAGE_LIMIT, PublishedRun, chart_titles, exporter,
    growth_chart, is_of_a_plan, live, live_line, markdown, of_date, plan_name, site, stand_ins, terminal, unnumbered,
};
pub use measure::{Better, ByName, Declaration, Measure, MeasureInfo, Unit};
pub use model::cell::{Cell, ErrorLine, Latency, LoaderPart, Pass, RoundCores, Setting};
pub use model::checksum::Checksum;
pub use model::ladder::{LadderInfo, PERCENTILES};
pub use model::recorded::{CELLS, PACKED_CELLS, Recorded, RecordedError, read_cells};
pub use model::run::{
    ArrangementInfo, BuiltOnDemand, CONTROL_MARK, Contender, CutShort, Environment, Library, LoadersInfo, ModelError,
    PlanInfo, PointInfo, Role, Run, SCHEMA_VERSION, ScenarioInfo, TargetInfo, TlsInfo, TurnsInfo, share,
};
pub use model::series::Series;
pub use quantity::{lasting, memory, percent, rate, short_count, three_digits, whole};
pub use text::{capital, count, cut, escape, grouped, list, pair, plain, sentence, short_hash, unique, width_of, wrap};
