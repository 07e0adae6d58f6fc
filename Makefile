# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

GO ?= go

# Every folder with a go.mod and Go code. RECORD is a program that makes
# fixtures: make test compiles it, but does not run it.
MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/.*' -not -path '*/testdata/*')))
MODULES := $(foreach m,$(MODULES),$(if $(shell find $(m) -name '*.go' | head -n 1),$(m)))
# The go.mod in tools only lists tools: the code is in subfolders with their own
# go.mod. Only make rivals builds the Collector with Otel Arrow, and only make
# test-contrib needs other versions of the Collector's libraries.
CONTRIB := ./internal/interop/contribreceiver ./internal/interop/contribexporter
MODULES := $(filter-out ./tools ./tools/otelarrow $(CONTRIB),$(MODULES))
RECORD := ./internal/fixtures/record
TESTED := $(filter-out $(RECORD),$(MODULES))

# The tools of this repository have their own module, so that programs which
# import our modules do not depend on what the tools need.
TOOL := $(GO) tool -modfile=$(CURDIR)/tools/go.mod

BENCH ?= .
BENCHTIME ?= 1s
COUNT ?= 1
FUZZTIME ?= 30s
RACE ?= ./...
# Tests that build programs take over ten minutes, the default of go test, on slow computers.
TESTTIME ?= 60m
TESTFLAGS ?=
# JOBS=2 tests two modules at a time, because many tests wait. It needs GNU make 4.
JOBS ?= 1
SETS ?=
SEED ?= 1
RECORD_TIME ?= 12m
RECORD_OUT ?= $(CURDIR)/internal/fixtures/recordings
E2E ?=
BASE ?= main
BEFORE ?= 9aafeec
TURNS ?= 12

# $(call each,MODULES,COMMAND) runs a command in the folder of every module.
each = @set -e; for m in $(1); do echo "-- $$m"; (cd $$m; $(2)); done

# USERS lists the packages of a module whose tests depend on internal/teltest:
# only this package finds the large sets.
TELTEST := github.com/otelstef/stef/internal/teltest
USERS := $(GO) list -test -f '{{$$p := .ForTest}}{{range .Deps}}{{if eq . "$(TELTEST)"}}{{println $$p}}{{end}}{{end}}' ./...

.DEFAULT_GOAL := help
# No target with a description is the name of a file.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\#.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Compile every module; put the programs into bin/
	$(call each,$(MODULES),$(GO) build -o /dev/null ./...)
	$(GO) build -o bin/ ./cmd/...
	cd cmd/stef && $(GO) build -o $(CURDIR)/bin/ .

test: ## Run the tests of every module
	@mkdir -p .tmp && rm -f .tmp/failed
	@$(MAKE) --no-print-directory -k $(if $(filter-out 1,$(JOBS)),-j$(JOBS) -O) $(TESTED:%=test@%) || { echo "failed in:" $$(cat .tmp/failed); exit 1; }
	$(call each,$(filter $(RECORD),$(MODULES)),$(GO) build -o /dev/null ./...)

# With -O, make prints the output of a module when its tests have ended. Some tests run make
# themselves, without the flags of this make.
.PHONY: $(TESTED:%=test@%)
$(TESTED:%=test@%): test@%:
	@unset MAKEFLAGS; echo "-- $*"; cd $* && $(GO) test -timeout $(TESTTIME) $(TESTFLAGS) ./... || { echo $* >>$(CURDIR)/.tmp/failed; exit 1; }

# -count=1 is for changed files outside the module, which the test cache ignores. SETS
# is the file that make test wrote with STEF_SETS_LOG. Without SETS, all tests of the packages run.
test-real: ## Run the tests that read the large real sets; fail where the sets are missing (SETS=list of tests)
ifeq ($(SETS),)
	$(call each,$(TESTED),list=$$($(USERS)); pkgs=$$(printf '%s\n' "$$list" | grep . | sort -u || true); if [ -n "$$pkgs" ]; then STEF_REQUIRE_SETS=1 $(GO) test -count=1 $(TESTFLAGS) $$pkgs; fi)
else
	tools/realtests.sh $(SETS) $(TESTFLAGS)
endif

test-long: ## Run the tests of every module at full length (STEF_LONG=1)
	$(call each,$(TESTED),STEF_LONG=1 $(GO) test -count=1 -timeout 120m ./...)

test-faults: ## Run the fault tests of the transport: 10,000 batches a time (SEED=1 is the first seed)
	STEF_LONG=1 STEF_SEED=$(SEED) $(GO) test -count=1 -timeout 30m -v -run '^TestFaults' ./stef-gogrpc

HOSTILE ?= 30m

hostile: ## Search for the streams that cost a receiver most, and save them (HOSTILE=30m for each kind)
	STEF_HOSTILE=$(HOSTILE) STEF_HOSTILE_UPDATE=1 $(GO) test -count=1 -timeout 12h -v -run '^TestLaw$$' ./receiver/stefreceiver

race: ## Run the tests under the race detector (RACE=packages; needs a C compiler)
	$(GO) test -race -short $(RACE)

FUZZ ?= all
SHARD ?= 1/1

fuzz: ## Run the fuzz targets, one after another (FUZZTIME=30s each; FUZZ=network or rest; SHARD=2/4)
	@FUZZ_PART=$(FUZZ) FUZZ_SHARD=$(SHARD) tools/fuzz.sh -fuzztime $(FUZZTIME)

bench: ## Run the benchmarks at GOMAXPROCS=1 (BENCH=regexp BENCHTIME=1s COUNT=1)
	$(call each,$(TESTED),GOMAXPROCS=1 $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -count $(COUNT) -benchmem ./...)

benchstat: ## Compare two outputs of make bench (FILES="old.txt new.txt")
	@$(TOOL) benchstat $(FILES)

report: ## Measure STEF beside other formats: pages, text, CSV and pictures in benchmarks/results (some minutes)
	cd benchmarks && $(GO) test -count=1 -timeout 60m -v -run '^TestReport$$' . -report results
	-cd benchmarks && $(GO) test -count=1 -run '^TestProse$$' . -update # figures in sentences; names those that need other words

report-full: ## The same with all sets, sizes and rounds (hours; leave the machine alone)
	cd benchmarks && $(GO) test -count=1 -timeout 6h -v -run '^TestReport$$' . -report results -full
	-cd benchmarks && $(GO) test -count=1 -run '^TestProse$$' . -update

# With liblttng-ust-dev installed, STUDY_TAGS=lttng adds the log lines of LTTng.
study-sdk: ## Measure what telemetry costs an application: tables in .tmp/study-sdk.md (PARTS=traces,others,overload,metrics; ROUNDS=2; minutes; STEF_LONG=1: over two hours)
	@mkdir -p .tmp
	cd sdk && $(GO) test -count=1 -timeout 5h -v $(if $(STUDY_TAGS),-tags $(STUDY_TAGS)) -run '^TestStudy$$' ./internal/study -report $(CURDIR)/.tmp/study-sdk.md $(if $(PARTS),-parts $(PARTS)) $(if $(ROUNDS),-rounds $(ROUNDS))

guard: ## Compare the work tree with a revision (BASE=main) and name what got slower or larger
	cd benchmarks && $(GO) run ./guard -base $(BASE)

before: ## Compare CPU and bytes of streams with a revision from before the compact form (BEFORE=9aafeec TURNS=12)
	rm -rf .tmp/before && git worktree prune && git worktree add --detach .tmp/before $(BEFORE)
	cp stef-pdata/bench_revisions_test.go .tmp/before/stef-pdata/
	$(GO) test -c -o .tmp/after.test ./stef-pdata && cd .tmp/before && $(GO) test -c -o ../before.test ./stef-pdata
	@rm -f .tmp/before.txt .tmp/after.txt; export GOMAXPROCS=1; for turn in $$(seq $(TURNS)); do \
		sides="before after"; [ $$((turn % 2)) = 1 ] || sides="after before"; \
		for side in $$sides; do folder=stef-pdata; [ $$side = after ] || folder=.tmp/before/stef-pdata; \
			(top=$(CURDIR)/.tmp; cd $$folder && $$top/$$side.test -test.run '^$$' -test.bench Revision -test.benchtime 0.05s >> $$top/$$side.txt) || exit 1; \
		done; done
	git worktree remove --force .tmp/before
	@$(TOOL) benchstat .tmp/before.txt .tmp/after.txt

record: collector ## Record telemetry of programs in four languages and of a Collector (RECORD_TIME=12m RECORD_OUT=folder)
	cd $(RECORD) && PATH="$(CURDIR)/bin:$$PATH" $(GO) run -trimpath . -programs go,node,python,java,collector -for $(RECORD_TIME) -visits 0.35 -metrics-every 10s -out $(RECORD_OUT)

lint: ## Check format, go vet and staticcheck in every module
	@files=$$(gofmt -l $$(find . -name '*.go' -not -path './.tmp/*')); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	$(call each,$(MODULES),$(GO) vet ./... && $(TOOL) staticcheck ./...)

# With pipefail, the target fails if the command before the filter fails.
docs docs-long rivals: SHELL := bash
docs docs-long rivals: .SHELLFLAGS := -o pipefail -c

docs: ## Run or check each code block of the READMEs and pages, and print how
	$(GO) test -count=1 -v -run '^TestPages$$' ./internal/docs | grep -v '^=== '

# Each page has a subtest: PAGES=docs/scale.md runs only the blocks of this page.
docs-long: ## The same with the blocks that take minutes, in clones of the last commit (hours; all: Java, Maven, node, npm; PAGES=docs/scale.md)
	STEF_DOCS_LONG=1 $(GO) test -count=1 -timeout 10h -v -run '^TestPages$$$(if $(PAGES),/^$(PAGES)$$)' ./internal/docs | grep -v '^=== '

walks: ## Count the functions that run on the walks of docs/architecture.md (VERBOSE=-v names them)
	@mkdir -p .tmp/covered
	$(GO) build -cover -covermode=atomic -coverpkg=./... -o .tmp/walks ./internal/walks
	@GOCOVERDIR=.tmp/covered .tmp/walks $(VERBOSE)

# make cross compiles the code and its tests for these platforms, without running them.
# The unit tests of the core also run as 386 on an amd64 machine with Linux.
CROSS ?= linux/arm64 linux/386 darwin/arm64 windows/amd64
CORE := ./stef-go/... ./stef-spec/...
# The modules that are released.
CROSSED := . cmd/stef sdk lake extension/stefencodingextension

cross: ## Compile and vet for other platforms (CROSS=os/arch...); run the core's tests as 386
	@set -e; for p in $(CROSS); do for m in $(CROSSED); do echo "-- $$p $$m"; (cd $$m && GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet ./...); done; done
	@case "$$($(GO) env GOHOSTOS)/$$($(GO) env GOHOSTARCH)" in linux/amd64) echo "-- tests as linux/386"; GOARCH=386 CGO_ENABLED=0 $(GO) test -short $(CORE) ;; esac

# Without the network govulncheck needs a copy of the database: VULNDB=file:///...
vulncheck: ## Look for known vulnerabilities in what the code calls (VULNDB=URL of the database)
	$(call each,$(MODULES),$(TOOL) govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...)

licences: ## List the licences of each module that the released modules are built from; fail for an unknown one
	@tools/licences.sh

# The files that mdatagen generates from the metadata of a component.
METADATA := '*/generated_*_test.go' '*/documentation.md' '*/internal/metadata/*' '*/internal/metadatatest/*'

generate: ## Generate the records, the messages of the transport, and the metadata of the components
	$(GO) generate ./stef-go/otelstef ./stef-gogrpc/stefpb ./exporter/... ./receiver/...
	cd extension/stefencodingextension && $(GO) generate ./...

check-generate: ## Fail where generated code is not what its source gives
	$(GO) test -count=1 -run '^TestGeneratedIsCurrent$$' ./internal/arch ./stef-gogrpc/stefpb
	cd tools/protogen && $(GO) test -count=1 -run '^TestGeneratedIsCurrent$$' .
	$(GO) generate ./exporter/... ./receiver/...
	cd extension/stefencodingextension && $(GO) generate ./...
	git diff --exit-code -- $(METADATA)

vectors: ## Write the annotated vectors of the specification again
	$(GO) test -count=1 ./stef-spec/... -update

demo: ## Run the main job: recorded telemetry through an agent and a backend Collector
	@$(GO) run ./cmd/stefdemo

demo-serve: ## Leave the agent and the backend of the demo running for your OTLP client
	@$(GO) run ./cmd/stefdemo -serve

demo-files: ## Convert the recorded telemetry to files and back, and compare
	@$(GO) run ./cmd/stefdemo -files

collector: ## Build the distribution, a Collector with STEF: bin/otelcol-stef
	@mkdir -p .tmp/otelcol-stef bin
	$(GO) tool -modfile=tools/builder/go.mod builder --config cmd/otelcol-stef/manifest.yaml
	@# Replace the file, because a running program cannot be overwritten.
	@cp .tmp/otelcol-stef/otelcol-stef bin/otelcol-stef.new && mv -f bin/otelcol-stef.new bin/otelcol-stef

test-collector: collector ## Test processes of the distribution, under load and faults (E2E=regexp, STEF_LONG=1 at full length)
	cd tools/telemetrygen && $(GO) build -o $(CURDIR)/bin/telemetrygen github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen
	STEF_OTELCOL=$(CURDIR)/bin/otelcol-stef STEF_TELEMETRYGEN=$(CURDIR)/bin/telemetrygen $(GO) test -count=1 -timeout 60m $(if $(E2E),'-run=$(E2E)') ./internal/e2e

SOAK_TIME ?= 10m
# The -timeout of go test is a day, so that it does not end a run.
endure = STEF_SOAK_TIME=$(SOAK_TIME) STEF_SOAK_OUT=$(CURDIR)/.tmp/soak STEF_OTELCOL=$(CURDIR)/bin/otelcol-stef $(GO) test -count=1 -timeout 24h -v -run '^$(2)$$' ./internal/e2e && \
	cd benchmarks && $(GO) run ./soak -in $(CURDIR)/.tmp/soak/$(1) -out $(CURDIR)/.tmp/soak -command "make $(1) SOAK_TIME=$(SOAK_TIME)"

soak: collector ## Run a pair of Collectors under load and faults of network, disk and certificates: page in .tmp/soak (SOAK_TIME=10m)
	$(call endure,soak,TestSoak)

chaos: collector ## The same, also with kill -9 of both Collectors (SOAK_TIME=10m)
	$(call endure,chaos,TestChaos)

# Each connection of an agent needs two file descriptors, for the agent and for the receiver.
scale: collector ## Run 1,000 agents against a receiver, and 5,000 idle ones (SCALE=1000 IDLE=5000; figures for docs/scale.md)
	ulimit -n 20000; STEF_SCALE_AGENTS=$(or $(SCALE),1000) STEF_SCALE_IDLE=$(or $(IDLE),5000) STEF_SCALE_SECONDS=20 STEF_SCALE_BATCHES=600 STEF_OTELCOL=$(CURDIR)/bin/otelcol-stef $(GO) test -count=1 -v -timeout 30m -run '^TestScale' ./internal/e2e

test-contrib: collector ## Test a process of the distribution with the STEF receiver and exporter of the contrib repository as peers
	$(call each,$(CONTRIB),$(GO) vet . && STEF_OTELCOL=$(CURDIR)/bin/otelcol-stef $(GO) test -count=1 .)

# Otel Arrow needs older libraries of the Collector than this repository. So it is
# in a separate program, which only this target builds.
rivals: collector ## Compare pairs of Collectors as processes: OTLP, Otel Arrow and STEF (some 5 minutes once compiled; leave the machine alone; STEF_BATCH_IN_QUEUE=1 makes the batches in the queue of the exporter)
	cd tools/otelarrow && $(GO) build -o $(CURDIR)/bin/otelcol-arrow .
	STEF_OTELCOL=$(CURDIR)/bin/otelcol-stef STEF_OTELCOL_ARROW=$(CURDIR)/bin/otelcol-arrow $(GO) test -count=1 -v -timeout 60m -run '^TestRivals$$' ./internal/e2e | grep --line-buffered '^[|d]\|^note:\|FAIL\|_test.go'

test-kafka: ## Test the encoding extension with a Kafka broker from Maven Central (needs Java and Maven; KAFKA_ITEMS=200000)
	mvn -q -f tools/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.tmp/kafka
	cd internal/enginetest && STEF_KAFKA_LIB=$(CURDIR)/.tmp/kafka STEF_KAFKA_ITEMS=$(or $(KAFKA_ITEMS),200000) $(GO) test -count=1 -v -timeout 20m -run '^TestKafka' .

LAKE := $(CURDIR)/.tmp/lake

test-lake: ## Read Parquet and Arrow files of the recordings with DuckDB, pandas and polars from PyPI, and run the queries of docs/data-lake.md
	@mkdir -p $(LAKE)
	cd cmd/stef && $(GO) build -o $(LAKE)/stef .
	python3 -m venv $(LAKE)/venv
	$(LAKE)/venv/bin/pip install -q --disable-pip-version-check -r lake/engines/requirements.txt
	@set -e; for s in traces metrics logs; do for to in parquet arrow json; do \
	  columns=; [ $$to = json ] || columns='--columns http.route,resource:process.runtime.name'; \
	  $(LAKE)/stef convert --quiet --force --signal $$s $$columns internal/fixtures/recordings/*-$$s.otlp.zst $(LAKE)/$$s.$$to; done; done
	$(LAKE)/venv/bin/python lake/engines/check.py $(LAKE)

bench-lake: ## Measure the ways to Parquet and Arrow, beside DuckDB, polars and pyarrow on OTLP JSON (after make test-lake; ROUNDS=10 of the recordings; minutes; leave the machine alone)
	ROUNDS=$(or $(ROUNDS),10) $(LAKE)/venv/bin/python lake/engines/speed.py $(LAKE)

SAMPLING := $(CURDIR)/.tmp/study-sampling
RATE ?= 5000
RUNS ?= steady,saturated,few
comma := ,

study-sampling: ## Send traces through processors that hold them, over OTLP and STEF, and count what arrives (minutes; RATE=5000 spans a second; RUNS=steady,saturated,few; PROCESSORS=groupbytrace,tail_sampling; STEF_LONG=1: hours)
	@mkdir -p bin $(SAMPLING) && cd benchmarks/sampling && $(GO) build -o $(CURDIR)/bin/sampling .
	$(if $(findstring steady,$(RUNS)),bin/sampling -rate $(RATE) $(if $(STEF_LONG),-for 20m -every 10s) $(if $(PROCESSORS),-processors $(PROCESSORS)) -table $(SAMPLING)/steady.csv -series $(SAMPLING)/steady-series.csv)
	$(if $(findstring saturated,$(RUNS)),bin/sampling -rate 0 -limit 2048 -for $(if $(STEF_LONG),20m -every 10s,8s) $(if $(PROCESSORS),-processors $(PROCESSORS)) -table $(SAMPLING)/saturated.csv -series $(SAMPLING)/saturated-series.csv)
	$(if $(findstring few,$(RUNS)),bin/sampling -for 3s -traces 200 -processors groupbytrace$(comma)tail_sampling -table $(SAMPLING)/few.csv)

deployment: ## Run agents, gateways, a Kafka broker, consumers and a backend as processes, kill broker and consumer, and print what each costs (needs Java and Maven)
	mvn -q -f tools/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.tmp/kafka
	cd internal/enginetest && STEF_KAFKA_LIB=$(CURDIR)/.tmp/kafka STEF_KAFKA_ITEMS=$(or $(KAFKA_ITEMS),200000) $(GO) test -count=1 -v -timeout 20m -run '^TestDeployment$$' .
