//! Charts as SVG in the page's classes: the stylesheet decides on colours, light, dark, hiding and printing.

use maud::{Markup, PreEscaped, Render, html};

/// The style of every page, and of a chart that is a file of its own: colours, tables, charts; light, dark and on paper.
pub const STYLE: &str = include_str!("../html/page.css");

/// The width of a chart. Two units are a pixel of the page.
pub const WIDTH: f64 = 960.0;

/// The room right of the plot, and above it.
pub const RIGHT: f64 = 24.0;
pub const TOP: f64 = 12.0;

/// The room of a heading's first line above a chart that is a file.
const HEAD: f64 = 48.0;

/// The size of text on a page.
const FONT: u32 = 25;

#[derive(Clone, Copy)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_log: bool,
}

impl Scale {
    /// A range without length gets one.
    pub fn linear(low: f64, high: f64) -> Scale {
        Scale { low, high: if high > low { high } else { low + 1.0 }, from: low, to: high, is_log: false }
    }

    pub fn log(low: f64, high: f64) -> Scale {
        Scale { is_log: true, ..Scale::linear(low, high) }
    }

    fn at(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.is_log { value.ln() } else { value };
        let (low, high) = (scaled(self.low), scaled(self.high));
        self.from + (scaled(value) - low) / (high - low) * (self.to - self.from)
    }

    /// Powers of ten within the range; with 2 and 5 times if it spans less than that.
    pub fn powers(&self, span: f64) -> Vec<f64> {
        let factors: &[f64] = if self.high / self.low < span { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        all.filter(|value| (self.low..=self.high).contains(value)).collect()
    }

    /// At most so many round figures within the range.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|nth| nth as f64 * step).collect()
    }
}

/// A chart in the making. Marks are placed in figures of its scales.
pub struct Picture {
    width: f64,
    height: f64,
    x: Scale,
    y: Scale,
    marks: String,
    with_titles: bool,
    /// The size of its text as a file.
    font: u32,
}

#[derive(Clone, Copy)]
pub enum Stands {
    /// Its upper left corner is the place.
    RightBelow,
    Below,
    Above,
    /// The middle of its right edge.
    Left,
    /// The middle of its left edge.
    Right,
}

impl Picture {
    /// `left` and `bottom` are the room for the axes' figures; without `with_titles` marks have no hover titles.
    pub fn new(height: f64, left: f64, bottom: f64, x: Scale, y: Scale, with_titles: bool) -> Picture {
        let x = Scale { from: left, to: WIDTH - RIGHT, ..x };
        let y = Scale { from: height - bottom, to: TOP, ..y };
        Picture { width: WIDTH, height, x, y, marks: String::new(), with_titles, font: FONT }
    }

    /// Rows one below the other, of so many units each: a mark's y is its distance from the top, in rows.
    pub fn rows(count: usize, row: f64, x: Scale, with_titles: bool, format: impl Fn(f64) -> String) -> Picture {
        let rows = count.max(1) as f64;
        let x = Scale { from: 8.0, to: WIDTH - RIGHT, ..x };
        let y = Scale { low: 0.0, high: rows, from: 0.0, to: rows * row, is_log: false };
        let height = rows * row + 56.0;
        let mut picture = Picture { width: WIDTH, height, x, y, marks: String::new(), with_titles, font: FONT };
        let ticks = picture.x.ticks(6);
        ticks.iter().for_each(|tick| picture.line(&[(*tick, 0.0), (*tick, rows)], "grid", 1.0, None));
        picture.line(&[(picture.x.low, rows), (picture.x.high, rows)], "ink", 1.0, None);
        ticks.iter().for_each(|tick| picture.text((*tick, rows + 10.0 / row), &format(*tick), "muted", Stands::Below));
        picture
    }

    /// Marks are placed in units; text is of that size.
    pub fn bare(width: f64, height: f64, font: u32) -> Picture {
        let of = |to: f64| Scale { to, ..Scale::linear(0.0, to) };
        Picture { width, height, x: of(width), y: of(height), marks: String::new(), with_titles: false, font }
    }

    /// Figures of further marks are those of a scale between two units.
    pub fn put_x(&mut self, scale: Scale, from: f64, to: f64) {
        self.x = Scale { from, to, ..scale };
    }

    /// At most so many upright lines between two heights, with their figures below.
    pub fn upright(&mut self, most: usize, [top, bottom]: [f64; 2]) {
        for tick in self.x.ticks(most) {
            self.line(&[(tick, top), (tick, bottom)], "grid", 2.0, None);
            let digits = usize::from(tick.fract() != 0.0);
            self.text((tick, bottom + 12.0), &format!("{tick:.digits$}"), "muted", Stands::Below);
        }
    }

    /// The lower edge, with a name at each of the figures.
    pub fn below(&mut self, at: impl IntoIterator<Item = (f64, String)>) {
        let y = self.y.low;
        self.line(&[(self.x.low, y), (self.x.high, y)], "ink", 1.0, None);
        at.into_iter()
            .for_each(|(x, name)| self.text_at(self.x.at(x), self.y.from + 10.0, &name, "muted", Stands::Below));
    }

    /// Lines across with their figures at the left: those given, or round ones.
    pub fn across(&mut self, figures: Option<Vec<f64>>, format: impl Fn(f64) -> String) {
        for y in figures.unwrap_or_else(|| self.y.ticks(6)) {
            self.line(&[(self.x.low, y), (self.x.high, y)], "grid", 1.0, None);
            self.text_at(self.x.from - 10.0, self.y.at(y), &format(y), "muted", Stands::Left);
        }
    }

    fn push(&mut self, mark: &Markup) {
        self.marks.push_str(&mark.0);
    }

    fn titled(&self, title: Option<&str>) -> Markup {
        html! { @if let Some(title) = title.filter(|_| self.with_titles) { title { (title) } } }
    }

    pub fn line(&mut self, points: &[(f64, f64)], class: &str, width: f64, title: Option<&str>) {
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{:.0},{:.0}", self.x.at(*x), self.y.at(*y))).collect();
        let title = self.titled(title);
        self.push(&html! {
            polyline class={ (class) " s" } fill="none" stroke-width=(width) points=(points.join(" ")) { (title) }
        });
    }

    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, class: &str, title: Option<&str>) {
        let [x, y] = [self.x.at(x), self.y.at(y)].map(|unit| format!("{unit:.0}"));
        let title = self.titled(title);
        self.push(&html! { circle class={ (class) " f" } cx=(x) cy=(y) r=(radius) { (title) } });
    }

    pub fn cross(&mut self, (x, y): (f64, f64), class: &str, title: &str) {
        let (x, y) = (self.x.at(x), self.y.at(y));
        let path = format!("M{:.0} {:.0}l18 18m0 -18l-18 18", x - 9.0, y - 9.0);
        self.push(&html! { path class={ (class) " s" } d=(path) stroke-width="4" { title { (title) } } });
    }

    pub fn bar(&mut self, [(left, top), (right, bottom)]: [(f64, f64); 2], class: &str, title: Option<&str>) {
        let (x, y) = (self.x.at(left), self.y.at(top));
        let (width, height) = (self.x.at(right) - x, (self.y.at(bottom) - y).abs());
        let [x, y, width, height] = [x, y.min(self.y.at(bottom)), width, height].map(|unit| format!("{unit:.0}"));
        let title = self.titled(title);
        self.push(&html! { rect class={ (class) " f" } x=(x) y=(y) width=(width) height=(height) { (title) } });
    }

    pub fn text(&mut self, (x, y): (f64, f64), text: &str, class: &str, stands: Stands) {
        self.text_at(self.x.at(x), self.y.at(y), text, class, stands);
    }

    fn text_at(&mut self, x: f64, y: f64, text: &str, class: &str, stands: Stands) {
        let (anchor, dy) = match stands {
            Stands::RightBelow => ("start", "0.76em"),
            Stands::Below => ("middle", "0.76em"),
            Stands::Above => ("middle", "-0.5ex"),
            Stands::Left => ("end", "0.5ex"),
            Stands::Right => ("start", "0.5ex"),
        };
        let [x, y] = [x, y].map(|unit| format!("{unit:.0}"));
        self.push(&html! { text class={ (class) " f" } x=(x) y=(y) dy=(dy) text-anchor=(anchor) { (text) } });
    }

    pub fn per_figure(&self) -> f64 {
        (self.x.to - self.x.from) / (self.x.high - self.x.low)
    }

    /// The chart; `label` is for readers who do not see it.
    pub fn finished(self, label: impl Into<String>) -> Drawn {
        Drawn { label: label.into(), size: [self.width, self.height], marks: self.marks, font: self.font }
    }
}

pub struct Drawn {
    label: String,
    size: [f64; 2],
    marks: String,
    font: u32,
}

impl Render for Drawn {
    /// For a page of ours, which has the style.
    fn render(&self) -> Markup {
        let [width, height] = self.size;
        html! { svg viewBox=(format!("0 0 {width:.0} {height:.0}")) role="img" aria-label=(self.label) { (PreEscaped(&self.marks)) } }
    }
}

impl Drawn {
    /// The chart as a file of its own with a ground, a heading of some lines, and below it a line of text for each class of marks.
    pub fn standalone(&self, heading: &str, legend: &[(String, String)]) -> String {
        const LINE: f64 = 34.0;
        let font = self.font;
        let part = |from: &str, to: &str| {
            let (_, rest) = STYLE.split_once(from).unwrap_or_default();
            format!("{from}{}", rest.split_once(to).unwrap_or_default().0)
        };
        let style = format!(
            "{}{}text{{font:{font}px system-ui,-apple-system,'Segoe UI',sans-serif}}.big{{font-size:{}px}}.ground{{fill:var(--page)}}",
            part(":root", "* {"),
            part(".f {", ".legend"),
            font * 6 / 5,
        );
        let [width, inner] = self.size;
        let top = HEAD + LINE * heading.lines().count().saturating_sub(1) as f64;
        let height = top + inner + LINE * legend.len() as f64 + TOP;
        let at = |from: f64| (0_u32..).map(move |nth| from + LINE * f64::from(nth));
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width:.0} {height:.0}")) width=(width) height=(height) role="img" {
                title { (heading) }
                style { (PreEscaped(style)) }
                rect.ground width="100%" height="100%" {}
                @for (line, y) in heading.lines().zip(at(HEAD - 14.0)) { text.ink.f.big x=(RIGHT) y=(y) { (line) } }
                g transform=(format!("translate(0 {top})")) { (PreEscaped(&self.marks)) }
                @for ((class, text), y) in legend.iter().zip(at(top + inner + LINE / 2.0)) {
                    rect class={ (class) " f" } x=(RIGHT) y=(y - 8.0) width="24" height="16" {}
                    text.ink.f x=(RIGHT + 36.0) y=(y) dy="0.35em" { (text) }
                }
            }
        };
        svg.into_string() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_classes_and_titles_and_texts_are_only_text() {
        let scale = || Scale::linear(0.0, 10.0);
        let mut picture = Picture::new(112.0, 0.0, 0.0, scale(), scale(), true);
        picture.dot((10.0, 0.0), 5.0, "c-0 k-3", Some("block <1>"));
        picture.line(&[(0.0, 0.0), (10.0, 10.0)], "ink", 1.0, None);
        picture.text((0.0, 0.0), "</svg><script>", "muted", Stands::Below);
        let svg = picture.finished("a \"chart\"").render().into_string();
        assert!(
            svg.starts_with("<svg viewBox=\"0 0 960 112\" role=\"img\" aria-label=\"a &quot;chart&quot;\">"),
            "{svg}"
        );
        let dot = "<circle class=\"c-0 k-3 f\" cx=\"936\" cy=\"112\" r=\"5\"><title>block &lt;1&gt;</title></circle>";
        assert!(svg.contains(dot), "{svg}");
        assert!(svg.contains("points=\"0,112 936,12\"") && svg.contains("&lt;/svg&gt;&lt;script&gt;"), "{svg}");
        let mut untitled = Picture::new(112.0, 0.0, 0.0, scale(), scale(), false);
        untitled.dot((10.0, 0.0), 5.0, "c-0", Some("block"));
        assert!(!untitled.finished("").render().into_string().contains("block"));
    }

    #[test]
    fn ticks_are_round_figures_within_the_range() {
        assert_eq!(Scale::linear(0.0, 4.4).ticks(6), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Scale::linear(0.9, 1.6).ticks(4).len(), 4);
        assert_eq!(Scale::linear(3.0, 3.0).ticks(2), [3.0, 3.5, 4.0]);
    }

    #[test]
    fn a_logarithmic_scale_has_powers_equally_far_apart() {
        let scale = Scale { from: 0.0, to: 200.0, ..Scale::log(1.0, 100.0) };
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
    }
}
