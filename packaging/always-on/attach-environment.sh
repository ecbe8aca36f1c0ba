#!/bin/sh
# Prints the environment in which MPI programs are recorded into a folder, as lines "export NAME=value", or nothing:
#   attach-environment.sh FOLDER KEY
# Processes with the same FOLDER and KEY share what the first of them prepares; the others wait for it, 20 s at most.
hindmost=${HINDMOST_COMMAND:-hindmost}
ready=$1/.environment-$2
{
  mkdir -p "$1" || exit 0
  if mkdir "$ready.lock"; then
    timeout 20 "$hindmost" attach --print env --out "$1" > "$ready.part" < /dev/null && mv "$ready.part" "$ready"
    rmdir "$ready.lock"
  fi
  waited=0
  while [ ! -s "$ready" ] && [ -d "$ready.lock" ] && [ $waited -lt 100 ]; do
    sleep 0.2
    waited=$((waited + 1))
  done
  [ -s "$ready" ] && . "$ready"
} > /dev/null 2>&1
[ -n "${HINDMOST_ATTACH:-}" ] || exit 0
echo "export LD_PRELOAD=$LD_PRELOAD"
echo "export HINDMOST_ATTACH=$HINDMOST_ATTACH"
