//! One node: its configuration, and its process.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{Result, of};
use crate::machine::{Java, address, without_locked_memory};
use crate::order::CommitLog;

/// The environment variable with further flags of the nodes' JVMs, with spaces between them.
pub const JVM_VARIABLE: &str = "CQLDYNO_CASSANDRA_JVM";

const MAIN: &str = "org.apache.cassandra.service.CassandraDaemon";
/// Packages of java.base that Cassandra looks into, and those of other modules that it uses or looks into.
const OPENED: &str = "java.io java.lang java.lang.module java.lang.reflect java.math java.net java.nio java.nio.charset \
    java.nio.file.spi java.util java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks jdk.internal.loader \
    jdk.internal.math jdk.internal.module jdk.internal.ref jdk.internal.reflect jdk.internal.util jdk.internal.util.jar \
    jdk.internal.perf sun.nio.ch";
const USED: &str = "java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport.tcp java.sql/java.sql \
    java.management.rmi/com.sun.jmx.remote.internal.rmi jdk.attach/sun.tools.attach jdk.compiler/com.sun.tools.javac.file \
    jdk.unsupported/sun.misc";
const LOOKED_INTO: &str =
    "jdk.management/com.sun.management.internal java.management.rmi/com.sun.jmx.remote.internal.rmi";
/// What a cluster of one machine need not wait for, and the garbage collector as Cassandra is shipped with it.
const FLAGS: [&str; 7] = [
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=300",
    "-XX:+ParallelRefProcEnabled",
    "-Xss512k",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    "-Dcassandra.load_ring_state=false",
];
/// Without a configuration logback logs every detail.
const LOGBACK: &str = r#"<configuration>
<appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%-5level %date{ISO8601} %F:%L - %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="out"/></root>
</configuration>
"#;

/// How a process starts that the kernel ends with the thread that started it: through the gate of `cqldyno`.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    /// `cqldyno` itself.
    pub program: &'a Path,
    /// Its subcommand that becomes another program.
    pub subcommand: &'a str,
    /// The line on standard input that opens it.
    pub open: &'a str,
}

impl Gate<'_> {
    /// A command that becomes `program` with the arguments that follow.
    pub fn command(self, program: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.arg(self.subcommand).arg(program);
        command
    }

    /// Opens it for a child that was started so, with its standard input piped.
    ///
    /// # Errors
    /// When the child no longer reads.
    pub fn open(self, child: &mut Child) -> io::Result<()> {
        child.stdin.take().map_or(Ok(()), |mut input| input.write_all(self.open.as_bytes()))
    }
}

/// A handle of `file` for a child.
pub(crate) fn quiet(file: &File, path: &Path) -> Result<Stdio> {
    file.try_clone().map(Stdio::from).map_err(of(path))
}

/// One node of a cluster, before it is started.
pub(crate) struct Node<'a> {
    pub java: &'a Java,
    /// The folder with the jars.
    pub jars: &'a Path,
    /// The folder with all that it writes but its log.
    pub folder: PathBuf,
    pub log: &'a Path,
    pub number: u8,
    pub of: u8,
    /// For CQL, and for the nodes among themselves.
    pub ports: (u16, u16),
    pub heap: u64,
    pub commitlog: CommitLog,
    /// Values of cassandra.yaml that take the place of ours, or are added.
    pub yaml: &'a [(String, String)],
}

impl Node<'_> {
    pub(crate) fn address(&self) -> Ipv4Addr {
        address(self.number)
    }

    /// Writes its files and starts it, through the gate unless it is to outlive us.
    pub(crate) fn start(&self, gate: Option<Gate<'_>>) -> Result<Child> {
        let (yaml, logback, temporary) =
            (self.folder.join("cassandra.yaml"), self.folder.join("logback.xml"), self.folder.join("tmp"));
        fs::create_dir_all(&temporary).map_err(of(&temporary))?;
        fs::write(&yaml, self.yaml()).map_err(of(&yaml))?;
        fs::write(&logback, LOGBACK).map_err(of(&logback))?;
        // A node that is started again goes on with its log.
        let log = File::options().append(true).create(true).open(self.log).map_err(of(self.log))?;
        let mut words = without_locked_memory();
        words.push(self.java.program.clone().into_os_string());
        words.extend(self.flags(&yaml, &logback, &temporary));
        let program = PathBuf::from(words.remove(0));
        let mut command = gate.map_or_else(|| Command::new(&program), |gate| gate.command(&program));
        // Cassandra reads neither: a password of ours is none of its business.
        command.args(words).env_remove("CQLDYNO_PASSWORD").current_dir(&self.folder);
        command.stdout(quiet(&log, self.log)?).stderr(quiet(&log, self.log)?).process_group(0);
        command.stdin(if gate.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(of(&program))?;
        if let Some(gate) = gate {
            gate.open(&mut child).map_err(of(&program))?;
        }
        Ok(child)
    }

    fn flags(&self, yaml: &Path, logback: &Path, temporary: &Path) -> Vec<OsString> {
        let of_base = OPENED.split_whitespace().map(|package| format!("java.base/{package}"));
        let opened = of_base.clone().chain(LOOKED_INTO.split_whitespace().map(str::to_owned));
        let exported = of_base.chain(USED.split_whitespace().map(str::to_owned));
        let mut flags: Vec<OsString> = opened.map(|one| format!("--add-opens={one}=ALL-UNNAMED").into()).collect();
        flags.extend(exported.map(|one| OsString::from(format!("--add-exports={one}=ALL-UNNAMED"))));
        flags.extend(FLAGS.map(OsString::from));
        let heap = self.heap >> 20;
        flags.extend([format!("-Xms{heap}m"), format!("-Xmx{heap}m")].map(OsString::from));
        let mut property = |name: &str, value: &Path| {
            let mut flag = OsString::from(name);
            flag.push(value);
            flags.push(flag);
        };
        property("-Dcassandra.config=file://", yaml);
        property("-Dcassandra.storagedir=", &self.folder);
        property("-Dlogback.configurationFile=", logback);
        property("-Djava.io.tmpdir=", temporary);
        // Without its agent 4.1 cannot measure objects on Java 17.
        if let Some(agent) = self.agent() {
            property("-javaagent:", &agent);
        }
        // It is also how long a node waits for the seed's first answer.
        flags.push(format!("-Dcassandra.ring_delay_ms={}", if self.of == 1 { 0 } else { 10_000 }).into());
        let further = env::var(JVM_VARIABLE).unwrap_or_default();
        flags.extend(further.split_whitespace().map(OsString::from));
        flags.extend(["-cp".into(), self.jars.join("*").into_os_string(), MAIN.into()]);
        flags
    }

    /// The jar that measures how much memory objects take.
    fn agent(&self) -> Option<PathBuf> {
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("jamm-"));
        fs::read_dir(self.jars).ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_it)
    }

    fn yaml(&self) -> String {
        let folder = |name: &str| quoted(&self.folder.join(name).display().to_string());
        let token = i128::from(i64::MIN) + (1_i128 << 64) / i128::from(self.of) * i128::from(self.number);
        let seeds =
            "[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: \"127.0.0.1\"}]}]";
        let own = [
            ("cluster_name", "cqldyno".to_owned()),
            ("partitioner", "org.apache.cassandra.dht.Murmur3Partitioner".to_owned()),
            ("endpoint_snitch", "SimpleSnitch".to_owned()),
            ("num_tokens", "1".to_owned()),
            ("initial_token", quoted(&token.to_string())),
            ("auto_bootstrap", "false".to_owned()),
            // Dropped tables are gone: a snapshot would be written while the next contender runs.
            ("auto_snapshot", "false".to_owned()),
            ("listen_address", self.address().to_string()),
            ("rpc_address", self.address().to_string()),
            ("native_transport_port", self.ports.0.to_string()),
            ("storage_port", self.ports.1.to_string()),
            ("data_file_directories", format!("[{}]", folder("data"))),
            ("commitlog_directory", folder("commitlog")),
            ("saved_caches_directory", folder("saved_caches")),
            ("hints_directory", folder("hints")),
            ("cdc_raw_directory", folder("cdc_raw")),
            ("seed_provider", seeds.to_owned()),
        ];
        let is_replaced = |key: &str| self.yaml.iter().any(|(other, _)| other == key);
        let commitlog = self.commitlog.yaml();
        let own = own
            .iter()
            .chain(&commitlog)
            .filter(|(key, _)| !is_replaced(key))
            .map(|(key, value)| (*key, value.as_str()));
        let further = self.yaml.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        own.chain(further).map(|(key, value)| format!("{key}: {value}\n")).collect()
    }
}

/// A text as YAML takes it, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_listens_on_loopback_alone_and_other_values_take_the_place_of_ours() {
        let java = Java { program: "java".into(), version: "17".to_owned() };
        let further = [("cluster_name", "mine"), ("authenticator", "PasswordAuthenticator")];
        let further = further.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let node = Node {
            java: &java,
            jars: Path::new("/jars"),
            folder: "/it's here".into(),
            log: Path::new("/log"),
            number: 2,
            of: 3,
            ports: (10_000, 10_001),
            heap: 1 << 30,
            commitlog: CommitLog::Group,
            yaml: &further,
        };
        let yaml = node.yaml();
        let addresses: Vec<&str> = yaml.lines().filter(|line| line.contains("_address: ")).collect();
        assert_eq!(addresses, ["listen_address: 127.0.0.3", "rpc_address: 127.0.0.3"]);
        assert!(yaml.contains("initial_token: '3074457345618258602'"), "{yaml}");
        assert!(yaml.contains("commitlog_directory: '/it''s here/commitlog'"), "{yaml}");
        let synced: Vec<&str> = yaml.lines().filter(|line| line.starts_with("commitlog_sync")).collect();
        assert_eq!(synced, ["commitlog_sync: group", "commitlog_sync_group_window: 10ms"]);
        assert!(yaml.contains("cluster_name: mine\n") && !yaml.contains("cluster_name: cqldyno"), "{yaml}");
        assert!(yaml.contains("authenticator: PasswordAuthenticator\n"));
        let flags = node.flags(Path::new("/y"), Path::new("/l"), Path::new("/t"));
        assert!(flags.contains(&"-Xmx1024m".into()) && flags.contains(&"-Dcassandra.config=file:///y".into()));
    }
}
