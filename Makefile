# make run      a broker on 127.0.0.1:9092, and a page that shows it on 127.0.0.1:8092
#
# make quick    after each change: lint, the fixed core of the tests and those of what changed
# make test     before each commit: lint, types, units, every dialogue, each Python client once
# make rest     what make test leaves out, as CI runs it: other clients, browsers, real Kafkas, Spark, chance
# make all      make test, then make rest
# make long     at length what other tests show once
#
# make lint, types, tests, clients, page      one part; ARGS='-k heartbeat' goes to pytest
# make portable   the tests that run on Windows, too     make workflows   the workflows of GitHub Actions, checked
# make random   every property test with new examples     make fuzz    millions of mutated frames and random bytes
# make model    ten minutes of model testing              make soak    clients that come and go for MINUTES=10
# make bench    speed, written to docs/reference/benchmarks.md      make bench-spark   the speed of the data pipeline
# make instructions   instructions per request under callgrind, compared with bench/instructions.json
# make spark    the data pipeline from end to end, on data that the broker makes
# make scoreboard   other brokers judged by the recordings, written to docs/reference/scoreboard.md
# make client-table   what client libraries do on fakebroker and on Kafka, written to docs/reference/clients.md
# make differential   random histories on Kafka and fakebroker at once; ARGS='--steps 5000 --chapter log'
# make docs     the generated pages                       make screenshots   the pictures of the page
# make public-names   the list of public names, without removals
# make dist     wheels and sdists in dist/, checked      make try-dist   each extra of them in a clean environment of each Python
# make try-lowest   the tests of make test with the lowest versions of dependencies that pyproject.toml allows
# make release-check TAG=v1.2.3   whether everything that names the version names this one
# make site     the documentation as a site in build/site; open build/site/index.html
# make setup-java, setup-node, setup-go, setup-rust, setup-spark-kafka   clients of other languages, for their tests
# make setup-image   a base for the container image, which tests then build and run with docker or podman
#
# fuzz, model and random print the seed of their run: make random FAKEBROKER_SEED=123 repeats it.

.DEFAULT_GOAL := help
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
ARGS ?=
CONTROL ?= 8092
ifndef FAKEBROKER_SEED
FAKEBROKER_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
AGAIN = the same again: make $@ FAKEBROKER_SEED=$(FAKEBROKER_SEED)
fuzz model random: export FAKEBROKER_SEED := $(FAKEBROKER_SEED)

# A worker of pytest for each core, eight at most.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$n -gt 8 ] && n=8; echo $$n)
random: export WORKERS := $(WORKERS)
# Which tests are whose. Whatever `make test` leaves out is in `rest`, `alone`, `rest-spark-tests` or `long`.
LEFT := slow or long or clients or java or go or node or rust or page or real_kafka or spark
TEST := not ($(LEFT)) or (essential and not (real_kafka or long))
REST := not ($(TEST)) and not long and not spark
# What needs no sockets, signals or file locks, and so runs on Windows, too.
PORTABLE := tests/protocol tests/broker tests/client tests/serve/sim tests/conformance/test_sim.py \
	--ignore tests/broker/engine/test_fuzz_limits.py
# Their modules import what `make test` does not set up. For those of Spark see tests/analysis/pipeline/conftest.py.
APART := --ignore tests/page --ignore tests/cli/http/test_random_requests.py

.PHONY: help run quick test rest all lint types collect tests quick-tests rest-tests rest-page alone rest-spark-tests clients long \
	bench instructions bench-spark spark soak fuzz model random docs site page screenshots scoreboard client-table differential dist try-dist try-lowest \
	portable workflows release-check public-names \
	set-up-test set-up-spark set-up-rest setup-java setup-spark-kafka setup-node setup-go setup-rust setup-image clean

help:
	@sed -n '/^[^#]/q; s/^# \{0,1\}//p' Makefile

# What is set up where: each target needs what stands behind its colon.
.venv/.lint .venv/.core: pyproject.toml scripts/set-up
	@scripts/set-up $(@:.venv/.%=%)

.venv/.test .venv/.spark .venv/.stores .venv/.http .venv/.page .venv/.site .venv/.dist .venv/.workflows: pyproject.toml scripts/set-up scripts/requirements | .venv/.core
	@scripts/set-up $(@:.venv/.%=%)

set-up-test: .venv/.test

set-up-spark: .venv/.spark

set-up-rest: .venv/.test .venv/.spark .venv/.stores .venv/.http .venv/.page .venv/.workflows

run: .venv/.core
	@$(BIN)/fakebroker serve --control $(CONTROL) $(ARGS)

quick: .venv/.lint .venv/.test
	@$(BIN)/python -m tools.stages quick

# Only what the first stage needs: it runs while the others are set up.
test: .venv/.lint
	@$(BIN)/python -m tools.stages test

rest: .venv/.lint
	@$(BIN)/python -m tools.stages rest

all: test
	@$(MAKE) --no-print-directory rest

lint: .venv/.lint
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . || { echo 'lint: run "$(BIN)/ruff check --fix . && $(BIN)/ruff format ."'; exit 1; }

# The workflows of GitHub Actions: their syntax by actionlint, if Go is there, and their rights by zizmor.
workflows: .venv/.workflows
	@if scripts/set-up-actionlint; then .go/bin/actionlint; else echo 'ACTIONLINT IS NOT RUN: no Go that builds it'; fi
	@$(BIN)/zizmor --offline --quiet .github

types: .venv/.test
	@$(BIN)/mypy

# Rewrites the assertions of every module once; the workers of `tests` would do it side by side, each for itself.
collect: .venv/.test
	@$(BIN)/pytest -qq --collect-only -m "$(TEST)" $(APART)

tests: .venv/.test
	@$(BIN)/pytest -q -n $$(( $(WORKERS) + 1 )) --dist worksteal -m "$(TEST)" $(APART) $(ARGS)

portable: .venv/.test
	@$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "$(TEST)" $(PORTABLE) $(ARGS)

quick-tests: .venv/.test
	@$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "$(TEST)" $(APART) $$($(BIN)/python -m tools.quick_tests) $(ARGS)

rest-tests: set-up-rest
	@WORKERS=$(WORKERS) scripts/rest-tests "$(REST) and not alone and not page" $(ARGS)

# In processes of their own: Playwright keeps an event loop running, beside which no other can run.
rest-page: set-up-rest
	@WORKERS=1 scripts/rest-tests page tests/page $(ARGS)

# Those of tests/alone.txt; status 5: there are none.
alone: set-up-rest
	@$(BIN)/pytest -q --timeout 600 -m "alone" $(ARGS) || [ $$? = 5 ]

# In one process: they share a Spark session, which uses both cores.
rest-spark-tests: set-up-rest
	@$(BIN)/pytest -q --timeout 600 -m "spark and not long" $(ARGS)

# What other tests show once, at length: other histories, clients while brokers die.
long: set-up-rest
	@$(BIN)/pytest -q -n $$(( $(WORKERS) + 1 )) --dist worksteal --timeout 600 -m "long" $(ARGS)

clients: .venv/.test
	@$(BIN)/pytest -q -m clients tests/clients $(ARGS)

fuzz: .venv/.test
	@echo '$(AGAIN)'
	@FAKEBROKER_FUZZ=1 $(BIN)/pytest -q -n $(WORKERS) --timeout 0 -o faulthandler_timeout=7200 --hypothesis-seed=$(FAKEBROKER_SEED) \
		tests/protocol/schema tests/protocol/wire tests/protocol/records tests/broker/engine $(ARGS) || { echo 'fuzz failed; $(AGAIN)'; exit 1; }

model: .venv/.test
	@echo '$(AGAIN)'
	@FAKEBROKER_MODEL_MINUTES=$${FAKEBROKER_MODEL_MINUTES:-10} $(BIN)/pytest -q -s --timeout 0 \
		-o faulthandler_timeout=$$(( $${FAKEBROKER_MODEL_MINUTES:-10} * 60 + 700 )) tests/model $(ARGS) || { echo 'model failed; $(AGAIN)'; exit 1; }

# Every property test with new examples, 100,000 new frames, a minute of the groups' model and of the life's. A find that
# comes again with its seed fails; one that does not is only told.
random: .venv/.test .venv/.spark
	@scripts/random $(FAKEBROKER_SEED) $(ARGS)

bench: .venv/.test
	@$(BIN)/python -m bench $(ARGS)

instructions: .venv/.test
	@$(BIN)/python -m bench.instructions $(ARGS)

spark: .venv/.test .venv/.spark
	@$(BIN)/python -m tools.spark_loop $(ARGS)

bench-spark: .venv/.test .venv/.spark
	@$(BIN)/python -m bench.spark $(ARGS)

soak: .venv/.test
	@$(BIN)/python -m bench.soak --minutes $${MINUTES:-10}

docs: .venv/.test .venv/.spark
	@$(BIN)/python -m tools.generate_docs
	@$(BIN)/python -m tools.public_names

# New names are added to docs/reference/public-names.txt; removals are refused, unless ARGS=--accept-removals.
public-names: .venv/.test
	@$(BIN)/python -m tools.public_names $(ARGS)

# Warnings are errors: a link that leads nowhere, a page that no index names.
site: .venv/.site
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --jobs auto \
		--conf-dir tools/site --doctree-dir build/doctrees docs build/site $(ARGS)
	@echo 'site: open build/site/index.html'

dist: .venv/.dist
	@$(BIN)/python -m tools.distribution build

# Each extra alone in a clean environment of each Python that there is; PYTHONS='python3.12' for some.
try-dist: dist
	@$(BIN)/python -m tools.distribution try $(PYTHONS) $(ARGS)

# The tests of `make test` with the lowest versions that pyproject.toml allows, on the oldest Python.
try-lowest: .venv/.core
	@$(BIN)/python -m tools.distribution lowest
	@$(MAKE) --no-print-directory tests BIN=build/lowest/venv/bin

# Before a tag is pushed, and in its workflow: everything that names the version names that of TAG=v1.2.3.
release-check: .venv/.core
	@$(BIN)/python -m tools.distribution check-tag "$(TAG)"

page: .venv/.test .venv/.page
	@$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m page tests/page $(ARGS)

# Brokers judged by the recordings, written to docs/reference/scoreboard.md: some 15 minutes.
scoreboard: .venv/.test
	@scripts/set-up-java || true
	@$(BIN)/python -m tools.scoreboard $(ARGS)

# The clients of every language on both brokers. What failed on a busy machine is run again, alone.
CLIENT_TABLE := $(BIN)/python -m pytest -q -p tests.support.client_table --client-table tools/scoreboard/results/clients.json \
	-m behaviour tests/clients
client-table: .venv/.test
	@for each in java node go rust; do scripts/set-up-$$each || true; done
	@$(CLIENT_TABLE) $(ARGS) || $(CLIENT_TABLE) --client-table-again --last-failed --last-failed-no-failures none; \
		status=$$?; $(BIN)/python -m tools.scoreboard.client_page; [ $$status = 5 ] || exit $$status

# Kafka 4.3.1 and fakebroker asked the same at random. A difference fails, and is written as a dialogue.
differential: .venv/.test
	@scripts/set-up-java
	@$(BIN)/python -m tools.differential $(ARGS)

screenshots: .venv/.test .venv/.page
	@$(BIN)/python -m tools.screenshots

setup-java:
	@scripts/set-up-java

setup-spark-kafka:
	@scripts/set-up-spark-kafka

setup-node:
	@scripts/set-up-node

setup-go:
	@scripts/set-up-go

setup-rust:
	@scripts/set-up-rust

setup-image:
	@scripts/set-up-image $(ARGS)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
