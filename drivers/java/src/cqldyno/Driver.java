package cqldyno;

import static com.datastax.oss.driver.api.core.config.DefaultDriverOption.*;

import com.datastax.oss.driver.api.core.*;
import com.datastax.oss.driver.api.core.config.*;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.metadata.EndPoint;
import com.datastax.oss.driver.api.core.servererrors.CoordinatorException;
import com.datastax.oss.driver.api.core.session.Session;
import com.datastax.oss.driver.api.core.ssl.SslEngineFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.*;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.*;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import javax.net.ssl.*;

/** The Java driver: what it says of itself, how it is set, and its calls. */
final class Driver {
  private static final int LEAST_IN_FLIGHT = 2048, MOST_IN_FLIGHT = 32_768;
  private static final String DESCRIBED = """
      {"name": "java",
       "capabilities": ["request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions",
                        "credentials", "tls", "batch", "unprepared", "prepare", "connect"],
       "caveats": [
         "Garbage collection and compilation are in its CPU time, and are shown apart, too.",
         "It repeats the warm-up until its cost is steady, because Java compiles what runs often.",
         "Its threads for reading and writing are those of the runtime: one for `current`, N for `multi:N`. Java adds threads of its own.",
         "A connection takes 2,048 statements at once, or as many as are in flight; by default it takes 1,024.",
         "A time limit per statement is exact to 100 ms: the driver's timer has ticks of this length."],
       "most_in_flight": {"default": 1024},
       "options": [
         {"name": "coalescing", "values": "off|MICROSECONDS", "default": "10", "tried": "100",
          "about": "How long it waits for further requests before the next write (advanced.coalescer.reschedule-interval)."},
         {"name": "io-threads", "values": "COUNT", "default": "1", "tried": "4",
          "about": "Threads that read and write, instead of those of the runtime (advanced.netty.io-group.size)."},
         {"name": "slow-replica-avoidance", "values": "on|off", "default": "on",
          "about": "Remembers how fast and how busy each replica is, and puts slow ones last."},
         {"name": "timestamps", "values": "server|client", "default": "server",
          "about": "Leaves the time of a write to the server, or sends one of the client's own with every statement."},
         {"name": "buffers", "values": "pooled|unpooled", "default": "pooled",
          "about": "Netty's buffers: from its pool, or a new one each time (io.netty.allocator.type)."},
         {"name": "gc", "values": "g1|parallel|serial|z", "default": "g1",
          "about": "How Java collects garbage. The worker starts itself again with it."}]}""";

  private final JsonNode job;
  private final boolean isPreset;
  private final DriverConfigLoader config;
  private final AtomicLong prepared = new AtomicLong();
  private final String run = UUID.randomUUID().toString();

  Driver(JsonNode job) {
    this.job = job;
    isPreset = job.path("settings").asText().equals("default");
    config = config();
  }

  static ObjectNode described() throws JsonProcessingException {
    ObjectNode told = (ObjectNode) Link.JSON.readTree(DESCRIBED);
    MavenCoordinates own = Session.OSS_DRIVER_COORDINATES;
    String version = own.getVersion().toString();
    // The fork's releases have four numbers.
    boolean isFork = own.getGroupId().equals("com.scylladb");
    told.put("version", isFork ? version.replaceAll("^(\\d+\\.\\d+\\.\\d+).*", "$1-scylladb") : version);
    if (DefaultDriverOption.class.getResource("/com/datastax/oss/driver/api/core/type/VectorType.class") == null) told.putArray("lacks_types").add("vector");
    String netty = io.netty.util.Version.identify().values().stream().findFirst().map(io.netty.util.Version::artifactVersion).orElse("unknown");
    told.putArray("libraries").addObject().put("name", "java").put("version", Runtime.version().toString());
    told.withArray("libraries").addObject().put("name", "netty").put("version", netty);
    return told;
  }

  /** What the driver makes of the equal settings. */
  List<Map<String, Object>> settings() {
    long limit = job.path("request_timeout_ms").asLong();
    String datacenter = job.path("datacenter").asText("");
    boolean isClients = job.path("options").path("timestamps").asText(isPreset ? "client" : "server").equals("client");
    List<Map<String, Object>> settings = new ArrayList<>();
    BiConsumer<String, String> set = (name, value) -> settings.add(Map.of("name", name, "value", value, "as_asked", true));
    set.accept("protocol version", isPreset ? "the highest that the server knows" : "v4");
    set.accept("consistency", isPreset ? "LOCAL_ONE" : job.path("consistency").asText("LOCAL_ONE"));
    set.accept("compression", "none");
    set.accept("retries", isPreset ? "the driver's own" : "none");
    set.accept("speculative execution", "none");
    set.accept("routing", datacenter.isEmpty() ? "token-aware" : "token-aware in " + datacenter);
    set.accept("connections", (isPreset ? 1 : job.path("connections").asInt(1)) + " per node");
    set.accept("page size", isPreset ? "5000" : job.path("page_size").asText("5000"));
    set.accept("request timeout", isPreset ? "2s" : limit == 0 ? "none" : limit % 1000 == 0 ? limit / 1000 + "s" : limit + "ms");
    set.accept("timestamps", isClients ? "client" : "server");
    set.accept("serial consistency", "none");
    return settings;
  }

  private DriverConfigLoader config() {
    ProgrammaticDriverConfigLoaderBuilder config = DriverConfigLoader.programmaticBuilder();
    // Without a datacenter the default policy, but that it takes the one of the contact points.
    if (job.hasNonNull("datacenter")) config.withString(LOAD_BALANCING_LOCAL_DATACENTER, job.path("datacenter").asText());
    else config.withString(LOAD_BALANCING_POLICY_CLASS, "DcInferringLoadBalancingPolicy");
    if (!isPreset) {
      config.withString(PROTOCOL_VERSION, "V4")
          .withString(REQUEST_CONSISTENCY, job.path("consistency").asText())
          .withInt(REQUEST_PAGE_SIZE, job.path("page_size").asInt())
          .withDuration(REQUEST_TIMEOUT, Duration.ofMillis(job.path("request_timeout_ms").asLong()))
          .withDuration(METADATA_SCHEMA_REQUEST_TIMEOUT, Duration.ofSeconds(2))
          .withInt(CONNECTION_POOL_LOCAL_SIZE, job.path("connections").asInt())
          .withInt(CONNECTION_MAX_REQUESTS, Math.min(Math.max(job.path("concurrency").asInt(), LEAST_IN_FLIGHT), MOST_IN_FLIGHT))
          .withClass(RETRY_POLICY_CLASS, NoRetries.class)
          .withString(TIMESTAMP_GENERATOR_CLASS, "ServerSideTimestampGenerator")
          .withInt(NETTY_IO_SIZE, Math.max(job.path("runtime").path("workers").asInt(), 1))
          .withInt(NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
          .withInt(NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0);
    }
    job.path("options").fields().forEachRemaining(option -> {
      String value = option.getValue().asText();
      switch (option.getKey()) {
        case "coalescing" -> config.withDuration(COALESCER_INTERVAL, Duration.of(value.equals("off") ? 0 : Long.parseLong(value), ChronoUnit.MICROS));
        case "io-threads" -> config.withInt(NETTY_IO_SIZE, Integer.parseInt(value));
        case "slow-replica-avoidance" -> config.withBoolean(LOAD_BALANCING_POLICY_SLOW_AVOIDANCE, value.equals("on"));
        case "timestamps" -> config.withString(TIMESTAMP_GENERATOR_CLASS, (value.equals("server") ? "ServerSide" : "Atomic") + "TimestampGenerator");
        case "buffers" -> System.setProperty("io.netty.allocator.type", value);
        default -> {}
      }
    });
    return config.build();
  }

  /** Opens a session, with all connections of its pools. */
  CompletionStage<CqlSession> open() {
    CqlSessionBuilder builder = CqlSession.builder().withConfigLoader(config);
    for (JsonNode node : job.path("target")) {
      int colon = node.asText().lastIndexOf(':');
      String host = node.asText().substring(0, colon).replaceAll("[\\[\\]]", "");
      builder.addContactPoint(new InetSocketAddress(host, Integer.parseInt(node.asText().substring(colon + 1))));
    }
    JsonNode login = job.path("credentials"), tls = job.path("tls");
    if (login.isObject()) builder.withAuthCredentials(login.path("user").asText(), login.path("password").asText());
    if (tls.isObject()) builder.withSslEngineFactory(encryption(tls));
    return builder.buildAsync();
  }

  /** TLS with these PEM files; without a CA neither a node's certificate nor its address is verified. */
  private static SslEngineFactory encryption(JsonNode tls) {
    SslContextBuilder builder = SslContextBuilder.forClient().sslProvider(SslProvider.JDK).trustManager(InsecureTrustManagerFactory.INSTANCE);
    JsonNode ca = tls.path("ca"), client = tls.path("client");
    SslContext context;
    try {
      if (ca.isTextual()) builder.trustManager(new File(ca.asText()));
      if (client.isObject()) builder.keyManager(new File(client.path("certificate").asText()), new File(client.path("key").asText()));
      context = builder.build();
    } catch (SSLException | IllegalArgumentException error) {
      throw new Failure("connect", "The Java driver cannot use the PEM files for TLS: " + error.getMessage() + ".");
    }
    return new SslEngineFactory() {
      public SSLEngine newSslEngine(EndPoint node) {
        InetSocketAddress address = (InetSocketAddress) node.resolve();
        SSLEngine engine = context.newEngine(ByteBufAllocator.DEFAULT, address.getAddress().getHostAddress(), address.getPort());
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm(ca.isTextual() ? "HTTPS" : null);
        engine.setSSLParameters(parameters);
        return engine;
      }

      public void close() {}
    };
  }

  /** Has the driver issue a statement with these values. */
  CompletionStage<?> issue(CqlSession session, Statement statement, Object[] values) {
    return switch (statement.operation) {
      case "prepare" -> session.prepareAsync(statement.cql + " /* " + run + " " + prepared.incrementAndGet() + " */");
      case "unprepared" -> session.executeAsync(SimpleStatement.newInstance(statement.cql, values));
      case "batch" -> session.executeAsync(statement.batch(values));
      default -> session.executeAsync(statement.bound(statement.prepared, values, 0));
    };
  }

  /** The cause of what a future ended with; of several nodes the first one's. */
  static Throwable cause(Throwable error) {
    Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    return cause instanceof AllNodesFailedException
        ? ((AllNodesFailedException) cause).getAllErrors().values().stream().findFirst().map(all -> all.get(0)).orElse(cause) : cause;
  }

  /** The kind of an error, in the words of the protocol. */
  static String kind(Throwable error) {
    return switch (error.getClass().getSimpleName()) {
      case "Failure" -> ((Failure) error).kind;
      case "DriverTimeoutException" -> "request_timeout";
      case "AuthenticationException" -> "bad_credentials";
      case "BusyConnectionException" -> "queue_full";
      case "UnavailableException" -> "unavailable";
      case "OverloadedException" -> "overloaded";
      case "BootstrappingException" -> "bootstrapping";
      case "ReadTimeoutException", "WriteTimeoutException" -> "server_timeout";
      case "SyntaxError" -> "syntax";
      case "UnauthorizedException" -> "unauthorized";
      case "InvalidQueryException", "InvalidConfigurationInQueryException" -> "invalid";
      case "AlreadyExistsException" -> "already_exists";
      case "ProtocolError" -> "protocol";
      case "CodecNotFoundException", "IllegalArgumentException", "ClassCastException" -> "codec";
      case "NoNodeAvailableException", "NodeUnavailableException", "ClosedConnectionException", "HeartbeatException", "ConnectionInitException" -> "connection_lost";
      default -> error instanceof CoordinatorException ? "server" : error instanceof IOException ? "connection_lost" : "other";
    };
  }
}
