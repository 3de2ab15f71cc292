# make compare   sets up what is missing, builds, and compares the drivers on the embedded cluster
# make test      sets up what is missing, and runs every check that a change must pass
# make build     sets up what is missing, and builds `cqldyno` and a worker for each driver into target/release
#
# make adapter-cost   compares each adapter with the program that its driver's documentation would have you write, for writes and reads
# make adapter-cost OUT=DIR   keeps its runs in DIR/scylla and so on
#
# make schema         writes reports/schema again from the types of the result model
# make readme         writes the README's tables and chart again from the newest published runs
# make publish RUNS="DIR DIR"   publishes the runs in these folders in reports/published, and makes the README
# make pages          makes page and table of every published run again, as the program of today makes them, and the README
#
# ARGS are passed on: make compare ARGS="--count 10M --scenario writes"
# Standard output is the result's: make compare ARGS="--format json" > result.json

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

TARGET := $(or $(CARGO_TARGET_DIR),target)
RELEASE := $(TARGET)/release
LIBCASSANDRA := $(TARGET)/libcassandra
DRIVERS := scylla cdrs-tokio floor noop
# make adapter-cost ADAPTERS=cdrs-tokio compares that one alone.
ADAPTERS := scylla cdrs-tokio cassandra-cpp
NO_BROWSER := $(TARGET)/no-browser

# The directory of libcassandra, empty where there is none; known after `make libcassandra`.
native_path = $$(cat $(LIBCASSANDRA)/directory 2>/dev/null || true)

.PHONY: build compare adapter-cost schema publish readme pages test libcassandra rust lint browser clean

# Make would say each command on standard output, which is the result's.
.SILENT: build compare adapter-cost

# One cargo call a worker: one call for several would unify the features of what they share.
build: rust libcassandra
	cargo build --release --locked -p cqldyno
	cargo build --release --locked -p cqldyno-interposer
	for driver in $(DRIVERS); do cargo build --release --locked -p cqldyno-driver-$$driver; done
	$(MAKE) $(RELEASE)/cqldyno-driver-cassandra-cpp

compare: build
	$(RELEASE)/cqldyno compare $(ARGS)

# Each of the hand-written programs, too, is built by a cargo call of its own.
adapter-cost: build
	for driver in $(ADAPTERS); do \
	    if [[ $$driver == cassandra-cpp && -f $(LIBCASSANDRA)/unavailable ]]; then continue; fi; \
	    CASSANDRA_SYS_LIB_PATH=$(native_path) cargo build --release --locked -p cqldyno-idiomatic-$$driver; \
	    $(RELEASE)/cqldyno compare $$driver idiomatic-$$driver --reference idiomatic-$$driver --scenario writes --scenario reads \
	        $(if $(OUT),--out $(OUT)/$$driver) $(ARGS); \
	done

schema: rust
	CQLDYNO_WRITE_SCHEMA=1 cargo test --locked -p cqldyno-reports --lib the_committed_schemas_are_what_the_types_give

publish: rust
	@[[ -n "$(RUNS)" ]] || { echo 'Name the folders of the runs: make publish RUNS="DIR DIR".' >&2; exit 2; }
	cargo run --quiet --release --locked -p cqldyno-publish -- $(RUNS)

pages: rust
	cargo run --quiet --release --locked -p cqldyno-publish -- --again

readme: rust
	cargo run --quiet --release --locked -p cqldyno-publish

# The comparison through the real executables uses the workers of the release build, each with its own features.
test: build lint browser
	browser=$$([[ -f $(NO_BROWSER) ]] && echo absent || echo required); \
	without=; absent=; \
	if [[ -f $(LIBCASSANDRA)/unavailable ]]; then \
	    absent=cassandra-cpp; \
	    without="--exclude cqldyno-driver-cassandra-cpp --exclude cqldyno-idiomatic-cassandra-cpp"; \
	fi; \
	CASSANDRA_SYS_LIB_PATH=$(native_path) CQLDYNO_WORKERS=$(abspath $(RELEASE)) CQLDYNO_ABSENT_WORKERS=$$absent \
	    CQLDYNO_BROWSER=$$browser cargo test --locked --workspace --no-fail-fast $$without
	runs=$$(mktemp -d); trap 'rm -r "$$runs"' EXIT; $(MAKE) adapter-cost ARGS="--count 20000 --blocks 1" OUT=$$runs
	@if [[ -f $(NO_BROWSER) ]]; then cat $(NO_BROWSER) >&2; fi

# The page is tried in Chromium, which Debian has as packages. Where it cannot be had so, NO_BROWSER says what to install.
browser:
	@mkdir -p $(TARGET); rm -f $(NO_BROWSER)
	@if ! command -v chromedriver >/dev/null && [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
	    echo "chromedriver was not found; the packages chromium and chromium-driver are installed." >&2; \
	    apt-get install -y chromium chromium-driver >/dev/null 2>&1 \
	        || { apt-get update >/dev/null 2>&1 && apt-get install -y chromium chromium-driver >/dev/null 2>&1; } || true; \
	fi
	@if ! command -v chromedriver >/dev/null; then \
	    echo "The page was not tried in a browser: chromedriver was not found and could not be installed; install the packages" \
	        "chromium and chromium-driver." | tee $(NO_BROWSER) >&2; \
	    [[ "$${CQLDYNO_BROWSER:-}" != required ]]; \
	fi

lint: rust libcassandra
	cargo fmt --all --check
	CASSANDRA_SYS_LIB_PATH=$(native_path) cargo clippy --locked --workspace --all-targets -- -D warnings

rust:
	@command -v cargo >/dev/null || { \
	    echo "cargo was not found; install Rust 1.95 or newer from https://rustup.rs and start again." >&2; exit 1; }

# Either `directory` (where libcassandra lies; empty for the system's own) or `unavailable` (why there is none) is written.
libcassandra:
	@mkdir -p $(LIBCASSANDRA)
	@if drivers/cassandra-cpp/libcassandra/provide $(abspath $(LIBCASSANDRA))/scylla-2.16.2 >$(LIBCASSANDRA)/directory.new 2>$(LIBCASSANDRA)/log; then \
	    cat $(LIBCASSANDRA)/log >&2; \
	    mv $(LIBCASSANDRA)/directory.new $(LIBCASSANDRA)/directory; rm -f $(LIBCASSANDRA)/unavailable; \
	else \
	    cat $(LIBCASSANDRA)/log >&2; \
	    tail -n 1 $(LIBCASSANDRA)/log >$(LIBCASSANDRA)/unavailable; rm -f $(LIBCASSANDRA)/directory{,.new}; \
	    echo "The driver cassandra-cpp is left out; the others go on." >&2; \
	fi

# Without libcassandra the reason is put where `cqldyno` looks for the worker, so that the row can say it.
.PHONY: $(RELEASE)/cqldyno-driver-cassandra-cpp
$(RELEASE)/cqldyno-driver-cassandra-cpp:
	@if [[ -f $(LIBCASSANDRA)/unavailable ]]; then \
	    rm -f $@; cp $(LIBCASSANDRA)/unavailable $@.reason; \
	else \
	    rm -f $@.reason; \
	    CASSANDRA_SYS_LIB_PATH=$(native_path) cargo build --release --locked -p cqldyno-driver-cassandra-cpp; \
	fi

clean:
	cargo clean
