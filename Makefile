# Everything that is done to Reflectory. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules

# The shipped plugins to build. Leave some out: make build PLUGINS="lua-eval"
PLUGINS ?= schema-eval checks-eval mcp-eval llm-eval lua-eval command-eval
# lua54 builds lua-eval on the system's Lua 5.4 (needs cgo and liblua5.4-dev).
# pebblegozstd leaves out Pebble's zstd in C, which takes a minute to compile: no store of
# ours is compressed with zstd.
TAGS ?= lua54 pebblegozstd
# What make test runs without the race detector: wazero's compiler, which works on
# memory of its own and takes five times as long with it. A package may be in this list
# only if its own code shares nothing between goroutines and it uses no generic code that
# does, such as sync.Map: the linker keeps one copy of generic code for the whole program,
# and if that were the copy without the detector, it would report races that don't exist.
ALONE := engine/wazevo/ssa engine/wazevo/frontend engine/wazevo/backend/... wasm/binary leb128
RACE := -race $(ALONE:%=-gcflags=github.com/tetratelabs/wazero/internal/%=-race=false)
# What is built and tested: the module of the sdk is not below ./... of the root's. And what else
# is checked.
ALL := ./... ./sdk/...
CHECKED := $(ALL) ./.ci/clients/gosdk ./.ci/dist ./.ci/typecheck ./testdata/surfaces/...
# How long each fuzz target runs in make fuzz.
FUZZTIME ?= 60s
# How long each load of make test-surfaces lasts.
LOAD_TIME ?= 15s
# How long the attacks of make test-hostile last.
HOSTILE_TIME ?= 10m
# How many lives of each kind make lives lives.
SEEDS ?= 10
# The benchmark or figure of make profile, and its package if that isn't to be looked for.
NAME ?=
PKG ?=
# The first of their seeds.
FIRST ?= 0
# The attack that make test-hostile measures; all of them if it is empty.
HOSTILE_CASE ?=
# With 1, make scale lets 64 callers share a session at length.
SESSION_STRESS ?=
# The data set of make recall-quality, uses-quality and guard-quality, and further ones of the first and of
# make calibrate.
DATA ?=
REALTALK ?=
XQUAD ?=
CRANFIELD ?=

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
TOOLS := $(CURDIR)/.tools

DEMO := examples/extract-contact
DEMO_DATA := bin/demo-data

## demo: build all and run the main job on a real mail message, offline
.PHONY: demo
demo: build
	@echo
	@echo "$$ bin/reflectory run $(DEMO)/workflow.yaml --input $(DEMO)/message.eml --data-dir $(DEMO_DATA)"
	@bin/reflectory run $(DEMO)/workflow.yaml --input $(DEMO)/message.eml --data-dir $(DEMO_DATA)
	@echo
	@echo "Each attempt is in $(DEMO_DATA). To look at them:"
	@echo "  bin/reflectory runs list --data-dir $(DEMO_DATA)"
	@echo "A project of your own, which runs offline too:"
	@echo "  bin/reflectory init hello"

# How each shipped plugin is built. Without cgo a program loads nothing from the
# system's folders.
CGO_schema-eval := CGO_ENABLED=0
CGO_checks-eval := CGO_ENABLED=0
CGO_command-eval := CGO_ENABLED=0
CGO_mcp-eval := CGO_ENABLED=0
CGO_llm-eval := CGO_ENABLED=0
CGO_lua-eval :=

# What a shipped plugin asks for is shown in its plugin.yaml. Which programs run is the operator's to
# say, in commands of reflectory.yaml.
GRANT_command-eval := --grant host:exec

## build: build bin/reflectory and the plugins in PLUGINS beside it, pinned
.PHONY: build
build: deps
	@rm -rf bin/plugins
	go build -tags "$(TAGS)" -o bin/reflectory ./cmd/host
	@$(foreach p,$(PLUGINS),$(call build_plugin,$(p)) &&) true

# Each is a package like any other: its plugin.yaml and its program in a folder,
# pinned by plugin add.
define build_plugin
mkdir -p bin/plugins/reflectory/$(1) && cp plugins/$(1)/plugin.yaml bin/plugins/reflectory/$(1)/ && \
echo "go build -ldflags '-s -w' -tags $(TAGS) -o bin/plugins/reflectory/$(1)/$(1) ./plugins/$(1)" && \
$(CGO_$(1)) go build -ldflags "-s -w" -tags "$(TAGS)" -o bin/plugins/reflectory/$(1)/$(1) ./plugins/$(1) && \
bin/reflectory plugin add --in-place --lock bin/plugins/reflectory.lock $(GRANT_$(1)) bin/plugins/reflectory/$(1)
endef

# Where install puts the program: links to it belong into a folder of PATH.
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)

## install: install the program, its plugins, completions and man pages below PREFIX
.PHONY: install
install: build
	rm -rf "$(PREFIX)/lib/reflectory"
	mkdir -p "$(PREFIX)/lib/reflectory" "$(PREFIX)/bin"
	cp -r bin/reflectory bin/plugins "$(PREFIX)/lib/reflectory/"
	ln -sf ../lib/reflectory/reflectory "$(PREFIX)/bin/reflectory"
	mkdir -p "$(PREFIX)/share/bash-completion/completions" "$(PREFIX)/share/zsh/site-functions" "$(PREFIX)/share/fish/vendor_completions.d"
	bin/reflectory completion bash >"$(PREFIX)/share/bash-completion/completions/reflectory"
	bin/reflectory completion zsh >"$(PREFIX)/share/zsh/site-functions/_reflectory"
	bin/reflectory completion fish >"$(PREFIX)/share/fish/vendor_completions.d/reflectory.fish"
	$(CURDIR)/.ci/man bin/reflectory "$(PREFIX)/share/man/man1"
	@"$(PREFIX)/bin/reflectory" --version

# What a release is: its version, its time (of the commit), its architectures, where it will be
# downloaded from, and the ed25519 key that signs its checksums (none: unsigned).
VERSION ?= $(shell sed -n 's/^var version = "\(.*\)"/\1/p' cmd/host/internal/cli/version.go)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
ARCH ?= amd64
RELEASE_URL ?= https://github.com/reflectory/reflectory/releases/download/v$(VERSION)
RELEASE_KEY ?=
# The public key that verify-release of this program checks releases with, from a PEM file; none yet.
RELEASE_PUBLIC ?= $(if $(wildcard deploy/release/key.pem),$(shell sed '/^-/d' deploy/release/key.pem))
# Where a release is put together, with a folder for each architecture.
STAGES := bin/stage
STAGE = $(STAGES)/$(ARCH)
# Another architecture needs its C compiler and Lua (.ci/deps installs or names them), and a program
# of this one to pin its plugins, whose own ones these would replace.
CROSS = $(filter-out $(shell go env GOARCH),$(ARCH))
CC_arm64 := CC=aarch64-linux-gnu-gcc
DIST_GO = GOOS=linux GOARCH=$(ARCH) GOFLAGS=-trimpath $(if $(CROSS),CGO_ENABLED=1 $(CC_$(ARCH)))
DIST_PROGRAM = $(if $(CROSS),bin/reflectory,$(STAGE)/reflectory)
# A static program holds no path of this machine and needs none of its files.
LINK_schema-eval :=
LINK_checks-eval :=
LINK_command-eval :=
LINK_mcp-eval :=
LINK_llm-eval :=
LINK_lua-eval := -linkmode external -extldflags "-static -lm -ldl"

## dist: a release in bin/dist: archives, .deb, image, .mcpb, installers, checksums (RELEASE_KEY=KEY.pem signs them), the same bytes each time
.PHONY: dist
dist: deps
	@rm -rf bin/dist $(STAGES)
	@$(foreach a,$(ARCH),$(MAKE) --no-print-directory stage ARCH=$(a) &&) true
	@go run ./.ci/dist -stage $(STAGES) -out bin/dist -version "$(VERSION)" -time $(SOURCE_DATE_EPOCH) -arch "$(ARCH)" -url "$(RELEASE_URL)" \
		-modules "$$(go env GOMODCACHE)" -certificates /etc/ssl/certs/ca-certificates.crt $(if $(RELEASE_KEY),-key "$(RELEASE_KEY)" -public "$(RELEASE_PUBLIC)")
	@rm -rf $(STAGES)
	@cat bin/dist/SHA256SUMS

# What the archive for one architecture holds.
.PHONY: stage
stage: $(if $(CROSS),build)
	@$(if $(CROSS),.ci/deps $(ARCH),true)
	@mkdir -p $(STAGE)/completions
	$(DIST_GO) CGO_ENABLED=0 go build -tags "$(TAGS)" -ldflags "-s -w -X github.com/reflectory/reflectory/cmd/host/internal/cli.version=$(VERSION) -X github.com/reflectory/reflectory/cmd/host/internal/cli.releaseKey=$(RELEASE_PUBLIC)" -o $(STAGE)/reflectory ./cmd/host
	@$(foreach p,$(PLUGINS),$(call dist_plugin,$(p)) &&) true
	@$(DIST_PROGRAM) completion bash >$(STAGE)/completions/reflectory.bash
	@$(DIST_PROGRAM) completion zsh >$(STAGE)/completions/_reflectory
	@$(DIST_PROGRAM) completion fish >$(STAGE)/completions/reflectory.fish
	@.ci/man $(DIST_PROGRAM) $(STAGE)/man
	@cp LICENSE README.md SECURITY.md deploy/release/reflectory.service deploy/release/reflectory.sysusers deploy/release/reflectory.yaml $(STAGE)/
	@cp "$$(go env GOROOT)/LICENSE" $(STAGE)/LICENSE.go
	@$(if $(filter lua-eval,$(PLUGINS)),cp /usr/share/doc/liblua5.4-dev/copyright $(STAGE)/LICENSE.lua && cp /usr/share/doc/libc6-dev/copyright $(STAGE)/LICENSE.libc,true)

## test-dist: what make dist made in an empty root, one with busybox and a small Debian, as root and as another user, offline (needs root)
.PHONY: test-dist
test-dist: dist
	@.ci/empty-root bin/dist "$(VERSION)" "$(filter $(shell go env GOARCH),$(ARCH))"

define dist_plugin
mkdir -p $(STAGE)/plugins/reflectory/$(1) && cp plugins/$(1)/plugin.yaml $(STAGE)/plugins/reflectory/$(1)/ && \
echo "go build (static) ./plugins/$(1)" && \
$(DIST_GO) $(CGO_$(1)) go build -tags "$(TAGS) netgo osusergo" -ldflags '-s -w $(LINK_$(1))' -o $(STAGE)/plugins/reflectory/$(1)/$(1) ./plugins/$(1) && \
$(DIST_PROGRAM) plugin add --in-place $(if $(CROSS),--replace) --lock $(STAGE)/plugins/reflectory.lock $(GRANT_$(1)) $(STAGE)/plugins/reflectory/$(1)
endef

## deps: install what the build needs of the system, or say how
.PHONY: deps
deps:
	@$(if $(findstring lua-eval,$(PLUGINS)),.ci/deps,true)

## quick: the tests for the inner loop: without the race detector and without those that take long, and only of what changed
.PHONY: quick
quick: export GOGC := 400
quick: deps
	go test -short -ldflags=-w -p $$((2 * $$(getconf _NPROCESSORS_ONLN))) -tags "$(TAGS)" $(ALL) ./.ci/dist

# After how long the tests of one package count as stuck; go test then shows where.
TEST_TIMEOUT ?= 4h

## test: vet, lint and test everything (concurrent code with the race detector)
# The target vet has vetted all of it, and without DWARF the programs link twice as fast.
# With the race detector a sixth of the time would be the garbage collector's, and of what vets
# and lints nearly as much. Several packages' tests build a program without the detector at the
# same time: go build has then compiled once what these programs share. One package more than there
# are processors is tested at a time, since tests wait for processes and disks.
.PHONY: test
test: export GORACE := atexit_sleep_ms=0
test: export GOGC := 400
test: deps vet lint
	@.ci/python
	@.ci/postgres --say
	go build -tags "$(TAGS)" ./cmd/host/internal/cli ./plugins/...
	go test $(RACE) -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -vet=off -ldflags=-w -timeout $(TEST_TIMEOUT) -tags "$(TAGS)" $(ALL) ./.ci/dist
	go test -vet=all ./plugins/lua-eval/...

## test-surfaces: the built program from outside, with kills, a full disk and load (LOAD_TIME=10m before a release), its pages in a browser, and by promtool and the suites of MCP
.PHONY: test-surfaces
test-surfaces: build
	@.ci/surfaces
	@TAGS="$(TAGS)" .ci/promtool
	@.ci/mcp-conformance
	REFLECTORY_PROGRAM="$(CURDIR)/bin/reflectory" REFLECTORY_LOAD_TIME="$(LOAD_TIME)" go test -count=1 -timeout 2h -v ./testdata/surfaces/...
	go test -count=1 -timeout 30m -tags "$(TAGS) surfaces bench" -run '^(TestBrowser|TestFiguresOfTheNextAttempt)' -v ./cmd/host/internal/web

## test-judges: programs that others wrote as judges, unchanged, and attempts that cheat (installs what it needs)
.PHONY: test-judges
test-judges: build
	@.ci/judges
	REFLECTORY_PROGRAM="$(CURDIR)/bin/reflectory" REFLECTORY_JUDGES="$(CURDIR)/.tools/judges" go test -count=1 -timeout 1h -v ./testdata/judges

## test-clients: the clients in sdk/typescript and sdk/python with the built program and the packages of npm that they serve, and npm's and Go's clients of MCP
.PHONY: test-clients
test-clients: build
	@.ci/test-clients

## test-gateway: npm's frameworks for agents through the gateway, in front of a scripted upstream; what works is the table in docs/agents.md (UPDATE=-update writes it)
.PHONY: test-gateway
test-gateway: deps
	@TAGS="$(TAGS)" .ci/test-gateway $(UPDATE)

## test-generators: the API's document by two linters and three generators, whose clients make a round trip to the built program
.PHONY: test-generators
test-generators: build
	@.ci/test-generators

## newcomer: the commands of README, tutorials, your-agent.md, agents.md and operations.md as somebody types them in the first hour, and the mistakes made there; what is met before the first value is counted
.PHONY: newcomer
newcomer: deps
	go test -count=1 -tags "$(TAGS)" -run '^(TestNewcomer|TestMistakes)_' -v ./cmd/host/internal/cli

## test-hostile: a tenant that attacks the built program next to one whose requests must stay fast (HOSTILE_TIME=10m; HOSTILE_CASE="a Lua loop" for one attack)
.PHONY: test-hostile
test-hostile: build
	REFLECTORY_PROGRAM="$(CURDIR)/bin/reflectory" REFLECTORY_HOSTILE_TIME="$(HOSTILE_TIME)" REFLECTORY_HOSTILE_CASE="$(HOSTILE_CASE)" go test -count=1 -timeout 1h -run '^TestHostile' -v ./testdata/surfaces

## screenshots: write pictures of the web pages to docs/img
.PHONY: screenshots
screenshots: build
	@.ci/surfaces
	REFLECTORY_SCREENSHOTS="$(CURDIR)/docs/img" go test -count=1 -timeout 10m -tags "$(TAGS) surfaces" -run '^TestScreenshots' ./cmd/host/internal/web

# Vet and lint compile what they check. They do it with the flags of the tests, so that the
# tests need not compile it again.
## vet: vet all code, and check the types of what other systems and no cgo make of it
.PHONY: vet
vet: deps
	go vet $(RACE) -tags "$(TAGS) bench quality clients functions" $(CHECKED)
	go run ./.ci/typecheck
	@unformatted=$$(gofmt -l .ci cmd core examples plugins policy sdk testdata); \
		if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w): $$unformatted"; exit 1; fi

## lint: all linters of .golangci.yml (the first run builds them, for minutes)
.PHONY: lint
lint: deps
	@GOBIN=$(TOOLS) go install $(GOLANGCI_LINT)
	@echo golangci-lint run
	@GOFLAGS="$(RACE)" $(TOOLS)/golangci-lint run --timeout 30m --build-tags "$(TAGS)" $(CHECKED)

## stress: the heavy figures of the tests: 200 kills, 10,000 operations, 1,000 equal runs, 1,000,000 memories
.PHONY: stress
stress: deps
	REFLECTORY_STRESS=1 go test -count=1 -timeout 60m -tags "$(TAGS)" ./cmd/host/... ./core/...
	REFLECTORY_STRESS=1 go test -count=1 -timeout 120m -tags "$(TAGS) bench" -run '^TestFigures$$' -v ./core/memory

## scale: several hosts on PostgreSQL: histories, crashes and cut connections at length, and its figures (SESSION_STRESS=1 for 64 callers of one session)
.PHONY: scale
scale: deps
	@.ci/postgres
	REFLECTORY_STRESS=1 go test -count=1 -timeout 60m -tags "$(TAGS)" -v ./core/store/postgres/... | grep -vE '^=== '
	REFLECTORY_TEST_DATABASE=1 go test -count=1 -timeout 60m -tags "$(TAGS)" ./core/run ./core/memory ./core/job ./core/inject
	REFLECTORY_TEST_DATABASE=1 REFLECTORY_STRESS=$(SESSION_STRESS) go test -count=1 -timeout 60m -tags "$(TAGS)" -run '^TestSession_Parallel' ./core/host/operation
	REFLECTORY_STRESS=1 go test -count=1 -timeout 30m -tags "$(TAGS)" -run 'Shared' -v ./core/host | grep -vE '^=== '
	REFLECTORY_STRESS=1 go test -count=1 -timeout 60m -tags "$(TAGS)" -run '^TestHosts_' -v ./cmd/host/internal/cli | grep -vE '^=== '
	go test -count=1 -timeout 30m -tags "$(TAGS) bench" -run '^TestFigures' -v ./core/store/postgres | grep -E '^(figure|ok|FAIL|---)'

## fuzz: run every fuzz target for FUZZTIME
.PHONY: fuzz
fuzz: deps
	@grep -rlE '^func Fuzz' --include='*_test.go' cmd core plugins policy sdk | xargs -n1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6- | sort -u); do \
			echo "== $$dir $$target"; \
			go test -tags "$(TAGS)" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$dir; \
		done; \
	done

## bench: the project's own figures, as a table with targets
.PHONY: bench
bench: deps
	@mkdir -p bin
	@.ci/benchmarks --machine >bin/bench.txt
	go test -count=1 -p 1 -timeout 30m -tags "$(TAGS) bench" -run '^TestFigures' -v ./core/... ./policy/... ./plugins/... ./cmd/host/... | tee -a bin/bench.txt | grep -E '^(FAIL|---? FAIL|panic)' || true
	@echo; (echo 'figure | what | value | target | | measured'; grep '^figure' bin/bench.txt) | awk -F' [|] ' '{printf "%-48s %-16s %-18s %-7s %s\n", $$2, $$3, $$4, $$5, $$6}'
	@! grep -qE '^FAIL' bin/bench.txt

## profile: where the time of a benchmark or figure goes (NAME=BenchmarkGetMemory/api, or NAME=TestFigures/get with PKG=./cmd/host/internal/httpapi)
.PHONY: profile
profile: deps
	@mkdir -p bin/profile
	@test -n "$(NAME)" || { echo "name a benchmark: make profile NAME=BenchmarkGetMemory/api"; exit 2; }
	@pkg="$(PKG)"; if [ -z "$$pkg" ]; then file=$$(grep -rlE "^func $(firstword $(subst /, ,$(NAME)))\(" --include='*_test.go' core policy plugins cmd | head -1); \
		test -n "$$file" || { echo "no test file has $(NAME)"; exit 2; }; pkg=./$$(dirname $$file); fi; \
	go test -count=1 -timeout 30m -tags "$(TAGS) bench" $(if $(filter Benchmark%,$(NAME)),-run '^$$' -bench '$(NAME)$$' -benchmem,-run '$(NAME)$$' -v) -o bin/profile/test \
		-cpuprofile bin/profile/cpu -memprofile bin/profile/allocations -memprofilerate 4096 -blockprofile bin/profile/blocked $$pkg
	@for what in cpu:cpu allocations:alloc_objects blocked:delay; do echo; echo "$${what%%:*} (go tool pprof -http=: bin/profile/test bin/profile/$${what%%:*})"; \
		go tool pprof -top -cum -nodecount=40 -sample_index=$${what##*:} bin/profile/test bin/profile/$${what%%:*} 2>/dev/null; done

## functions: how many functions of the project a request passes, by the counters of a build with coverage
.PHONY: functions
functions: deps
	go test -count=1 -tags "$(TAGS) functions" -covermode=atomic -coverpkg=./core/...,./cmd/...,./policy/...,./sdk/... -run '^TestFunctions$$' -v ./cmd/host/internal/httpapi ./cmd/host/internal/mcpserver | grep -E 'functions|FAIL|ok'

## lives: whole simulated lives of agents with recall and feedback, next to simpler ways to remember (SEEDS=10 lives of each kind, from seed FIRST=0 on)
.PHONY: lives
lives: deps
	@mkdir -p bin
	REFLECTORY_LIVES_SEEDS="$(SEEDS)" REFLECTORY_LIVES_FIRST="$(FIRST)" go test -count=1 -timeout 60m -tags "$(TAGS)" -v ./core/memory/lives > bin/lives.txt || true
	@echo; (echo 'lives | what | measured | to reach | the others'; grep -o 'lives | .*' bin/lives.txt) | cut -d' ' -f3- | awk -F' [|] ' '{printf "%-92s %-22s %-16s %s %s\n", $$1, $$2, $$3, $$4, $$5}'
	@! grep -E '^(FAIL|panic)' bin/lives.txt

## recall-quality: how much recall finds, and when it says that nothing is relevant, against BM25, with DATA=…/locomo10.json of LoCoMo; REALTALK=, XQUAD= and CRANFIELD= name folders of further sets
.PHONY: recall-quality
recall-quality:
	@test -n "$(DATA)" || { echo "name the data: make recall-quality DATA=…/locomo10.json (github.com/snap-research/LoCoMo, data/locomo10.json)"; exit 1; }
	$(call named,LOCOMO,$(DATA)) $(call named,REALTALK,$(REALTALK)) $(call named,XQUAD,$(XQUAD)) $(call named,CRANFIELD,$(CRANFIELD)) go test -count=1 -tags quality -run '^(TestRecallQuality|TestAbstention)$$' -v ./core/memory/search

## gateway-lives: agents of 20 tasks that reach their model through the gateway and name nothing, next to ones that do, with poison; and 10,000 turns of 5 tenants
.PHONY: gateway-lives
gateway-lives:
	go test -count=1 -timeout 60m -tags "$(TAGS) quality" -run '^TestLives$$' -v ./core/host/gateway

# A variable of the quality tests that names a set, if it is given.
named = $(if $(2),REFLECTORY_$(1)="$(abspath $(2))")

## calibrate: fit how probably a recalled memory is relevant again, with XQUAD=… a clone of github.com/google-deepmind/xquad
.PHONY: calibrate
calibrate:
	@test -n "$(XQUAD)" || { echo "name the data: make calibrate XQUAD=… (a clone of github.com/google-deepmind/xquad)"; exit 1; }
	$(call named,XQUAD,$(XQUAD)) go test -count=1 -tags quality -run '^TestCalibration$$' ./core/memory/search -args -update

## uses-quality: which uses a reply shows, with DATA=… a clone of github.com/alexa/alexa-with-dstc9-track1-dataset
.PHONY: uses-quality
uses-quality:
	@test -n "$(DATA)" || { echo "name the data: make uses-quality DATA=… (a clone of github.com/alexa/alexa-with-dstc9-track1-dataset)"; exit 1; }
	REFLECTORY_DSTC9="$(abspath $(DATA))" go test -count=1 -tags quality -run '^TestUsesQuality$$' -v ./core/memory/text

## guard-quality: what the guard of merges lets through of mutated sentences, with DATA=…/locomo10.json of LoCoMo
.PHONY: guard-quality
guard-quality:
	@test -n "$(DATA)" || { echo "name the data: make guard-quality DATA=…/locomo10.json (github.com/snap-research/LoCoMo, data/locomo10.json)"; exit 1; }
	REFLECTORY_LOCOMO="$(abspath $(DATA))" go test -count=1 -tags "$(TAGS) quality" -run '^TestGuardQuality$$' -v ./core/dream

## bench-peers: the same loop and the same decision on other engines
.PHONY: bench-peers
bench-peers:
	@mkdir -p bin && .ci/benchmarks --machine >bin/peers.txt
	cd testdata/peers && GOWORK=off go test -count=1 -timeout 30m -run '^Test(Peers|PolicyPeers)' -v . | tee -a ../../bin/peers.txt

## benchmarks: put what make bench and make bench-peers measured into BENCHMARKS.md
.PHONY: benchmarks
benchmarks:
	@test ! -e bin/bench.txt || .ci/benchmarks 'make bench' bin/bench.txt
	@test ! -e bin/peers.txt || .ci/benchmarks 'make bench-peers' bin/peers.txt

## generate: make the generated code again
.PHONY: generate
generate:
	@command -v protoc >/dev/null && command -v clang >/dev/null && command -v wasm-ld >/dev/null || \
		.ci/install "The wire format is made with protoc, a guest of the tests with clang." protobuf-compiler clang lld
	GOBIN=$(TOOLS) go install $(PROTOC_GEN_GO)
	GOBIN=$(TOOLS) go install $(PROTOC_GEN_GO_GRPC)
	PATH="$(TOOLS):$$PATH" go generate $(ALL)

## guests: build the WASM modules that tests run again (needs clang, lld and npm)
.PHONY: guests
guests:
	cmd/host/internal/scaffold/testdata/generate.sh

## check: what a release needs, and CI leaves out: generated code current, modules tidy, all tests, and that the peers' rules still decide the same
.PHONY: check
check: generate
	.ci/tidy
	@git diff --exit-code || { echo "generate or tidy changed files: commit them"; exit 1; }
	cd testdata/peers && export GOWORK=off && go vet ./... && go test -count=1 -run 'Agree$$' .
	$(MAKE) test functions test-surfaces test-clients test-gateway test-generators scale

## clean: remove what was built
.PHONY: clean
clean:
	rm -rf bin .tools

## help: list the targets
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{printf "  %-14s %s\n", $$1, $$2}'
