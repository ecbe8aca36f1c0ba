# hindmost: the two commands of a newcomer are `make demo` and `make test`.
#
#   make demo              set up what is missing, run the demonstration on 2 ranks
#   make test              set up what is missing, run every check and test
#   make test-slow         more draws and data of what the tests try already, an installation (ten minutes)
#   make papers            every figure and table of the papers, small, held to known values (a minute, 2 ranks)
#   make test-recorder     what depends on the MPI and PETSc of a stack: set-up, the recorder, solves on ranks
#   make test-blas         the tests of ranks and models with other BLAS libraries and processors (half an hour);
#                          BLAS=other: only with the library that this machine does not use by default
#   make test-oldest       the models' tests with the oldest dependencies that pyproject.toml allows
#   make test-slurm        what takes minutes of a private Slurm: time limits, nodes that die, accounts; as root
#                          also two hosts with a slow link between them
#   make test-pbs OPENPBS=FOLDER   studies and states on two nodes with the OpenPBS that is installed in FOLDER, for root
#   make test-programs     record PETSc's examples, and on the system stack LAMMPS and FEniCSx
#   make bench-recorder    measure what recording costs a solve (about 3 min, wants an idle machine)
#   make bench-programs PROGRAMS=FOLDER   loops found in programs of others, next to their own counts; FOLDER has a
#                          file NAME.toml for each (benchmarks/programs.py); with PAIRS=5, what 'hindmost attach'
#                          costs them (wants an idle machine)
#   make bench-attach      measure what 'hindmost attach' costs a program (about 3 min, wants an idle machine)
#   make bench-terms      SIGTERM 10,000 times to the recorder alone and 300 times to ranks: is anything lost (an hour)
#   make bench-always-on   faults of a recorder that is in every job: does the program change (1,000 tries, 10 min)
#   make bench-delays      put delays into a program: are rank, kind and place named, and none where none is (2 min)
#   make bench-bounded     conclusions from all calls and from those that a budget keeps, of 20 programs (5 min)
#   make bench-sampling    samples of a function with more work, drawn and of real runs: is it named, and none where there is none (20 min, idle)
#   make bench-attach-ranks  convert made raw files of up to 10,000 ranks: time and memory (2 min)
#   make bench-live        measure what a watched solve costs (about 10 min, wants an idle machine)
#   make bench-show        time 'hindmost show' on a file of 41 million bodies (1.3 GB of disk)
#   make bench-pages FOLDER=... pictures of fifteen pages of known truth, for a reader who does not know it
#   make bench-report      a report on a file of 41 million bodies: time, memory, size, first paint (1.5 GB of disk)
#   make bench-stochastic  measure what fitting laws to 41 million times takes (about 1 min, 2 GB)
#   make bench-predictions predictions before the run against runs that were then done (about 10 min, wants an idle
#                          machine; QUICK=1: about 2)
#   make bench-simulation  the speed of replays, SimGrid's SMPI on the same solves, and predictions against real
#                          reruns (10 min, idle machine; QUICK=1: 4 min)
#   make bench-scaling     hold scaling models against known truth (some 10 min; EXTRAP=PYTHON adds Extra-P)
#   make bench-changepoints  hold change points against known truth (some min)
#   make ablation          what each mechanism of the models brings, switched off alone (PART=history|adaptive|noise|
#                          loops|runs|scaling; DATA=FOLDER; some min)
#   make bench-history-nightly  changes in real nightly data: do they stay, are steps found (NIGHTLY=FOLDER; some min)
#   make bench-nights-why  50 regressions put into nights of a program: are kind and place named (FOLDER keeps the runs;
#                          15 min)
#   make bench-time-left   jobs that stop before their limit, replayed on series of known laws (RUNS="RUN.h5 ...")
#   make bench-stop-in-time  jobs of a private Slurm that are told to stop before their limit (half an hour)
#   make bench-adaptive    hold the adaptive kernel's loops against C and numpy (some min, idle machine)
#   make bench-ranks       100,000 ranks streamed, k-means on ranks, culprits kept (some min, 5 GB of disk)
#   make bench-scaling-real  predict measured series without their last points (DATA=FILE)
#   make scaling-cases     measure the case studies of docs/records/2026-11-scaling-cases.md again (idle machine)
#   make study-adaptive    predict the adaptive kernel on this machine: the paper's tables and figures
#                          (idle machine; QUICK=1: a tiny one, to see that it works)
#   make study-krylov      noise and pipelined Krylov solvers: the paper's tables and figures for this machine, in
#                          one page (idle machine, about 8 min; QUICK=1: a tiny one; MACHINE=NAME RANKS=N)
#   make validate          hold the models against real and simulated runs (about 10 min, idle machine)
#   make docs              build the documentation in build/docs; warnings are errors
#   make wheel             a wheel and an sdist in dist/, checked, and installed into empty environments: with every
#                          Python from 3.11 to 3.14 at hand, and with the oldest versions of what it needs
#   make tag               a git tag of the version in pyproject.toml
#   make check             lint, types, import contracts
#   make clean             remove what the demonstration made
#
# STACK=site|system|source chooses MPI and PETSc; without it the machine decides (see README).

STACK ?= auto
RANKS ?= 2
PYTHON ?= python3
BIN := .venv/bin
# Tests start Python hundreds of times: it keeps its bytecode, even where the environment forbids it.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
# Namespaces of a command's own, which end with it; for root.
ALONE := unshare --net --uts --mount --pid --fork --mount-proc
# What depends on the MPI and PETSc of a stack.
ON_STACKS = tests/setup/test_clones.py tests/harness/test_build.py \
    $(addprefix tests/mpi/test_, any_solver.py attach.py attach_fortran.py attach_linked.py \
    failures.py killed.py own_loops.py own_loops_apart.py record.py record_ksp.py recorder.py recording.py \
    solvers.py systems.py)

# Every target is a command, none a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

setup-demo:
	@$(PYTHON) setup --stack $(STACK) --extras plot,loops

setup-test:
	@$(PYTHON) setup --stack $(STACK) --extras dev slurm

setup-blas:
	@$(PYTHON) setup --stack $(STACK) --extras dev blas

setup-slurm:
	@$(PYTHON) setup --stack $(STACK) --extras dev accounts

setup-programs:
	@$(PYTHON) setup --stack $(STACK) --extras dev programs

setup-docs:
	@$(PYTHON) setup docs

demo: setup-demo
	@rm -f demo/*.h5 demo/*.part demo/*.png demo/*.html
	@$(BIN)/mpiexec -n $(RANKS) $(BIN)/hindmost run laplacian-1d --unknowns 100000 \
	    --solver gmres --solver pgmres --iterations 2000 --repeats 3 --warmup 1 --out demo > /dev/null
	@$(BIN)/hindmost plot demo/*-0.h5 > /dev/null
	@$(BIN)/hindmost report demo --out demo/report.html > /dev/null
	@echo
	@$(BIN)/hindmost fit demo
	@echo
	@echo "Look at demo/report.html in a browser: the tables, where the time of each run went, and the"
	@echo "figures of the median runs (demo/*.png: the first ones). Then: $(BIN)/hindmost show demo"

test: setup-test check
	@$(PYTEST) -n 2 --dist loadgroup

papers: setup-test
	@$(PYTEST) tests/papers -m papers

test-recorder: setup-test
	@$(PYTEST) -n 2 --dist loadgroup $(ON_STACKS)

test-blas: setup-blas
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python setup/blas.py $(if $(filter other,$(BLAS)),tests/mpi)

test-slurm: setup-slurm
	@$(BIN)/python -m pytest tests/jobs/slurm -m slurm_slow
	@if [ "$$(id -u)" = 0 ]; then $(ALONE) $(BIN)/python -m tests.jobs.two_nodes \
	    $(BIN)/python -m pytest tests/jobs/slurm/test_two_nodes.py -m slurm_slow; fi

test-pbs: setup-test
	@test -x "$(OPENPBS)/sbin/pbs_server" || { echo "Name the folder of an installed OpenPBS, with sbin/pbs_server: \
	    make test-pbs OPENPBS=FOLDER"; exit 2; }
	@$(ALONE) $(BIN)/python -m tests.jobs.pbs.server "$(OPENPBS)" \
	    $(BIN)/python -m pytest tests/jobs/pbs

test-programs: setup-programs
	@$(BIN)/python -m pytest tests/programs -m programs

test-oldest:
	@$(PYTHON) -m venv .venvs/oldest
	@.venvs/oldest/bin/python -m pip install --quiet --constraint setup/constraints/oldest.txt \
	    --editable . pytest hypothesis
	@.venvs/oldest/bin/python -m pytest tests/models

test-slow: setup-test
	@$(PYTEST) -n 2 --dist loadgroup -m slow

bench-recorder: setup-demo
	@for solver in gmres pgmres; do for ranks in 1 2; do \
	    $(BIN)/mpiexec -n $$ranks $(BIN)/python benchmarks/recorder.py $$solver || exit; done; done

bench-attach: setup-demo
	@$(BIN)/python -m benchmarks.attach

bench-terms: setup-demo
	@$(BIN)/python -m benchmarks.terms

bench-always-on: setup-demo
	@$(BIN)/python -m benchmarks.always_on

bench-delays: setup-demo
	@$(BIN)/python -m benchmarks.injected_delays

bench-bounded: setup-demo
	@$(BIN)/python -m benchmarks.bounded_records

bench-nights-why: setup-demo
	@$(BIN)/python -m benchmarks.nights_why $(FOLDER)

bench-sampling: setup-demo
	@$(BIN)/python -m benchmarks.sampling

bench-attach-ranks: setup-test
	@$(BIN)/python -m benchmarks.attach_ranks

bench-live: setup-demo
	@for solver in gmres pgmres; do for ranks in 1 2; do \
	    $(BIN)/mpiexec -n $$ranks $(BIN)/python -m benchmarks.live $$solver || exit; done; done

bench-programs: setup-demo
	@$(BIN)/python -m benchmarks.programs "$(PROGRAMS)" $(PAIRS)

bench-show: setup-demo
	@$(BIN)/python benchmarks/large_file.py

bench-pages:
	@$(BIN)/python -m benchmarks.gallery_pages "$(FOLDER)"

bench-report: setup-demo
	@PYTHONPATH=. $(BIN)/python benchmarks/large_report.py

bench-stochastic: setup-demo
	@$(BIN)/python benchmarks/stochastic.py

bench-predictions: setup-demo
	@$(BIN)/python -m benchmarks.predictions $(if $(QUICK),--quick)

bench-simulation: setup-test
	@$(BIN)/python -m benchmarks.simulation $(if $(QUICK),--quick)
	@$(BIN)/python -m benchmarks.simulation_smpi $(if $(QUICK),--quick)
	@$(BIN)/python -m benchmarks.simulation_worlds $(if $(QUICK),--quick --worlds 20)
	@$(BIN)/python -m benchmarks.simulation_messages $(if $(QUICK),2)
	@$(BIN)/python -m benchmarks.simulation_reruns $(if $(QUICK),--quick)
	@$(BIN)/python -m benchmarks.simulation_balance $(if $(QUICK),--quick)

bench-scaling: setup-demo
	@$(BIN)/python -m benchmarks.scaling_segments --extrap "$(EXTRAP)"
	@$(BIN)/python -m benchmarks.scaling_models --extrap "$(EXTRAP)"
	@$(BIN)/python -m benchmarks.scaling_several --extrap "$(EXTRAP)"

bench-scaling-real: setup-demo
	@$(BIN)/python -m benchmarks.scaling_real $(DATA)

bench-changepoints: setup-demo
	@$(BIN)/python benchmarks/changepoints.py

ablation: setup-demo
	@$(if $(filter-out history,$(PART)),true,$(BIN)/python -m benchmarks.ablation_history $(DATA))
	@$(if $(filter-out adaptive,$(PART)),true,$(BIN)/python -m benchmarks.ablation_adaptive)
	@$(if $(filter-out noise,$(PART)),true,$(BIN)/python -m benchmarks.ablation_noise $(wildcard demo/*.h5))
	@$(if $(filter-out loops,$(PART)),true,$(BIN)/python -m benchmarks.ablation_loops)
	@$(if $(filter-out runs,$(PART)),true,$(BIN)/python -m benchmarks.ablation_runs)
	@$(if $(filter-out scaling,$(PART)),true,$(BIN)/python -m benchmarks.ablation_pmnf)
	@$(if $(filter-out scaling,$(PART)),true,$(BIN)/python -m benchmarks.ablation_scaling $(DATA))

bench-history-nightly: setup-demo
	@$(BIN)/python -m benchmarks.history_nightly $(NIGHTLY)


bench-adaptive: setup-demo
	@$(BIN)/python -m benchmarks.adaptive

bench-time-left: setup-demo
	@$(BIN)/python -m benchmarks.time_left $(RUNS)

bench-stop-in-time: setup-slurm
	@$(BIN)/python -m benchmarks.stop_in_time slurm

bench-ranks: setup-demo
	@$(BIN)/python benchmarks/ranks_culprits.py
	@$(BIN)/python -m benchmarks.ranks

scaling-cases: setup-demo
	@sh examples/scaling/refresh.sh

study-adaptive: setup-demo
	@$(BIN)/python -m benchmarks.adaptive_study $(if $(QUICK),--quick --out study-adaptive-quick) \
	    $(if $(CYCLES),--cycles $(CYCLES))

study-krylov: MACHINE = local
study-krylov: setup-demo
	@$(BIN)/python -m benchmarks.krylov_study --machine $(MACHINE) --ranks $(RANKS) \
	    $(if $(QUICK),--quick --out study-krylov-quick)

validate: setup-demo
	@$(BIN)/python benchmarks/validation.py
	@echo
	@$(BIN)/python benchmarks/intervals.py

docs: setup-docs
	@.venvs/docs/bin/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Look at build/docs/index.html in a browser."

wheel:
	@$(PYTHON) setup wheel

tag:
	@$(PYTHON) setup tag

check: lint types contracts

lint:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# One run, which reads each stub once. Examples and set-up import their modules by bare names. Types of arrays are those
# of numpy 1: others declare other types.
types:
	@if $(BIN)/python -c 'import sys, numpy; sys.exit(not numpy.__version__.startswith("1."))'; then \
	    MYPYPATH=src:examples/scaling:setup $(BIN)/mypy -p hindmost -p tests -p benchmarks -m setup.__main__ \
	    $(addprefix -m ,$(filter-out __main__,$(notdir $(basename $(wildcard examples/scaling/*.py setup/*.py))))); \
	else echo "Types are checked with numpy 1 only: other versions declare other types of arrays."; fi

contracts:
	@$(BIN)/lint-imports

clean:
	rm -rf demo build dist
