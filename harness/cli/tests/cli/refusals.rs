//! Arguments that are refused with exit code 2 and a sentence that says what to write.

use expect_test::expect;

use crate::support::refused;

const MORE: &str = "\nFor more information, try '--help'.\n";

/// What each command is refused with, without the line that names its help.
fn refusals(commands: &[&str]) -> String {
    let one = |command: &&str| {
        let words = shlex::split(command).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        format!("$ cqldyno {command}\n{}", refused(&words).replace(MORE, ""))
    };
    commands.iter().map(one).collect()
}

#[test]
fn an_unknown_flag_is_refused_with_the_nearest_or_with_none() {
    let said = refusals(&[
        "compare --cuont 1k",
        "compare --nope",
        "compare --versions-of",
        "compare -z",
        "--quick compare",
        "doctor now",
    ]);
    expect![[r#"
        $ cqldyno compare --cuont 1k
        Error: `cqldyno compare` has no flag --cuont. Did you mean `--count`? `cqldyno compare --help` lists its flags
        $ cqldyno compare --nope
        Error: `cqldyno compare` has no flag --nope. `cqldyno compare --help` lists its flags
        $ cqldyno compare --versions-of
        Error: `cqldyno compare` has no flag --versions-of. `cqldyno compare --help` lists its flags
        $ cqldyno compare -z
        Error: `cqldyno compare` has no flag -z. `cqldyno compare --help` lists its flags
        $ cqldyno --quick compare
        Error: `cqldyno` has no flag --quick. Did you mean `compare --quick`? `cqldyno --help` lists its flags
        $ cqldyno doctor now
        Error: `cqldyno doctor` takes no argument "now"; `cqldyno doctor --help` lists what it takes
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_flag_that_is_gone_is_refused_with_what_to_write_instead() {
    let said = refusals(&[
        "compare noop --tokens 16",
        "compare noop --racks 3",
        "compare noop --datacenter dc1",
        "compare noop --replication 3",
        "compare noop --keep",
        "compare noop --tls-ca x",
        "compare noop --tls-cert x",
        "compare noop --tls-key x",
        "compare noop --noise-share none",
        "compare noop --stall 5s",
        "compare noop --memory 4G",
        "compare noop --no-counting",
        "compare noop --counting-count 5k",
        "compare noop --nap 1ms",
        "compare noop --page-size 10",
        "compare noop --time",
        "compare noop --whole",
        "serve --tokens 16",
        "report --keep",
        "run noop --wide",
    ]);
    expect![[r#"
        $ cqldyno compare noop --tokens 16
        Error: `cqldyno compare` no longer has the flag --tokens; write --nodes 24,tokens=256
        $ cqldyno compare noop --racks 3
        Error: `cqldyno compare` no longer has the flag --racks; write --nodes 24,racks=3
        $ cqldyno compare noop --datacenter dc1
        Error: `cqldyno compare` no longer has the flag --datacenter; write --target 10.0.0.1,10.0.0.2,datacenter=dc1
        $ cqldyno compare noop --replication 3
        Error: `cqldyno compare` no longer has the flag --replication; write --target 10.0.0.1,10.0.0.2,replication=3
        $ cqldyno compare noop --keep
        Error: `cqldyno compare` no longer has the flag --keep; write --target 10.0.0.1,10.0.0.2,keep
        $ cqldyno compare noop --tls-ca x
        Error: `cqldyno compare` no longer has the flag --tls-ca; write --tls ca=FILE
        $ cqldyno compare noop --tls-cert x
        Error: `cqldyno compare` no longer has the flag --tls-cert; write --tls ca=FILE,cert=FILE,key=FILE
        $ cqldyno compare noop --tls-key x
        Error: `cqldyno compare` no longer has the flag --tls-key; write --tls ca=FILE,cert=FILE,key=FILE
        $ cqldyno compare noop --noise-share none
        Error: `cqldyno compare` no longer has the flag --noise-share; write --limits noise=10%
        $ cqldyno compare noop --stall 5s
        Error: `cqldyno compare` no longer has the flag --stall; write --limits stall=30s
        $ cqldyno compare noop --memory 4G
        Error: `cqldyno compare` no longer has the flag --memory; write --limits memory=4G
        $ cqldyno compare noop --no-counting
        Error: `cqldyno compare` no longer has the flag --no-counting; write --pass none
        $ cqldyno compare noop --counting-count 5k
        Error: `cqldyno compare` no longer has the flag --counting-count; leave it out: how many statements are counted follows from the size of the run
        $ cqldyno compare noop --nap 1ms
        Error: `cqldyno compare` no longer has the flag --nap; start the cluster with `cqldyno serve --nap TIME`, and name its address with --target
        $ cqldyno compare noop --page-size 10
        Error: `cqldyno compare` no longer has the flag --page-size; write scylla+page-size=N, for each contender
        $ cqldyno compare noop --time
        Error: `cqldyno compare` no longer has the flag --time; write --within 20min, which adds CPU time to NAME@all
        $ cqldyno compare noop --whole
        Error: `cqldyno compare` no longer has the flag --whole; write --turn all
        $ cqldyno serve --tokens 16
        Error: `cqldyno serve` no longer has the flag --tokens; write --nodes 24,tokens=256
        $ cqldyno report --keep
        Error: `cqldyno report` has no flag --keep. `cqldyno report --help` lists its flags
        $ cqldyno run noop --wide
        Error: there is no command `run` any more; write `cqldyno compare NAME`, which runs one driver, too
    "#]].assert_eq(&said);
}

#[test]
fn a_command_that_is_not_there_is_refused_with_the_nearest() {
    let said = refusals(&["comapre", "frobnicate"]);
    expect![[r#"
        $ cqldyno comapre
        Error: there is no command "comapre". Did you mean `compare`? `cqldyno --help` lists the commands
        $ cqldyno frobnicate
        Error: there is no command "frobnicate". `cqldyno --help` lists the commands
    "#]]
    .assert_eq(&said);
}

#[test]
fn numbers_that_are_none_are_refused_with_how_to_write_them() {
    let said = refusals(&[
        "compare --count many",
        "compare --warmup many",
        "compare --concurrency 0",
        "compare --blocks 0",
        "compare -c 0",
        "compare --blocks 100001",
        "compare --count -5",
        "serve --threads -1",
        "compare --limits stall=soon",
    ]);
    expect![[r#"
        $ cqldyno compare --count many
        Error: invalid value 'many' for '--count <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno compare --warmup many
        Error: invalid value 'many' for '--warmup <N>': write a whole number such as 0, 1_000, 250k or 10M
        $ cqldyno compare --concurrency 0
        Error: invalid value '0' for '--concurrency <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno compare --blocks 0
        Error: invalid value '0' for '--blocks <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno compare -c 0
        Error: invalid value '0' for '--concurrency <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno compare --blocks 100001
        Error: invalid value '100001' for '--blocks <N>': a run has at most 100000 generations; ask for fewer, or for longer turns with --turn
        $ cqldyno compare --count -5
        Error: invalid value '-5' for '--count <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno serve --threads -1
        Error: invalid value '-1' for '--threads <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno compare --limits stall=soon
        Error: invalid value 'stall=soon' for '--limits <KEY=VALUE,...>': stall cannot be "soon": write a time from 1s to a day (1440min), such as 90s or 5min
    "#]].assert_eq(&said);
}

#[test]
fn an_unknown_scenario_is_refused_with_those_there_are_and_the_nearest() {
    let said = refusals(&["compare --scenario raeds", "compare --scenario tpc", "scenarios write"]);
    expect![[r#"
        $ cqldyno compare --scenario raeds
        Error: there is no scenario "raeds": there are writes, reads, mixed, rows, types, payload-1k, payload-16k, batch, prepare, unprepared, connect, and any TOML file by its path, for example ./mine.toml. Did you mean `reads`?
        $ cqldyno compare --scenario tpc
        Error: there is no scenario "tpc": there are writes, reads, mixed, rows, types, payload-1k, payload-16k, batch, prepare, unprepared, connect, and any TOML file by its path, for example ./mine.toml.
        $ cqldyno scenarios write
        Error: there is no scenario "write": there are writes, reads, mixed, rows, types, payload-1k, payload-16k, batch, prepare, unprepared, connect, and any TOML file by its path, for example ./mine.toml. Did you mean `writes`?
    "#]].assert_eq(&said);
}

#[test]
fn a_scenario_file_that_cannot_be_read_or_run_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.toml");
    let error = refused(&["compare", "--scenario", missing.to_str().unwrap()]);
    assert!(error.contains("missing.toml cannot be read: No such file"), "{error}");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "name = \"mine\"\nabuot = \"\"\n").unwrap();
    let error = refused(&["compare", "--scenario", file.to_str().unwrap()]);
    assert!(
        error.contains("mine.toml")
            && error.contains("line 2")
            && error.contains("must have about. Did you mean `about`?"),
        "{error}"
    );
    std::fs::write(&file, "name = \"mine\"\nabout = \"\"\nschema = []\nstatement = []\n").unwrap();
    assert!(refused(&["compare", "noop", "--scenario", file.to_str().unwrap()]).contains("has no [[statement]]"));
}

#[test]
fn an_unknown_contender_is_refused_with_those_there_are_and_the_nearest() {
    let error = refused(&["compare", "scyla"]);
    assert!(error.contains("there is no driver \"scyla\": there are scylla, cdrs-tokio"), "{error}");
    assert!(error.contains("Did you mean `scylla`?"), "{error}");
    for arguments in [["compare", "elixir"], ["drivers", "elixir"]] {
        let error = refused(&arguments);
        assert!(error.contains("there is no driver \"elixir\": there are scylla, cdrs-tokio"), "{error}");
        let advice = "drivers/PROTOCOL.md says how to add one";
        assert!(error.contains(advice) && !error.contains("Did you mean"), "{error}");
    }
    let said = refusals(&["compare Scylla", "compare scylla@", "compare scylla+fast"]);
    expect![[r#"
        $ cqldyno compare Scylla
        Error: the contender "Scylla" names the driver "Scylla"; a driver's name has lower-case letters, digits and hyphens, as `cqldyno drivers` lists them
        $ cqldyno compare scylla@
        Error: the contender "scylla@" has an `@` and no version after it; leave the `@` out for the version that was built
        $ cqldyno compare scylla+fast
        Error: the contender "scylla+fast" has the option "fast"; write +KEY=VALUE, for example `+lib=/opt/lib/libcassandra.so.2`
    "#]].assert_eq(&said);
}

#[test]
fn a_bad_arrangement_is_refused_with_the_forms_there_are() {
    let said = refusals(&[
        "compare --arrangement multi",
        "compare --arrangement multi:0",
        "compare --arrangement pinned",
        "compare noop --arrangement current,current",
        "compare noop --pin off --arrangement pinned+current",
        "compare --pin 0,1",
    ]);
    expect![[r#"
        $ cqldyno compare --arrangement multi
        Error: invalid value 'multi' for '--arrangement <NAME>': the arrangement "multi" was asked for; write `current` (tokio's current-thread runtime) or `multi:N` (N threads, 1 to 1024), with `pinned+` before it to give worker and server cores of their own
        $ cqldyno compare --arrangement multi:0
        Error: invalid value 'multi:0' for '--arrangement <NAME>': the arrangement "multi:0" was asked for; write `current` (tokio's current-thread runtime) or `multi:N` (N threads, 1 to 1024), with `pinned+` before it to give worker and server cores of their own
        $ cqldyno compare --arrangement pinned
        Error: invalid value 'pinned' for '--arrangement <NAME>': the arrangement "pinned" was asked for; write `current` (tokio's current-thread runtime) or `multi:N` (N threads, 1 to 1024), with `pinned+` before it to give worker and server cores of their own
        $ cqldyno compare noop --arrangement current,current
        Error: the arrangement current is asked for twice; name it once
        $ cqldyno compare noop --pin off --arrangement pinned+current
        Error: the arrangement pinned+current was asked for together with --pin off; leave one of both out
        $ cqldyno compare --pin 0,1
        Error: invalid value '0,1' for '--pin <WORKER/SERVER>': --pin "0,1" was asked for; write `auto`, `off`, or the worker's cores and the server's with a `/` between them, for example `2-3/0-1`
    "#]].assert_eq(&said);
    assert!(refused(&["compare", "noop", "--pin", "0/999"]).contains("the server core 999"));
}

#[test]
fn a_format_that_is_none_is_refused_with_those_there_are() {
    let said = refusals(&["compare --format yaml", "compare --format xml", "completions tcsh", "completions bahs"]);
    expect![[r#"
        $ cqldyno compare --format yaml
        Error: --format cannot be "yaml": write one of table, time, markdown, csv, json, bencher, svg, html
        $ cqldyno compare --format xml
        Error: --format cannot be "xml": write one of table, time, markdown, csv, json, bencher, svg, html
        $ cqldyno completions tcsh
        Error: <SHELL> cannot be "tcsh": write one of bash, elvish, fish, powershell, zsh
        $ cqldyno completions bahs
        Error: <SHELL> cannot be "bahs": write one of bash, elvish, fish, powershell, zsh. Did you mean `bash`?
    "#]]
    .assert_eq(&said);
}

#[test]
fn flags_that_change_nothing_with_the_settings_default_are_refused() {
    for given in [["--connections", "2"], ["--request-timeout", "5s"], ["--consistency", "ONE"]] {
        for default in [&["--settings", "default"][..], &["floor+settings=default"]] {
            let contender = if default.len() == 2 { &["floor"][..] } else { &[] };
            let error = refused(&[&["compare"], contender, default, &given].concat());
            let expected = format!("{} was given together with the settings `default`", given[0]);
            assert!(error.contains(&expected) && error.contains("leave one of them out"), "{error}");
        }
    }
}

#[test]
fn a_reference_that_is_no_contender_is_refused() {
    let said = refusals(&["compare noop --reference scylla"]);
    expect![[r#"
        $ cqldyno compare noop --reference scylla
        Error: the reference "scylla" is none of the contenders: noop; name one of them
    "#]]
    .assert_eq(&said);
}

#[test]
fn times_that_mean_nothing_are_refused_with_their_bounds() {
    let said = refusals(&[
        "compare noop --limits stall=0",
        "compare noop --limits stall=999ms",
        "compare noop --limits stall=1441min",
        "compare noop --request-timeout 0",
        "compare noop --request-timeout 1.5ms",
        "compare noop --request-timeout never",
        "compare noop --delay 2min",
        "compare noop --delay long",
        "compare noop --delay 1ms±20",
        "compare noop --delay 1ms+-200%",
        "compare noop --delay 0±20%",
        "serve --delay 0±20%",
    ]);
    expect![[r#"
        $ cqldyno compare noop --limits stall=0
        Error: invalid value 'stall=0' for '--limits <KEY=VALUE,...>': stall cannot be "0": write a time from 1s to a day (1440min), such as 90s or 5min
        $ cqldyno compare noop --limits stall=999ms
        Error: invalid value 'stall=999ms' for '--limits <KEY=VALUE,...>': stall cannot be "999ms": write a time from 1s to a day (1440min), such as 90s or 5min
        $ cqldyno compare noop --limits stall=1441min
        Error: invalid value 'stall=1441min' for '--limits <KEY=VALUE,...>': stall cannot be "1441min": write a time from 1s to a day (1440min), such as 90s or 5min
        $ cqldyno compare noop --request-timeout 0
        Error: invalid value '0' for '--request-timeout <TIME|none>': write a whole number of milliseconds, from 1ms to a day (1440min), or `none`
        $ cqldyno compare noop --request-timeout 1.5ms
        Error: invalid value '1.5ms' for '--request-timeout <TIME|none>': write a whole number of milliseconds, from 1ms to a day (1440min), or `none`
        $ cqldyno compare noop --request-timeout never
        Error: invalid value 'never' for '--request-timeout <TIME|none>': write a time such as 100us, 2ms, 1.5s or 1min, or `none`
        $ cqldyno compare noop --delay 2min
        Error: invalid value '2min' for '--delay <TIME[±N%]>': an answer is held back for a minute at most
        $ cqldyno compare noop --delay long
        Error: invalid value 'long' for '--delay <TIME[±N%]>': write a time such as 100us, 2ms, 1.5s or 1min
        $ cqldyno compare noop --delay 1ms±20
        Error: invalid value '1ms±20' for '--delay <TIME[±N%]>': the jitter of a delay is a percentage above 0% and up to 100%, as in 0.5ms±20% or 0.5ms+-20%, not "20"
        $ cqldyno compare noop --delay 1ms+-200%
        Error: invalid value '1ms+-200%' for '--delay <TIME[±N%]>': the jitter of a delay is a percentage above 0% and up to 100%, as in 0.5ms±20% or 0.5ms+-20%, not "200%"
        $ cqldyno compare noop --delay 0±20%
        Error: invalid value '0±20%' for '--delay <TIME[±N%]>': a delay of 0 has no jitter; write a time such as 0.5ms before ±20%, or leave ±20% out
        $ cqldyno serve --delay 0±20%
        Error: invalid value '0±20%' for '--delay <TIME[±N%]>': a delay of 0 has no jitter; write a time such as 0.5ms before ±20%, or leave ±20% out
    "#]].assert_eq(&said);
}

#[test]
fn a_consistency_or_a_way_of_answering_that_is_none_is_refused_with_those_there_are() {
    let said = refusals(&[
        "compare --consistency SOME",
        "compare --consistency -1",
        "compare --answers later",
        "compare --answers reordered",
        "serve --answers -each",
    ]);
    expect![[r#"
        $ cqldyno compare --consistency SOME
        Error: invalid value 'SOME' for '--consistency <LEVEL>': write one of ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE
        $ cqldyno compare --consistency -1
        Error: invalid value '-1' for '--consistency <LEVEL>': write one of ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE
        $ cqldyno compare --answers later
        Error: invalid value 'later' for '--answers <batched|cassandra|COUNT|each>': answers can be written batched, as cassandra does, each or at most COUNT per write, not "later"
        $ cqldyno compare --answers reordered
        Error: invalid value 'reordered' for '--answers <batched|cassandra|COUNT|each>': answers are reordered by `cqldyno serve --answers reordered` alone; start it, and name its address with --target
        $ cqldyno serve --answers -each
        Error: invalid value '-each' for '--answers <HOW>': answers can be written batched, each, reordered or at most COUNT per write, not "-each"
    "#]].assert_eq(&said);
}

#[test]
fn what_only_the_embedded_node_does_is_refused_for_another_target() {
    let said = refusals(&[
        "compare noop --target 127.0.0.1:9042 --answers each",
        "compare noop --target 127.0.0.1:9042 --delay 1ms",
        "compare noop --target 127.0.0.1:9042 --nodes 3,tokens=16",
    ]);
    expect![[r#"
        $ cqldyno compare noop --target 127.0.0.1:9042 --answers each
        Error: --answers was given with the target 127.0.0.1:9042, and works on the embedded cluster alone; leave --answers out, or start a cluster with `cqldyno serve --answers each` and name its address
        $ cqldyno compare noop --target 127.0.0.1:9042 --delay 1ms
        Error: --delay was given with the target 127.0.0.1:9042, and works on the embedded cluster alone; leave --delay out, or start a cluster with `cqldyno serve --delay 1ms` and name its address
        $ cqldyno compare noop --target 127.0.0.1:9042 --nodes 3,tokens=16
        Error: --nodes was given with the target 127.0.0.1:9042, and works on the embedded cluster alone; leave --nodes out, or start a cluster with `cqldyno serve --nodes 3,tokens=16` and name its address
    "#]].assert_eq(&said);
}

#[test]
fn a_target_or_a_port_that_is_none_is_refused() {
    assert!(refused(&["compare", "--target", "-1"]).contains("HOST[:PORT]"));
    let said = refusals(&["compare --target 127.0.0.1:99999", "serve --port -1", "serve --port 70000"]);
    expect![[r#"
        $ cqldyno compare --target 127.0.0.1:99999
        Error: invalid value '127.0.0.1:99999' for '--target <NODES>': the target "127.0.0.1:99999" was asked for and is no address (invalid port value); write `embedded`, `cassandra`, `postgres` or HOST[:PORT][,HOST[:PORT]]...
        $ cqldyno serve --port -1
        Error: invalid value '-1' for '--port <PORT>': write a port from 1 to 65535, or 0 for a free one
        $ cqldyno serve --port 70000
        Error: invalid value '70000' for '--port <PORT>': write a port from 1 to 65535, or 0 for a free one
    "#]].assert_eq(&said);
}

#[test]
fn a_password_is_never_an_argument_and_a_user_needs_one() {
    let said = refusals(&[
        "compare --password x",
        "compare noop --target 127.0.0.1:9042 --user ada",
        "compare noop --target 127.0.0.1:9042 --user ada --password-file /nowhere/at/all",
        "compare noop --target 127.0.0.1:9042 --password-file /dev/null",
        "compare noop --target 127.0.0.1:9042 --user ''",
        "compare noop --target 127.0.0.1:9042 --user ada --password-file /dev/null",
    ]);
    expect![[r#"
        $ cqldyno compare --password x
        Error: `cqldyno compare` has no flag --password. `cqldyno compare --help` lists its flags
        $ cqldyno compare noop --target 127.0.0.1:9042 --user ada
        Error: the user "ada" was given without a password; set the environment variable CQLDYNO_PASSWORD or name a file with --password-file
        $ cqldyno compare noop --target 127.0.0.1:9042 --user ada --password-file /nowhere/at/all
        Error: the password file /nowhere/at/all cannot be read: No such file or directory (os error 2); it holds the password in its first line
        $ cqldyno compare noop --target 127.0.0.1:9042 --password-file /dev/null
        Error: a password file was given without a user; name the user with --user
        $ cqldyno compare noop --target 127.0.0.1:9042 --user ''
        Error: invalid value '' for '--user <USER>': a user's name has at least one character; leave --user out if the cluster asks for none
        $ cqldyno compare noop --target 127.0.0.1:9042 --user ada --password-file /dev/null
        Error: the password of the user "ada" is empty; a password needs at least one character
    "#]].assert_eq(&said);
}

#[test]
fn limits_are_refused_with_how_to_write_them() {
    let said = refusals(&[
        "compare --limits=noise=0",
        "compare --limits=noise=101%",
        "compare --limits=noise=-1%",
        "compare --limits=noise=much",
        "compare --limits noise=10%,stal=5s",
        "compare --limits -1%",
        "compare noop --limits memory=little",
    ]);
    expect![[r#"
        $ cqldyno compare --limits=noise=0
        Error: invalid value 'noise=0' for '--limits <KEY=VALUE,...>': noise cannot be "0": write a share above 0, at most 100%, such as 10% or 0.1, or `none`
        $ cqldyno compare --limits=noise=101%
        Error: invalid value 'noise=101%' for '--limits <KEY=VALUE,...>': noise cannot be "101%": write a share above 0, at most 100%, such as 10% or 0.1, or `none`
        $ cqldyno compare --limits=noise=-1%
        Error: invalid value 'noise=-1%' for '--limits <KEY=VALUE,...>': noise cannot be "-1%": write a share above 0, at most 100%, such as 10% or 0.1, or `none`
        $ cqldyno compare --limits=noise=much
        Error: invalid value 'noise=much' for '--limits <KEY=VALUE,...>': noise cannot be "much": write a share above 0, at most 100%, such as 10% or 0.1, or `none`
        $ cqldyno compare --limits noise=10%,stal=5s
        Error: invalid value 'noise=10%,stal=5s' for '--limits <KEY=VALUE,...>': "stal=5s" after `noise` is none of the options `noise`, `stall`, `memory`; write one of them
        $ cqldyno compare --limits -1%
        Error: invalid value '-1%' for '--limits <KEY=VALUE,...>': write noise=SHARE or noise=none, stall=TIME and memory=BYTES with commas between
        $ cqldyno compare noop --limits memory=little
        Error: invalid value 'memory=little' for '--limits <KEY=VALUE,...>': memory cannot be "little": write an amount of memory such as 512M or 4G, at least 1M
    "#]].assert_eq(&said);
}

#[test]
fn arguments_that_exclude_each_other_are_refused_in_a_sentence() {
    let said = refusals(&[
        "compare --quick --pass explain",
        "compare --count 1k --count 2k",
        "compare --publish --count 1M",
        "compare --publish --count 1M --blocks 3",
        "compare floor noop --blocks 2 --turn 20k",
        "compare noop --turn all",
        "compare noop --turn most",
    ]);
    expect![[r#"
        $ cqldyno compare --quick --pass explain
        Error: --quick was given together with --pass explain, which needs intervals; leave out one or the other
        $ cqldyno compare --count 1k --count 2k
        Error: --count was given more than once; give it once
        $ cqldyno compare --publish --count 1M
        Error: --publish was given together with --count, and a run for publication has a size of its own; leave out one or the other
        $ cqldyno compare --publish --count 1M --blocks 3
        Error: --publish was given together with --count and --blocks, and a run for publication has a size of its own; leave out one or the other
        $ cqldyno compare floor noop --blocks 2 --turn 20k
        Error: --blocks was given together with --turn, and they exclude each other; leave out one or the other
        $ cqldyno compare noop --turn all
        Error: --turn all was given without --count, all of which it issues in one turn; give --count
        $ cqldyno compare noop --turn most
        Error: invalid value 'most' for '--turn <N|all>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M, or `all`
    "#]].assert_eq(&said);
}

#[test]
fn what_cannot_be_in_flight_is_refused_before_anything_starts() {
    let said = refusals(&[
        "compare scylla --concurrency 40k",
        "compare noop --concurrency 2M",
        "compare scylla --connections 10M",
        "compare scylla --concurrency 1,40k",
    ]);
    expect![[r#"
        $ cqldyno compare scylla --concurrency 40k
        Error: --concurrency 40000 was asked for, and at most 32,767 can be in flight over 1 connection to a node; ask for fewer, or for more --connections (up to 1,048,576 in flight)
        $ cqldyno compare noop --concurrency 2M
        Error: --concurrency 2000000 was asked for, and at most 1,048,576 can be in flight; ask for fewer
        $ cqldyno compare scylla --connections 10M
        Error: --connections 10000000 was asked for, and at most 20,000 to a node are possible, because a client has no more ports to one address; ask for fewer
        $ cqldyno compare scylla --concurrency 1,40k
        Error: --concurrency 40000 was asked for, and at most 32,767 can be in flight over 1 connection to a node; ask for fewer, or for more --connections (up to 1,048,576 in flight)
    "#]].assert_eq(&said);
}

#[test]
fn a_sweep_is_refused_where_it_makes_no_sense_and_bad_lists_with_how_to_write_them() {
    let said = refusals(&[
        "compare noop --concurrency 64,16",
        "compare noop --concurrency 1,2,4,...",
        "compare noop --connections 3,4,...,64",
        "compare noop --concurrency 1,many",
        "compare scylla --concurrency 1,2,4,...,8192 --publish",
        "compare scylla --concurrency 1,2,4,...,8192 --pass latency",
        "compare scylla --concurrency 1,2,4,...,8192 --answers cassandra",
        "compare scylla --concurrency 1,2,4,...,8192 --turn 1k",
        "compare scylla --concurrency 1,2,4,...,8192 --scenario batch",
    ]);
    expect![[r#"
        $ cqldyno compare noop --concurrency 64,16
        Error: invalid value '64,16' for '--concurrency <N>': write numbers that rise, such as 1,64,1024 or 1,2,4,...,8192
        $ cqldyno compare noop --concurrency 1,2,4,...
        Error: invalid value '1,2,4,...' for '--concurrency <N>': write a number before `...` and one after it, as in 1,2,4,...,8192
        $ cqldyno compare noop --connections 3,4,...,64
        Error: invalid value '3,4,...,64' for '--connections <N>': write two numbers before `...` of which one is a multiple of the other, as in 1,4,...,1024
        $ cqldyno compare noop --concurrency 1,many
        Error: invalid value '1,many' for '--concurrency <N>': write a whole number from 1 on, such as 500000, 1_000, 250k or 10M
        $ cqldyno compare scylla --concurrency 1,2,4,...,8192 --publish
        Error: several numbers of --concurrency, --connections or --shards were given together with --publish; give one number, or leave that out
        $ cqldyno compare scylla --concurrency 1,2,4,...,8192 --pass latency
        Error: several numbers of --concurrency, --connections or --shards were given together with --pass latency; give one number, or leave that out
        $ cqldyno compare scylla --concurrency 1,2,4,...,8192 --answers cassandra
        Error: several numbers of --concurrency, --connections or --shards were given together with --answers cassandra; give one number, or leave that out
        $ cqldyno compare scylla --concurrency 1,2,4,...,8192 --turn 1k
        Error: --turn was given for a run of a fixed size; leave it out, or give one number in flight
        $ cqldyno compare scylla --concurrency 1,2,4,...,8192 --scenario batch
        Error: the scenario batch has at most 64 in flight, and --concurrency asks for 128; name numbers up to 64
    "#]].assert_eq(&said);
}

#[test]
fn a_folder_with_other_files_is_refused_for_a_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes"), "mine").unwrap();
    let error = refused(&["compare", "noop", "--out", folder.path().to_str().unwrap()]);
    assert!(error.contains("has other files in it and no run; name a new or an empty folder with --out"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_width_is_refused_where_the_size_is_fixed_and_where_it_is_none() {
    let said = refusals(&[
        "compare floor noop --until 2% --count 1k",
        "compare floor noop --until 2% --blocks 9",
        "compare floor noop --until 2% --quick",
        "compare noop --target 127.0.0.1:9042 --publish --until 2%",
        "compare noop --until=0.02",
        "compare noop --until=0%",
        "compare noop --until=-2%",
        "compare noop --until=51%",
        "compare noop --until=nan%",
    ]);
    expect![[r#"
        $ cqldyno compare floor noop --until 2% --count 1k
        Error: --until was given together with --count, and they exclude each other; leave out one or the other
        $ cqldyno compare floor noop --until 2% --blocks 9
        Error: --until was given together with --blocks, and they exclude each other; leave out one or the other
        $ cqldyno compare floor noop --until 2% --quick
        Error: --until was given together with --quick, and they exclude each other; leave out one or the other
        $ cqldyno compare noop --target 127.0.0.1:9042 --publish --until 2%
        Error: --until was given for a run of a fixed size; leave it out, or leave out --publish
        $ cqldyno compare noop --until=0.02
        Error: invalid value '0.02' for '--until <WIDTH>': write a percentage from 0.1% to 50%, such as 2% or 2.5%
        $ cqldyno compare noop --until=0%
        Error: invalid value '0%' for '--until <WIDTH>': write a percentage from 0.1% to 50%, such as 2% or 2.5%
        $ cqldyno compare noop --until=-2%
        Error: invalid value '-2%' for '--until <WIDTH>': write a percentage from 0.1% to 50%, such as 2% or 2.5%
        $ cqldyno compare noop --until=51%
        Error: invalid value '51%' for '--until <WIDTH>': write a percentage from 0.1% to 50%, such as 2% or 2.5%
        $ cqldyno compare noop --until=nan%
        Error: invalid value 'nan%' for '--until <WIDTH>': write a percentage from 0.1% to 50%, such as 2% or 2.5%
    "#]]
    .assert_eq(&said);
}
