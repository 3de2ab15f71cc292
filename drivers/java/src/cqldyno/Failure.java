package cqldyno;

/** Why a job or a statement failed: a kind of drivers/PROTOCOL.md and a sentence. It has no stack trace, which would cost time. */
final class Failure extends RuntimeException {
  final String kind;

  Failure(String kind, String message) {
    super(message, null, false, false);
    this.kind = kind;
  }
}
