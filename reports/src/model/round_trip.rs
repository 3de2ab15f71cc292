//! Whatever a run and its cells hold: written and read they are the same, and what was damaged is refused.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use crate::export::shown::json;
use crate::schema::{complaints, validator};
use crate::{
    ArrangementInfo, Better, BuiltOnDemand, ByName, Cell, Checksum, Contender, CutShort, Environment, ErrorLine,
    LadderInfo, Latency, Library, LoaderPart, LoadersInfo, Measure, MeasureInfo, Pass, PlanInfo, PointInfo, Recorded,
    Role, RoundCores, Run, SCHEMA_VERSION, ScenarioInfo, Series, Setting, TargetInfo, TlsInfo, TurnsInfo, Unit,
};

const HOSTILE: [&str; 9] = [
    "",
    "a\nb\r\n\0c",
    "\"},{\"schema\":99",
    "</script><script>alert(1)</script>",
    "\u{202e}turned\u{2028}\u{2029}\u{feff}",
    "NaN",
    "\\u0000\\\\",
    "null",
    "\u{10ffff}\u{1b}[31m",
];

const EDGES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    0.1,
    1.0 / 3.0,
    0.300_000_000_000_000_04,
    5e-324,
    -2.225_073_858_507_201e-308,
    f64::MIN_POSITIVE,
    f64::EPSILON,
    f64::MAX,
    f64::MIN,
    9_007_199_254_740_993.0,
    1e21,
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&HOSTILE[..]).prop_map(str::to_owned),
        vec(any::<char>(), 0..8).prop_map(|all| all.into_iter().collect()),
        "[a-z:@#+0-9 ]{0,12}",
    ]
}

fn float() -> impl Strategy<Value = f64> {
    let any = any::<u64>().prop_map(f64::from_bits).prop_filter("JSON has no other numbers", |value| value.is_finite());
    prop_oneof![select(&EDGES[..]), any, -1e6..1e6]
}

fn time() -> impl Strategy<Value = Timestamp> {
    let nanoseconds = Timestamp::MIN.as_nanosecond()..=Timestamp::MAX.as_nanosecond();
    nanoseconds.prop_map(|at| Timestamp::from_nanosecond(at).unwrap())
}

fn unit() -> impl Strategy<Value = Unit> {
    use Unit::{Bytes, Count, Microseconds, PerSecond, Percent, Seconds};
    select(vec![Bytes, Count, Microseconds, PerSecond, Percent, Seconds])
}

fn pass() -> impl Strategy<Value = Pass> {
    select(&Pass::ALL[..])
}

fn map<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = BTreeMap<String, T>> {
    btree_map(text(), value, 0..4)
}

fn by_name<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = ByName<T>> {
    map(value).prop_map(|all| all.into_iter().collect())
}

fn measure() -> impl Strategy<Value = Measure> {
    prop_oneof![
        (float(), unit()).prop_map(|(value, unit)| Measure::Value { value, unit }),
        text().prop_map(|unavailable| Measure::Unavailable { unavailable }),
    ]
}

fn settings() -> impl Strategy<Value = Vec<Setting>> {
    vec((text(), text(), any::<bool>()).prop_map(|(name, value, as_asked)| Setting { name, value, as_asked }), 0..3)
}

fn series() -> impl Strategy<Value = Series> {
    [vec(any::<u64>(), 0..4), vec(any::<u64>(), 0..4), vec(any::<u64>(), 0..4)]
        .prop_map(|[answered, cpu_us, server_cpu_us]| Series { answered, cpu_us, server_cpu_us })
}

fn latency() -> impl Strategy<Value = Latency> {
    [float(), float(), float(), float(), float()].prop_map(|[p50_us, p90_us, p99_us, p999_us, max_us]| Latency {
        p50_us,
        p90_us,
        p99_us,
        p999_us,
        max_us,
    })
}

fn cores() -> impl Strategy<Value = RoundCores> {
    let found = (any::<u32>(), option::of(text()), [float(), float(), float()], option::of(float()));
    prop_oneof![
        found.prop_map(|(cores, host, [wall_s, others_s, steal_s], witness_us)| RoundCores::Found {
            cores,
            host,
            wall_s,
            others_s,
            steal_s,
            witness_us
        }),
        text().prop_map(|unavailable| RoundCores::Unknown { unavailable }),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        float().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

fn arrangement() -> impl Strategy<Value = ArrangementInfo> {
    (text(), text(), vec(any::<u32>(), 0..4), vec(any::<u32>(), 0..4), option::of(text())).prop_map(
        |(id, runtime, worker_cores, server_cores, note)| ArrangementInfo {
            id,
            runtime,
            worker_cores,
            server_cores,
            note,
        },
    )
}

fn plan() -> impl Strategy<Value = PlanInfo> {
    let numbers = (any::<[u64; 6]>(), option::of(any::<u64>()), option::of(any::<u64>()), option::of(any::<u64>()));
    let turns = (any::<u64>(), any::<u32>()).prop_map(|(count, rounds)| TurnsInfo { count, rounds });
    let limits =
        (option::of(any::<u64>()), option::of(any::<u64>()), option::of(float()), turns, option::of(any::<u32>()));
    let tls = any::<[bool; 2]>().prop_map(|[verified, client_certificate]| TlsInfo { verified, client_certificate });
    let cluster = (option::of(tls), option::of(text()), option::of(text()), vec(text(), 0..3));
    let more = (any::<u32>(), any::<i32>(), option::of(float()), limits, any::<[bool; 4]>(), cluster);
    let words = (
        text(),
        text(),
        option::of(text()),
        [vec(text(), 0..3), vec(text(), 0..3)],
        (vec(pass(), 0..4), option::of(any::<u64>()), any::<bool>()),
        [text(), text()],
    );
    (numbers, more, words, vec(arrangement(), 1..3), any::<bool>()).prop_map(
        |(numbers, more, words, arrangements, embedded)| {
            let ([seed, count, counting_count, concurrency, warmup, connections], rate, timeout, stall_ms) = numbers;
            let (
                blocks,
                page_size,
                noise_share,
                (memory_limit_bytes, within_ms, until, turns, layouts),
                [with_user, named, exact, keep],
                (tls, datacenter, replication, keyspaces),
            ) = more;
            let (consistency, settings, reference, [serve_arguments, releases], (passes, total, whole), [id, about]) =
                words;
            PlanInfo {
                seed,
                count,
                turns,
                total,
                whole,
                counting_count,
                rate,
                passes,
                concurrency,
                layouts,
                blocks,
                noise_share,
                within_ms,
                until,
                warmup,
                connections,
                page_size,
                consistency,
                request_timeout_ms: timeout,
                settings,
                named,
                releases: releases.clone(),
                exact,
                faults: !exact,
                ladder: exact.then(|| LadderInfo { meter: "response_p99".to_owned(), below_us: 2.5, lasts_ms: seed }),
                loaders: named.then(|| LoadersInfo { number: blocks, hosts: releases.clone(), launch: id.clone() }),
                reference,
                serve_arguments,
                stall_ms,
                memory_limit_bytes,
                with_user,
                tls,
                datacenter,
                replication,
                keep,
                keyspaces,
                arrangements,
                target: TargetInfo { id, about, embedded },
            }
        },
    )
}

fn environment() -> impl Strategy<Value = Environment> {
    let words = [text(), text(), text(), text()];
    (words, any::<u32>(), any::<u64>(), map(text())).prop_map(
        |([cpu, kernel, compiler, profile], cores, memory_bytes, more)| Environment {
            cpu,
            cores,
            memory_bytes,
            kernel,
            compiler,
            profile,
            more,
        },
    )
}

fn contender() -> impl Strategy<Value = Contender> {
    let library =
        ([text(), text()], option::of(text())).prop_map(|([name, version], origin)| Library { name, version, origin });
    let role = select(vec![Role::Driver, Role::Floor, Role::Noop]);
    let words = [text(), text(), text(), text(), text(), text()];
    let lists = (vec(library, 0..3), settings(), vec(text(), 0..3), vec(text(), 0..3));
    let options = (option::of(any::<u64>()), option::of(built()), option::of(text()), option::of(text()));
    (words, role, any::<bool>(), lists, options).prop_map(|(words, role, control, lists, options)| {
        let (in_flight, built, unavailable, language) = options;
        let [id, label, version, build, executable, compiler] = words;
        let (libraries, settings, caveats, layouts) = lists;
        Contender {
            id,
            label,
            role,
            control,
            version,
            language,
            libraries,
            settings,
            caveats,
            build,
            executable,
            compiler,
            in_flight,
            layouts,
            built,
            unavailable,
        }
    })
}

fn built() -> impl Strategy<Value = BuiltOnDemand> {
    let asked = std::array::from_fn(|_| option::of(text()));
    let layout = option::of(any::<u32>());
    ([text(), text(), text()], asked, layout, any::<bool>(), map(text())).prop_map(
        |(words, asked, layout, dirty, dependencies)| {
            let ([adapter, key, lock_file], [version, revision, allocator, lto, timer]) = (words, asked);
            BuiltOnDemand {
                adapter,
                version,
                revision,
                dirty,
                dependencies,
                allocator,
                lto,
                timer,
                layout,
                key,
                lock_file,
            }
        },
    )
}

fn scenario() -> impl Strategy<Value = ScenarioInfo> {
    let point = (
        text(),
        any::<u64>(),
        [option::of(any::<u64>()), option::of(any::<u64>()), option::of(any::<u64>())],
        map(text()),
    )
        .prop_map(|(of, in_flight, [connections, shards, delay_ns], waits)| PointInfo {
            of,
            in_flight,
            connections,
            shards,
            delay_ns,
            waits,
        });
    let more = (option::of(point), option::of(json_value()));
    ([text(), text(), text()], [option::of(text()), option::of(text())], map(text()), more).prop_map(
        |([name, about, hash], [asked, apart], left_out, (point, definition))| ScenarioInfo {
            name,
            about,
            hash,
            asked,
            apart,
            left_out,
            point,
            definition,
        },
    )
}

fn measures() -> impl Strategy<Value = Vec<MeasureInfo>> {
    let better = select(vec![Better::Lower, Better::Higher, Better::Neither]);
    let one = (text(), unit(), better, pass(), text(), option::of(text()))
        .prop_map(|(id, unit, better, pass, about, column)| MeasureInfo { id, unit, better, pass, about, column });
    vec(one, 0..3)
}

fn cut_short() -> impl Strategy<Value = CutShort> {
    (any::<[u64; 2]>(), any::<u32>()).prop_map(|([within_ms, missing_ms], blocks)| CutShort {
        within_ms,
        blocks,
        missing_ms,
    })
}

prop_compose! {
    fn run()(
        texts in [text(), text()],
        times in (time(), option::of(time()), vec(time(), 0..3)),
        (interrupted, cut_short, passes_left_out, command) in
            (any::<bool>(), option::of(cut_short()), vec(pass(), 0..3), option::of(text())),
        plan in plan(),
        environment in environment(),
        contenders in vec(contender(), 1..4),
        scenarios in vec(scenario(), 1..3),
        (differences, measures) in (vec(text(), 0..2), measures()),
    ) -> Run {
        let [cqldyno, executable] = texts;
        let (started, ended, resumed) = times;
        Run {
            schema: SCHEMA_VERSION, cqldyno, started, ended, interrupted, cut_short, passes_left_out, resumed, command, executable, plan, environment,
            contenders, scenarios, differences, measures, checksum: None,
        }
    }
}

prop_compose! {
    fn cell()(
        texts in [text(), text(), text(), text(), text()],
        numbers in (any::<u32>(), any::<u32>(), option::of(any::<u32>()), time(), pass()),
        (measures, cores) in (by_name(measure()), option::of(cores())),
        issued_by_statement in by_name(any::<u64>()),
        series in series(),
        more in (option::of(text()), map(map(float())), by_name(text()), option::of(latency())),
        error_kinds in vec(([text(), text()], any::<u64>()), 0..3),
        settings in settings(),
        findings in vec(text(), 0..3),
        reasons in [option::of(text()), option::of(text()), option::of(text())],
    ) -> Cell {
        let [contender, label, scenario, scenario_hash, arrangement] = texts;
        let (block, attempt, round, started, pass) = numbers;
        let (step, breakdowns, files, latency) = more;
        let [void, failed, log] = reasons;
        let line = |([kind, first], count): ([String; 2], u64)| ErrorLine { kind, count, first };
        let loaders = findings.iter().map(|host: &String| LoaderPart {
            host: host.clone(),
            cores: block,
            kernel: label.clone(),
            clock_ahead_ns: -i64::from(attempt),
            clock_error_ns: block.into(),
            began_after_us: 0.5,
            ended_before_us: 0.25,
            measures: measures.clone(),
        });
        Cell {
            loaders: loaders.collect(),
            contender, label, scenario, scenario_hash, arrangement, block, pass, attempt, round, cores, started, measures,
            more: round.is_some_and(|round| round % 2 == 0), issued_by_statement, series, step, breakdowns, files, latency,
            error_kinds: error_kinds.into_iter().map(line).collect(),
            settings: Setting::shared(settings), findings, void, failed, log,
        }
    }
}

prop_compose! {
    /// A run with cells of its own, and the checksum over them.
    fn whole()(run in run(), cells in vec((cell(), any::<[Index; 3]>()), 0..5)) -> (Run, Vec<Cell>) {
        let own = |(cell, [contender, scenario, arrangement]): (Cell, [Index; 3])| {
            let scenario = scenario.get(&run.scenarios);
            Cell {
                contender: contender.get(&run.contenders).id.clone(),
                scenario: scenario.name.clone(),
                scenario_hash: scenario.hash.clone(),
                arrangement: arrangement.get(&run.plan.arrangements).id.clone(),
                ..cell
            }
        };
        let cells: Vec<Cell> = cells.into_iter().map(own).collect();
        let run = Run { checksum: Some(Checksum::of_cells(&cells)), ended: Some(run.started), ..run };
        (run, cells)
    }
}

fn lines(cells: &[Cell]) -> String {
    cells.iter().map(|cell| serde_json::to_string(cell).unwrap() + "\n").collect()
}

/// What follows "the run FOLDER cannot be used: ".
fn refused(found: Result<Recorded, crate::RecordedError>) -> Result<String, TestCaseError> {
    let sentence = found.map(|_| ()).expect_err("it was read").to_string();
    prop_assert!(sentence.len() > 40 && sentence.contains(' '), "{sentence}");
    Ok(sentence)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_is_read_as_it_was_written(run in run()) {
        let text = serde_json::to_string(&run).unwrap();
        let read = Run::from_json(&text).unwrap();
        prop_assert_eq!(&read, &run);
        // The text tells 0 and -0 apart.
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
        prop_assert_eq!(Run::from_json(&serde_json::to_string_pretty(&run).unwrap()).unwrap(), run);
    }

    #[test]
    fn a_cell_is_read_as_it_was_written(cell in cell()) {
        let text = serde_json::to_string(&cell).unwrap();
        prop_assert!(!text.contains('\n'), "a cell is one line: {}", text);
        let read: Cell = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &cell);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn a_run_with_its_cells_is_read_as_it_was_written_from_a_folder_and_from_a_document((run, cells) in whole()) {
        let expected = Recorded { run: run.clone(), cells: cells.clone(), notes: Vec::new() };
        let text = serde_json::to_string_pretty(&run).unwrap();
        prop_assert_eq!(&Recorded::from_folder(&text, lines(&cells).as_bytes()).unwrap(), &expected);
        prop_assert_eq!(Recorded::from_document(&json(&run, &cells)).unwrap(), expected);
    }

    #[test]
    fn a_digit_that_was_changed_is_refused_or_changes_no_figure((run, cells) in whole(), at: Index, by in 1..10_u8) {
        let mut text = lines(&cells).into_bytes();
        let digits: Vec<usize> = (0..text.len()).filter(|place| text[*place].is_ascii_digit()).collect();
        prop_assume!(!digits.is_empty());
        let digit = &mut text[*at.get(&digits)];
        *digit = b'0' + (*digit - b'0' + by) % 10;
        match Recorded::from_folder(&serde_json::to_string(&run).unwrap(), text.as_slice()) {
            // The last of seventeen digits need not make a difference.
            Ok(read) => prop_assert_eq!(read.cells, cells),
            Err(error) => {
                let error = error.to_string();
                let told = error.contains("its cells are not those that were measured") || error.contains("is damaged: ");
                prop_assert!(told, "{}", error);
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_short_is_refused((run, cells) in whole(), at: Index) {
        let (text, cells_text) = (serde_json::to_string(&run).unwrap(), lines(&cells));
        let short = |text: &str| {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            text[..*at.get(&places)].to_owned()
        };
        let error = refused(Recorded::from_folder(&short(&text), cells_text.as_bytes()))?;
        prop_assert!(error.starts_with("a run in JSON was expected"), "{}", error);
        if !cells.is_empty() {
            let error = refused(Recorded::from_folder(&text, short(&cells_text).as_bytes()))?;
            prop_assert!(error.starts_with("its cells are not those that were measured"), "{}", error);
        }
        // Without the last line's end a document is whole all the same.
        refused(Recorded::from_document(&short(json(&run, &cells).trim_end())))?;
    }

    #[test]
    fn another_version_is_refused_whatever_else_there_is(version: u32, rest in json_value()) {
        prop_assume!(!(1..=SCHEMA_VERSION).contains(&version));
        let text = serde_json::json!({ "schema": version, "rest": rest }).to_string();
        let error = refused(Recorded::from_folder(&text, io::empty()))?;
        let expected = format!("the run has schema version {version} and this cqldyno reads versions 1 to 2; render it");
        prop_assert!(error.starts_with(&expected), "{}", error);
    }

    #[test]
    fn whatever_is_in_a_run_holds_against_the_schemas((run, cells) in whole()) {
        let run_value = serde_json::to_value(&run).unwrap();
        prop_assert_eq!(complaints(&validator("run"), &run_value), Vec::<String>::new());
        let validator = validator("cell");
        for cell in &cells {
            prop_assert_eq!(complaints(&validator, &serde_json::to_value(cell).unwrap()), Vec::<String>::new());
        }
    }
}
