PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS_STAMP := benchmarks/tools/node_modules/.installed
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
BROWSER_STAMP := tests/page/node_modules/.installed
NODE_STAMP := servers/node/node_modules/.installed
RESULT := results/local/bill-$(shell date +%Y%m%d-%H%M%S).json.gz
SUITES := bill transports eras clients servers
AMOUNT :=
PROOFS := ground_truth pipe_floor client_overhead harness_cost charts_at_scale coverage agreement false_alarms \
	power drift http_floor other_clients conformance
OTHER_TRANSPORTS := http http-sse sse rest
# What notebooks/05-is-it-real.ipynb shows; QUICK=--quick for fewer sessions.
EVIDENCE := ground_truth pipe_floor coverage false_alarms power drift
QUICK :=
# The figures of notebooks that the README shows.
FIGURES := 01-the-bill-1 01-the-bill-2 02-transports-1 02-transports-4 05-is-it-real-3
MEASURE := PATH="$(CURDIR)/$(BIN):$$PATH" mcp-latency run --seed 1 -q --force

.PHONY: bench test check format prove proofs conformance record pages pictures node browser tools clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

bench: $(STAMP)
	-$(MAKE) node
	mkdir -p $(dir $(RESULT))
	$(BIN)/mcp-latency run bill -o $(RESULT)
	$(BIN)/mcp-latency plot $(RESULT)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The Node servers and the browser are optional: their tests are skipped where they cannot be had.
test: check
	-$(MAKE) node
	-$(MAKE) browser
	$(BIN)/python -m pytest

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every proof in full: prints figures and bounds, and fails where a bound is not met. http_floor
# needs `make tools` first.
prove: $(STAMP)
	for proof in $(PROOFS); do $(BIN)/python benchmarks/$$proof.py || failed=1; done; \
	for transport in $(OTHER_TRANSPORTS); do \
		$(BIN)/python benchmarks/ground_truth.py --transport $$transport || failed=1; \
	done; exit $${failed:-0}

# The proofs that a notebook shows, kept as data in results/proofs.json.
proofs: $(STAMP)
	for proof in $(EVIDENCE) 'ground_truth --transport http'; do set -- $$proof; program=$$1; shift; \
		$(BIN)/python benchmarks/$$program.py "$$@" $(QUICK) --json results/proofs.json || failed=1; \
	done; exit $${failed:-0}

# The official MCP conformance suite against client and server; fetches the suite from npm once.
conformance: $(STAMP)
	$(BIN)/python benchmarks/conformance.py

# Measure the recorded runs anew, with their charts and the tables that stand in the README.
record: $(STAMP) node
	for suite in $(SUITES); do \
	  $(BIN)/mcp-latency run $$suite --seed 1 $(AMOUNT) -o results/$$suite.json.gz --force && \
	  $(BIN)/mcp-latency plot results/$$suite.json.gz -o results/charts/$$suite || exit 1; \
	done
	$(MEASURE) --ab 'mcp-latency serve sdk' 'mcp-latency serve sdk-sync' --names async-tools,sync-tools \
	  --tool get_ticket --arguments '{"id": 1}' --sessions 40 -o results/ab.json.gz
	$(MEASURE) --aa --command 'mcp-latency serve sdk' --name sdk \
	  --tool get_ticket --arguments '{"id": 1}' --sessions 20 -o results/aa.json.gz
	$(MEASURE) --command 'mcp-latency serve sdk' --name your-server --no-marks \
	  --tool search_tickets --arguments '{"query": "refund"}' -o results/your-server.json.gz
	$(MAKE) proofs
	$(MAKE) pages

# The pages and notebooks that show recorded results, and the figures of these that the README shows.
pages: $(STAMP)
	$(BIN)/python -m tests.readme_tables
	$(BIN)/python -m tests.keep_notebooks
	$(BIN)/mcp-latency publish all -o build/published
	cp $(FIGURES:%=build/published/%.svg) results/figures/

# The small pictures that charts are compared with in the tests; look at them before committing.
pictures: $(STAMP)
	$(BIN)/python -m tests.charts.make_reference

# The servers on the TypeScript SDKs; their tests are skipped without it.
node: $(NODE_STAMP)

$(NODE_STAMP): servers/node/package.json servers/node/package-lock.json servers/node/.npmrc
	npm ci --prefix servers/node --no-audit --no-fund
	touch $(NODE_STAMP)

# What opens the page of a result in the tests: Chromium from Debian, axe-core from npm. Asks for no
# password: where you are not root and sudo wants one, install chromium and chromium-driver by hand.
browser:
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		$(SUDO:sudo=sudo -n) apt-get update && \
		$(SUDO:sudo=sudo -n) apt-get install --yes --no-install-recommends chromium chromium-driver; }
	$(MAKE) $(BROWSER_STAMP)

$(BROWSER_STAMP): tests/page/package.json tests/page/package-lock.json tests/page/.npmrc
	npm ci --prefix tests/page --no-audit --no-fund
	touch $(BROWSER_STAMP)

# The load generators of benchmarks/http_floor.py: wrk and hey from Debian, autocannon from npm
# (needs Node 20 or newer and npm). Uses sudo where you are not root.
tools: $(TOOLS_STAMP)

$(TOOLS_STAMP): benchmarks/tools/package.json benchmarks/tools/package-lock.json benchmarks/tools/.npmrc
	$(SUDO) apt-get update
	$(SUDO) apt-get install --yes wrk hey
	npm ci --prefix benchmarks/tools --no-audit --no-fund
	touch $(TOOLS_STAMP)

clean:
	rm -rf $(VENV) servers/node/node_modules tests/page/node_modules benchmarks/tools/node_modules build *.egg-info .mypy_cache .ruff_cache .pytest_cache
