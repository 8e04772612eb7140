# The two commands for a fresh machine are `make demo` and `make test`; each does its own set-up.
# Every tool lives in .venv or below .fanout/tools, at the versions that the lock files name.

VENV := .venv
TOOLS := .fanout/tools
PY := $(VENV)/bin/python
UV := $(TOOLS)/uv/bin/uv

# Where it is set, as in an image, each start of a command compiles every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-tests demo check check-code check-rest quick test test-all unit adversary model nfs docs site screenshots audit sbom packages release bench bench-full bench-slow bench-s3 bench-s3-tls toxics cold-start lock clean

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

setup: .fanout/setup.done ## Install everything that the other targets need

.fanout/setup.done: scripts/setup.sh pyproject.toml uv.lock tools/emulator.txt tools/sam.txt
	@scripts/setup.sh
	@touch $@

setup-tests: .fanout/setup-tests.done ## The same and what only the tests need

.fanout/setup-tests.done: scripts/setup.sh pyproject.toml uv.lock tools/emulator.txt tools/sam.txt tools/s3server.txt tools/checks.txt tools/site.txt
	@scripts/setup.sh tests
	@touch .fanout/setup.done $@

demo: setup ## Move a real tree S3 to EFS and back, publish a second version and roll back, on this machine
	@$(VENV)/bin/fanout demo

# Both halves take one processor each.
check: setup-tests ## Lint, types, import contracts, template and state machine, links of the site
	@$(MAKE) -j2 --output-sync=target --no-print-directory check-code check-rest

check-code: setup-tests ## Of check: lint, types, import contracts
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy layers cli functions tests benchmarks scripts
	$(VENV)/bin/lint-imports --no-cache

check-rest: setup-tests ## Of check: templates, workflows, site, state machine
	$(PY) scripts/review_templates.py
	$(TOOLS)/checks/bin/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(TOOLS)/checks/bin/actionlint -shellcheck= -pyflakes= .github/workflows/*.yml
	$(TOOLS)/checks/bin/zizmor -q --offline .github/workflows
	$(BUILD_SITE)
	$(PY) -m pytest -q tests/template tests/statemachine/test_definition.py

# tests/commands.py says what each of the three commands runs. Three workers on two processors: some tests wait.
# `check` has run the first two already.
TESTS = $(PY) -m pytest -n 3 --dist loadscope --ignore tests/template --ignore tests/statemachine/test_definition.py
quick: check-code ## Lint, types, decisions, whole runs in memory, documents of commands: under 3 minutes
	$(PY) -m pytest -q -n 2 --dist loadscope --command quick tests

test: check ## The checks, and tests of every promise: some 20 minutes
	$(TESTS) --command test tests

NFS ?= whole
test-all: check model ## Everything, for hours: all tests, all of NFS, the model, an hour of the adversary
	tests/nfs/lab/prepare || [ "$(NFS)" = offered ]
	FANOUT_LONG=1 FANOUT_NFS=$(NFS) FANOUT_MODEL=required $(TESTS) --command all tests
	@$(MAKE) --no-print-directory adversary SECONDS=3600

unit: setup-tests ## The tests that need no emulator
	$(PY) -m pytest -m 'not e2e'

SECONDS ?= 600
adversary: setup-tests ## New seeds of the adversary for SECONDS: whole runs among faults, lies and other writers
	$(PY) -m tests.adversary --seconds $(SECONDS)

model: setup-tests ## The protocol, explored state by state, its mends taken out, and real runs held against it (cargo)
	@scripts/setup-model.sh
	nice $(PY) -m tests.protocol

nfs: setup-tests ## Tests on a real NFSv4.1 client and server in a guest with a kernel of its own (root; Debian's packages are installed)
	tests/nfs/lab/prepare
	FANOUT_NFS=whole $(PY) -m pytest -v tests/nfs

docs: setup ## Write the generated parts of docs/
	$(PY) scripts/generate_docs.py
	$(PY) scripts/generate_man.py
	$(PY) scripts/generate_state_machines.py
	$(PY) scripts/generate_policies.py
	$(PY) -m scripts.draw_protocol
	$(PY) scripts/licences.py
	$(PY) -m benchmarks.cost_page

# Without the note about Material's successor. With --quiet mkdocs would not count its warnings, and strict would pass.
BUILD_SITE = NO_MKDOCS_2_WARNING=1 $(TOOLS)/site/bin/mkdocs build --strict --clean
site: setup-tests ## The site of docs/ in .fanout/site; a dead link or a page outside the navigation fails
	$(BUILD_SITE)

screenshots: setup-tests ## Render the report of the six kinds of end into docs/screenshots (Chromium)
	$(PY) -m tests.browser.screenshots

audit: setup ## Known weaknesses of the locked dependencies: needs the network, so it is no part of check
	@scripts/audit.sh $(UV)

sbom: setup ## What the layer holds, as sbom.json (CycloneDX)
	$(UV) venv -q --clear $(TOOLS)/sbom
	$(UV) pip sync -q --require-hashes --python $(TOOLS)/sbom/bin/python tools/sbom.txt
	$(TOOLS)/sbom/bin/cyclonedx-py requirements layers/core/requirements.txt --pyproject pyproject.toml -o sbom.json

packages: setup ## Wheel and sdist in package/, built with what tools/build.txt names by its hashes
	$(UV) build --build-constraints tools/build.txt --require-hashes --out-dir package

release: setup ## Code and templates in one bucket, and the console's launch address: make release BUCKET=name
	@$(PY) scripts/package_release.py $(BUCKET)

# Over TLS: the main direction and the way back, in memory and in slow time; rows go beside those of bench-s3.
S3 = $(PY) -m benchmarks.s3_objects --tls --results benchmarks/results/s3_objects.json
S3_TO_EFS = $(S3) --first-byte-ms 15 --rounds 1 --efs modern/8 --tools s5cmd-256 rclone-128
bench: setup ## Ours beside its peers: between mounts on a simulated EFS, from S3 and back, listing; half an hour (root, FUSE, Go)
	@scripts/setup-bench.sh
	@scripts/setup-bench-s3.sh
	$(PY) -m benchmarks.run
	$(S3) --only small --objects 8000 --tools s5cmd-256 rclone-128
	$(S3) --only big --objects 1024 --tools s5cmd-32 rclone-32
	$(S3_TO_EFS) --only small:download --objects 1000
	$(S3_TO_EFS) --only small --objects 4000
	$(S3_TO_EFS) --only small:download --objects 8000
	$(PY) -m benchmarks.s3_again --tools rclone-128
	$(PY) -m benchmarks.beside_fpart

bench-full: setup ## The same with every data set at full size: hours
	@scripts/setup-bench.sh
	$(PY) -m benchmarks.run --full

bench-slow: setup ## The same in a time that passes 8 or 16 times as slowly, where no processor binds: three quarters of an hour
	@scripts/setup-bench.sh
	$(PY) -m benchmarks.run --slow

bench-s3: setup ## Objects to and from S3 beside s5cmd, rclone and aws s3 cp: some 15 minutes (Go, 12 GB of memory)
	@scripts/setup-bench-s3.sh
	$(PY) -m benchmarks.s3_objects --results benchmarks/results/s3_objects.json

bench-s3-tls: setup ## The S3 client over TLS, with and without latency, BESIDE=CHECKOUT beside that one's: under 10 minutes
	@scripts/setup-bench-s3.sh
	$(PY) -m benchmarks.s3_objects --tls --tools none --only small --objects 16000 $(if $(BESIDE),--beside $(BESIDE))
	$(PY) -m benchmarks.s3_objects --tls --tools none --only small --objects 16000 --first-byte-ms 15 $(if $(BESIDE),--beside $(BESIDE))
	[ "$$(id -u)" != 0 ] || $(PY) -m benchmarks.s3_objects --tls --tools none --only small --objects 4000 --first-byte-ms 15 --efs modern/8 $(if $(BESIDE),--beside $(BESIDE))
	$(PY) -m benchmarks.s3_objects --tls --tools none --only big --objects 1024 $(if $(BESIDE),--beside $(BESIDE))

toxics: setup ## Runs of 100,000 objects through toxiproxy over TLS for SECONDS, with toxics that change: an hour (Go, 4 GB)
	@scripts/setup-bench-s3.sh
	@scripts/setup-toxiproxy.sh
	$(PY) -m benchmarks.toxics --seconds $(SECONDS)

cold-start: setup ## Import time and package size of each function
	$(PY) -m benchmarks.cold_start

lock: setup ## Resolve the lock files anew
	$(UV) lock
	$(UV) export -q --frozen --no-dev --no-emit-project --prune boto3 --prune botocore --prune croniter --prune cryptography --prune rich --prune typer --no-header --format requirements-txt -o layers/core/requirements.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/emulator.in -o tools/emulator.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/sam.in -o tools/sam.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/s3server.in -o tools/s3server.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/checks.in -o tools/checks.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/site.in -o tools/site.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/s3peers.in -o tools/s3peers.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/uv.in -o tools/uv.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/sbom.in -o tools/sbom.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" tools/build.in -o tools/build.txt

clean: ## Remove everything that the other targets made
	rm -rf $(VENV) .fanout .aws-sam
