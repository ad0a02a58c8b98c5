# make run     a broker on 127.0.0.1:9092, and a page that shows it, on 127.0.0.1:8092
#                                                  make test    lint, types, layer rules and all tests
# make bench   speed, written to docs/benchmarks.md make fuzz    millions of mutated frames and random bytes
# make model   ten minutes of model testing         make random  three minutes of what depends on chance
# make instructions   instructions per request under callgrind, compared with bench/instructions.json
# make soak    clients that come and go for MINUTES=10
# make spark   the data pipeline from end to end, on data that the broker makes; make bench-spark  its speed
# make docs    the generated pages
# make page    tests of the page in a headless Chromium; make screenshots   the pictures of its documentation
# make setup-java, setup-node, setup-go   the clients of other languages, for their tests; setup-java also two whole Kafkas;
#              setup-spark-kafka   the jars of Spark's own Kafka source
#
# fuzz, model and random print the seed of their run: make random FAKEBROKER_SEED=123 repeats it.

.DEFAULT_GOAL := help
BIN := .venv/bin
ARGS ?=
CONTROL ?= 8092
ifndef FAKEBROKER_SEED
FAKEBROKER_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
AGAIN = the same again: make $@ FAKEBROKER_SEED=$(FAKEBROKER_SEED)
fuzz model random: export FAKEBROKER_SEED := $(FAKEBROKER_SEED)

.PHONY: help run test lint types tests spark-tests clients slow slow-tests slow-spark-tests long bench instructions bench-spark spark soak fuzz model random docs page screenshots setup-java setup-spark-kafka setup-node setup-go clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -13

.venv/.core: pyproject.toml scripts/set-up
	@scripts/set-up core

.venv/.dev: pyproject.toml scripts/set-up
	@scripts/set-up dev

run: .venv/.core
	@$(BIN)/fakebroker serve --control $(CONTROL) $(ARGS)

test: lint types tests spark-tests

lint: .venv/.dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . || { echo 'lint: run "$(BIN)/ruff check --fix . && $(BIN)/ruff format ."'; exit 1; }

types: .venv/.dev
	@$(BIN)/mypy

tests: .venv/.dev
	@$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not spark" $(ARGS)

# In one process: they share a Spark session, which uses both cores.
spark-tests: .venv/.dev
	@$(BIN)/pytest -q -m "spark and not slow" $(ARGS)

slow: slow-tests slow-spark-tests

slow-tests: .venv/.dev
	@$(BIN)/pytest -q -n 3 --dist worksteal --timeout 600 -m "slow and not long and not spark" $(ARGS)

slow-spark-tests: .venv/.dev
	@$(BIN)/pytest -q --timeout 600 -m "slow and not long and spark" $(ARGS)

# What the slow tests show once, at length: other histories, clients while brokers die.
long: .venv/.dev
	@$(BIN)/pytest -q -n 3 --dist worksteal --timeout 600 -m "long" $(ARGS)

clients: .venv/.dev
	@$(BIN)/pytest -q -m clients tests/clients $(ARGS)

fuzz: .venv/.dev
	@echo '$(AGAIN)'
	@FAKEBROKER_FUZZ=1 $(BIN)/pytest -q -n 2 --timeout 0 --hypothesis-seed=$(FAKEBROKER_SEED) \
		tests/schema tests/wire tests/records tests/engine $(ARGS) || { echo 'fuzz failed; $(AGAIN)'; exit 1; }

model: .venv/.dev
	@echo '$(AGAIN)'
	@FAKEBROKER_MODEL_MINUTES=$${FAKEBROKER_MODEL_MINUTES:-10} $(BIN)/pytest -q -s --timeout 0 \
		-o faulthandler_timeout=$$(( $${FAKEBROKER_MODEL_MINUTES:-10} * 60 + 700 )) tests/model $(ARGS) || { echo 'model failed; $(AGAIN)'; exit 1; }

# Every property test with new examples, 100,000 new frames, a minute of the groups' model and of the life's.
random: .venv/.dev
	@echo '$(AGAIN)'
	@FAKEBROKER_MODEL_MINUTES=$${FAKEBROKER_MODEL_MINUTES:-1} $(BIN)/pytest -q -n 2 --dist worksteal --hypothesis-seed=$(FAKEBROKER_SEED) \
		-m "(hypothesis or random) and not slow and not spark" $(ARGS) || { echo 'random failed; $(AGAIN)'; exit 1; }

bench: .venv/.dev
	@$(BIN)/python -m bench $(ARGS)

instructions: .venv/.dev
	@$(BIN)/python -m bench.instructions $(ARGS)

spark: .venv/.dev
	@$(BIN)/python -m tools.spark_loop $(ARGS)

bench-spark: .venv/.dev
	@$(BIN)/python -m bench.spark $(ARGS)

soak: .venv/.dev
	@$(BIN)/python -m bench.soak --minutes $${MINUTES:-10}

docs: .venv/.dev
	@$(BIN)/python -m tools.generate_docs

page: .venv/.dev
	@$(BIN)/pytest -q -n 2 --dist worksteal -m page tests/page $(ARGS)

screenshots: .venv/.dev
	@$(BIN)/python -m tools.screenshots

setup-java:
	@scripts/set-up-java

setup-spark-kafka:
	@scripts/set-up-spark-kafka

setup-node:
	@scripts/set-up-node

setup-go:
	@scripts/set-up-go

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
