# make compare   sets up what is missing, builds, and compares the drivers on the embedded cluster
# make test      sets up what is missing, and runs the tests
# make lint      checks format and lints
# make test-all  runs the tests and what is slow and rarely breaks: old releases, other languages, a real Cassandra, the adapters
# make build     sets up what is missing, and builds `cqldyno` and the workers that are not built on demand into target/release
# make build DRIVERS="scylla java"   workers of these drivers alone, also of one that is otherwise built on demand
#
# make test-versions  runs the behaviour suite of every adapter on each release that its manifest lists, and writes drivers/VERSIONS.md
# make test-versions ONLY="scylla cdrs-tokio@6.2.0"   those of some drivers, or some releases; the other rows stay
#
# make adapter-cost   compares each adapter with the program that its driver's documentation would have you write, for writes and reads
# make adapter-cost OUT=DIR   keeps its runs in DIR/scylla and so on
#
# make regressions    repeats the reported regressions that counts decide; builds the releases that show them
# make prices         writes drivers/PRICES.md again: what each setting of each driver costs
# make prices OUT=DIR   keeps its runs in DIR/prices-scylla, DIR/pages-scylla and so on
#
# make dist           packs the program, the workers of this machine, manual pages and completions below target/dist
# make schema         writes reports/schema, drivers/protocol.schema.json and scenarios/scenario.schema.json again from the types
# make readme         writes the README's tables and chart again from the newest published runs
# make publish RUNS="DIR DIR"   publishes the runs in these folders in reports/published, and makes the README
# make publish RUNS="NAME=DIR"  the same under a name, for a run with other contenders; the README stays
# make pages          makes page and table of every published run again, as the program of today makes them, and the README
#
# ARGS are passed on: make compare ARGS="--count 10M --scenario writes"
# Standard output is the result's: make compare ARGS="--format json" > result.json

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

TARGET := $(or $(CARGO_TARGET_DIR),target)
# make build PROFILE=dev   builds the same without the optimisation of a release, into target/debug
# make build PROFILE=dev BUILD="cargo check"   checks that each worker compiles with its own features alone, and builds no program
PROFILE := release
BUILD := cargo build
RELEASE := $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
# `make test` builds everything once, without the release profile and without a cargo call for each worker.
TESTED := $(TARGET)/debug
NATIVE := $(TARGET)/native
NO_BROWSER := $(TARGET)/no-browser
DIST := $(TARGET)/dist
DRIVERS := $(shell sed '/^\#/d; / on-demand/d; s/ .*//' drivers/LIST)
# Drivers with a program to hold their adapter against. make adapter-cost ADAPTERS=cdrs-tokio compares that one alone.
ADAPTERS := $(foreach driver,$(DRIVERS),$(if $(wildcard benches/idiomatic-$(driver)),$(driver)))

# One old release of each driver that has several adapters: `make test-all` builds these on demand.
OLD_RELEASES := scylla@0.3.1 cdrs-tokio@7.0.4

# What drivers need for cargo beside cargo itself, known after `make native`.
export_native = set -a; source <(cat $(NATIVE)/*.env 2>/dev/null); set +a
# The drivers that cannot be built here, known after `make native`.
absent = $$(cd $(NATIVE) 2>/dev/null && find . -name '*.reason' | sed 's,^./,,; s,.reason$$,,')
# What leaves them out of cargo's workspace.
without = $$(for driver in $(absent); do echo --exclude cqldyno-driver-$$driver --exclude cqldyno-idiomatic-$$driver; done)
# $(call copy_built,KIND,FOLDER): workers or programs that cargo does not build, which `make native` left.
copy_built = if [[ -d $(NATIVE)/$(1) ]]; then cp $(NATIVE)/$(1)/* $(2); fi
# $(call copy_reasons,FOLDER): why workers are missing, where `cqldyno` looks for it, so that their rows can say it.
copy_reasons = for driver in $(DRIVERS); do rm -f $(1)/cqldyno-driver-$$driver.reason; \
	    [[ ! -f $(NATIVE)/$$driver.reason ]] || cp $(NATIVE)/$$driver.reason $(1)/cqldyno-driver-$$driver.reason; done
# $(call compare_adapters,FOLDER,ARGS): by the executables in FOLDER.
compare_adapters = for driver in $(ADAPTERS); do \
	    [[ ! -f $(NATIVE)/$$driver.reason ]] || continue; \
	    $(1)/cqldyno compare $$driver idiomatic-$$driver --reference idiomatic-$$driver --scenario writes --scenario reads $(2); \
	done

.PHONY: build compare dist adapter-cost regressions prices schema publish readme pages test test-all native rust lint browser clean

# Make would say each command on standard output, which is the result's.
.SILENT: build compare dist adapter-cost

# One cargo call for each worker: one call for several would unify the features of what they share. Other releases are built on demand,
# from the sources that `cqldyno` contains.
build: rust native
	$(BUILD) --profile $(PROFILE) --locked -p cqldyno
	$(export_native); for driver in $(DRIVERS); do \
	    worker=$(RELEASE)/cqldyno-driver-$$driver; \
	    if [[ -f $(NATIVE)/$$driver.reason ]]; then rm -f $$worker $$worker-[0-9]*; \
	    elif [[ -f drivers/$$driver/Cargo.toml ]]; then $(BUILD) --profile $(PROFILE) --locked -p cqldyno-driver-$$driver; fi; \
	done
	$(BUILD) --profile $(PROFILE) --locked -p cqldyno-driver-postgres
	$(call copy_built,workers,$(RELEASE))
	$(call copy_reasons,$(RELEASE))

# As a system has it, so that it can be unpacked into /usr/local, too. A libcassandra that was fetched comes along, where the workers'
# run path looks for it.
dist: build
	version=$$($(RELEASE)/cqldyno --version | cut -d ' ' -f 2); name=cqldyno-$$version-$$(uname -m)-linux; \
	rm -rf $(DIST); out=$(DIST)/$$name share=$(DIST)/$$name/share; \
	mkdir -p $$out/bin $$share/bash-completion/completions $$share/zsh/site-functions $$share/fish/vendor_completions.d $$share/cqldyno; \
	cp $(RELEASE)/cqldyno $$out/bin; \
	for driver in $(DRIVERS) postgres; do cp $(RELEASE)/cqldyno-driver-$$driver* $$out/bin; done; rm -f $$out/bin/*.d; \
	$(export_native); library=$${CASSANDRA_SYS_LIB_PATH:-}; \
	if [[ $$library == */libcassandra/* ]]; then mkdir $$out/libcassandra; cp -a $$library $$out/libcassandra; fi; \
	$$out/bin/cqldyno man $$share/man/man1; \
	$$out/bin/cqldyno completions bash >$$share/bash-completion/completions/cqldyno; \
	$$out/bin/cqldyno completions zsh >$$share/zsh/site-functions/_cqldyno; \
	$$out/bin/cqldyno completions fish >$$share/fish/vendor_completions.d/cqldyno.fish; \
	cp scenarios/scenario.schema.json harness/LOADERS.md harness/METHOD.md $$share/cqldyno; cp LICENSE $$out; cp harness/cli/DIST.md $$out/README.md; \
	tar --sort=name --owner=0 --group=0 -C $(DIST) -czf $$out.tar.gz $$name; echo $$out.tar.gz

compare: build
	$(RELEASE)/cqldyno compare $(ARGS)

# Each of the hand-written programs, too, is built by a cargo call of its own.
adapter-cost: build
	$(export_native); for driver in $(ADAPTERS); do \
	    [[ -f $(NATIVE)/$$driver.reason || ! -f benches/idiomatic-$$driver/Cargo.toml ]] || \
	        cargo build --release --locked -p cqldyno-idiomatic-$$driver; \
	done
	$(call copy_built,programs,$(RELEASE))
	$(call compare_adapters,$(RELEASE),$(if $(OUT),--out $(OUT)/$$driver) $(ARGS))

# By system calls and polls alone, so that a busy machine changes nothing.
regressions: build
	$(RELEASE)/cqldyno regress unbuffered-io --exact --run calls
	$(RELEASE)/cqldyno regress futures-unordered --exact --run matrix

# The page size has a price only where an answer has several rows. Such statements take long, so these cells have fewer, and no ARGS.
PAGES := --scenario rows --only page-size=10 --only page-size=100 --only page-size=5000 --blocks 16 --count 10k

# The page is replaced when all of it is there.
prices: build
	printf '%s\n' '# What a setting costs' '' 'Each driver against itself, with one setting changed at a time. The first row is the driver as' \
	    '`cqldyno compare` runs it; every other row is what a change costs (+) or saves (-) per statement.' \
	    'CPU time has a 95 % interval. Counts are per statement; system calls of two threads vary by some hundredths,' \
	    'gocql'\''s instructions by some percent. Below 1 % a change of CPU time may be the memory layout'\''s.' \
	    'A runtime that compiles has wide intervals, because its processes differ.' \
	    '`make prices` writes this page; `cqldyno prices DRIVER` shows one driver. Compare figures only within a table:' \
	    'other pages were measured on other machines. The runs are below [reports/published](../reports/published).' '' >$(TARGET)/PRICES.md
	for driver in $$(sed '/^\#/d; s/ .*//; /^floor$$/d; /^noop$$/d' drivers/LIST); do \
	    [[ -f $(NATIVE)/$$driver.reason ]] && continue; \
	    $(RELEASE)/cqldyno prices $$driver --format markdown $(if $(OUT),--out $(OUT)/prices-$$driver) $(ARGS) | \
	        sed 's/^### /\n## /' >>$(TARGET)/PRICES.md; \
	    $(RELEASE)/cqldyno prices $$driver --format markdown $(if $(OUT),--out $(OUT)/pages-$$driver) $(PAGES) | \
	        sed 's/^### /\n## /; 1s/what one changed setting/what another page size/' >>$(TARGET)/PRICES.md; \
	done
	mv $(TARGET)/PRICES.md drivers/PRICES.md

schema: rust
	CQLDYNO_WRITE_SCHEMA=1 cargo test --locked -p cqldyno-reports --lib the_committed_schemas_are_what_the_types_give
	CQLDYNO_WRITE_SCHEMA=1 cargo test --locked -p cqldyno-protocol --lib the_committed_schema_is_what_the_types_give
	CQLDYNO_WRITE_SCHEMA=1 cargo test --locked -p cqldyno-scenarios --test scenarios the_committed_schema_is_what_the_types_give

publish: rust
	@[[ -n "$(RUNS)" ]] || { echo 'Name the folders of the runs: make publish RUNS="DIR DIR".' >&2; exit 2; }
	cargo run --quiet --release --locked -p cqldyno-publish -- $(RUNS)

pages: rust
	cargo run --quiet --release --locked -p cqldyno-publish -- --again

readme: rust
	cargo run --quiet --release --locked -p cqldyno-publish

# The page is tried in a browser where there is one, and `make test` says where there is none. CQLDYNO_BROWSER=required insists on one.
# Workers are built with the tests: without them dependencies have fewer features, and many would be compiled twice.
# What cargo does not build has an executable `check` in its folder, which says so where it lacks what it needs. Tests wait for processes, so
# there are two test threads per core.
test: rust native browser
	for check in drivers/*/check; do \
	    driver=$$(basename $$(dirname $$check)); \
	    [[ -f $(NATIVE)/$$driver.reason ]] || CARGO_TARGET_DIR=$(abspath $(TARGET)) $$check; \
	done
	$(export_native); \
	browser=$$([[ -f $(NO_BROWSER) ]] && echo absent || echo required); \
	absent=$(absent); \
	cargo build --locked --workspace --bins --tests $(without); \
	$(call copy_built,workers,$(TESTED)); $(call copy_built,programs,$(TESTED)); $(call copy_reasons,$(TESTED)); \
	CQLDYNO_WORKERS=$(abspath $(TESTED)) CQLDYNO_ABSENT_WORKERS=$${absent//$$'\n'/,} CQLDYNO_BROWSER=$$browser \
	    RUST_TEST_THREADS=$${RUST_TEST_THREADS-$$((2 * $$(nproc)))} cargo test --locked --workspace --no-fail-fast $(without)
	@if [[ -f $(NO_BROWSER) ]]; then cat $(NO_BROWSER) >&2; fi

# Clients in other languages are fetched and tried where their runtimes are, unless CQLDYNO_OFFLINE is set. Three nodes of Cassandra need
# all cores, so their tests run one by one.
test-all: test
	$(export_native); CQLDYNO_FOREIGN=$${CQLDYNO_FOREIGN-1} cargo test --locked --workspace $(without) --test cluster foreign::
	$(export_native); absent=$(absent); \
	CQLDYNO_WORKERS=$(abspath $(TESTED)) CQLDYNO_ABSENT_WORKERS=$${absent//$$'\n'/,} CQLDYNO_CASSANDRA=required \
	    CQLDYNO_POSTGRES=$${CQLDYNO_POSTGRES-1} CQLDYNO_SLURM=$${CQLDYNO_SLURM-1} CQLDYNO_LANGUAGES=$${CQLDYNO_LANGUAGES-1} \
	    cargo test --locked --workspace $(without) --test cli -- --test-threads 1 cassandra:: secure:: durable:: loaders::on_slurm languages::
	runs=$$(mktemp -d); trap 'rm -r "$$runs"' EXIT; \
	    $(call compare_adapters,$(TESTED),--count 20000 --blocks 1 --out $$runs/$$driver)
	runs=$$(mktemp -d); trap 'rm -r "$$runs"' EXIT; \
	    CQLDYNO_CACHE=$(abspath $(TARGET))/cache $(TESTED)/cqldyno compare $(OLD_RELEASES) --count 20000 --blocks 1 --out $$runs/old

test-versions: rust
	CQLDYNO_CACHE=$(abspath $(TARGET))/cache cargo run --quiet --locked -p cqldyno-builder --example versions -- $(ONLY)

browser:
	@mkdir -p $(TARGET); rm -f $(NO_BROWSER)
	@if ! command -v chromedriver >/dev/null; then \
	    echo "The page was not tried in a browser: chromedriver was not found; install it with Chromium (Debian: the packages" \
	        "chromium and chromium-driver)." | tee $(NO_BROWSER) >&2; \
	    [[ "$${CQLDYNO_BROWSER:-}" != required ]]; \
	fi

lint: rust native
	cargo fmt --all --check
	$(export_native); cargo clippy --locked --workspace --all-targets -- -D warnings

rust:
	@command -v cargo >/dev/null || { \
	    echo "cargo was not found; install Rust 1.95 or newer from https://rustup.rs and start again." >&2; exit 1; }

# A driver that needs more than cargo has an executable `native` in its folder. It provides that below the target folder and prints
# the variables that cargo then needs, or says in its last line why it cannot. Workers that cargo does not build go to native/workers.
native:
	@rm -rf $(NATIVE); mkdir -p $(NATIVE)
	@for driver in $(DRIVERS); do \
	    [[ -x drivers/$$driver/native ]] || continue; \
	    if drivers/$$driver/native $(abspath $(TARGET)) >$(NATIVE)/$$driver.env 2>$(NATIVE)/$$driver.log; then \
	        cat $(NATIVE)/$$driver.log >&2; \
	    else \
	        cat $(NATIVE)/$$driver.log >&2; \
	        tail -n 1 $(NATIVE)/$$driver.log >$(NATIVE)/$$driver.reason; rm $(NATIVE)/$$driver.env; \
	        echo "The driver $$driver is left out; the others go on." >&2; \
	    fi; \
	done

clean:
	cargo clean
