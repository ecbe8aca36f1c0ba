#!/bin/sh
# MPI collectives over ranks, for Slurm or PBS: as many jobs as there are numbers of ranks, and one
# experiment from their files. As in Ilyas, Calotoiu and Wolf (2017), section 4.2, where Open MPI's
# gather was found to change its algorithm after 64 ranks.
#
#     sh examples/scaling/collectives-over-ranks.sh submit results     # one job a number of ranks
#     sh examples/scaling/collectives-over-ranks.sh gather results     # when all have ended
#     hindmost scale results/over-ranks.jsonl
#
# What may differ from site to site, with its default:
#
#     RANKS="16 32 64 128 256 512"   five are the least for a model, six for a change
#     PER_NODE=64  MINUTES=15  QUEUE= (partition or queue)
#     PYTHON=python                  one with hindmost and mpi4py
#     SCHEDULER=slurm                or pbs, or none: one after the other here, by mpiexec
#     SMALLEST=64 LARGEST=65536      bytes of a message; each size becomes a kernel of its own
#
# The library's own switch points: for Open MPI ompi_info --all | grep coll_tuned, and the decision
# function in ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of its version; for MPICH mpivars.

set -eu

RANKS="${RANKS:-16 32 64 128 256 512}"
PER_NODE="${PER_NODE:-64}"
MINUTES="${MINUTES:-15}"
QUEUE="${QUEUE:-}"
PYTHON="${PYTHON:-python}"
SCHEDULER="${SCHEDULER:-slurm}"
OPERATIONS="${OPERATIONS:-allreduce,bcast,gather,allgather}"
SMALLEST="${SMALLEST:-64}"
LARGEST="${LARGEST:-65536}"
HERE="$(cd "$(dirname "$0")" && pwd)"

usage() {
    echo "usage: $0 submit|gather FOLDER" >&2
    exit 2
}

[ $# -eq 2 ] || usage
mkdir -p "$2"
FOLDER="$(cd "$2" && pwd)"

submit_one() {
    ranks="$1"
    nodes=$(((ranks + PER_NODE - 1) / PER_NODE))
    on_node=$((ranks < PER_NODE ? ranks : PER_NODE))
    program="$PYTHON $HERE/collectives.py $FOLDER/p$ranks.txt --operations $OPERATIONS"
    program="$program --smallest $SMALLEST --largest $LARGEST --calls ${CALLS:-300}"
    case "$SCHEDULER" in
    slurm)
        sbatch --job-name="collectives-$ranks" --ntasks="$ranks" --nodes="$nodes" \
            --ntasks-per-node="$on_node" --time="$MINUTES" --exclusive \
            ${QUEUE:+--partition="$QUEUE"} --output="$FOLDER/p$ranks.out" \
            --wrap="srun $program"
        ;;
    pbs)
        printf '#!/bin/sh\ncd %s\nmpiexec -n %s %s\n' "$FOLDER" "$ranks" "$program" |
            qsub -N "collectives-$ranks" -j oe -o "$FOLDER/p$ranks.out" ${QUEUE:+-q "$QUEUE"} \
                -l "select=$nodes:ncpus=$on_node:mpiprocs=$on_node" -l place=excl \
                -l "walltime=00:$MINUTES:00"
        ;;
    none) mpiexec -n "$ranks" $program >"$FOLDER/p$ranks.out" ;;
    *)
        echo "SCHEDULER=$SCHEDULER is not known; choose slurm, pbs or none." >&2
        exit 2
        ;;
    esac
}

case "$1" in
submit) for ranks in $RANKS; do submit_one "$ranks"; done ;;
gather)
    set --
    for ranks in $RANKS; do
        if [ -f "$FOLDER/p$ranks.txt" ]; then
            set -- "$@" "$ranks=$FOLDER/p$ranks.txt"
        else
            echo "no results of $ranks ranks yet; left out" >&2
        fi
    done
    "$PYTHON" "$HERE/over_ranks.py" "$FOLDER/over-ranks.jsonl" "$@"
    ;;
*) usage ;;
esac
