package cqldyno;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.context.DriverContext;
import com.datastax.oss.driver.api.core.retry.*;
import com.datastax.oss.driver.api.core.servererrors.*;
import com.datastax.oss.driver.api.core.session.Request;

/** Every error is the statement's. The driver makes it by its class. */
@SuppressWarnings("deprecation")
public record NoRetries(DriverContext context, String profile) implements RetryPolicy {
  public RetryDecision onReadTimeout(Request request, ConsistencyLevel level, int due, int came, boolean data, int retries) {
    return RetryDecision.RETHROW;
  }

  public RetryDecision onWriteTimeout(Request request, ConsistencyLevel level, WriteType type, int due, int came, int retries) {
    return RetryDecision.RETHROW;
  }

  public RetryDecision onUnavailable(Request request, ConsistencyLevel level, int required, int alive, int retries) {
    return RetryDecision.RETHROW;
  }

  public RetryDecision onRequestAborted(Request request, Throwable error, int retries) {
    return RetryDecision.RETHROW;
  }

  public RetryDecision onErrorResponse(Request request, CoordinatorException error, int retries) {
    return RetryDecision.RETHROW;
  }

  public void close() {}
}
