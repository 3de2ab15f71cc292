package cqldyno;

import static com.datastax.oss.driver.api.core.retry.RetryDecision.RETHROW;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.context.DriverContext;
import com.datastax.oss.driver.api.core.retry.*;
import com.datastax.oss.driver.api.core.servererrors.*;
import com.datastax.oss.driver.api.core.session.Request;

/** Every error is the statement's. The driver makes it by its class. */
@SuppressWarnings("deprecation")
public record NoRetries(DriverContext context, String profile) implements RetryPolicy {
  public RetryDecision onReadTimeout(Request of, ConsistencyLevel level, int due, int came, boolean data, int retries) { return RETHROW; }
  public RetryDecision onWriteTimeout(Request of, ConsistencyLevel level, WriteType type, int due, int came, int retries) { return RETHROW; }
  public RetryDecision onUnavailable(Request of, ConsistencyLevel level, int required, int alive, int retries) { return RETHROW; }
  public RetryDecision onRequestAborted(Request of, Throwable error, int retries) { return RETHROW; }
  public RetryDecision onErrorResponse(Request of, CoordinatorException error, int retries) { return RETHROW; }
  public void close() {}
}
