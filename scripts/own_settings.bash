# shellcheck shell=bash
# Sourced by what is about this machine alone, whatever the caller's settings are, and whatever job it is part of. What
# tests are told (STRETTO_TEST_*) stays.

for variable in "${!STRETTO_@}" "${!PMI@}" "${!OMPI_@}" "${!SLURM_@}"; do
  [[ "$variable" == STRETTO_TEST_* ]] || unset "$variable"
done
