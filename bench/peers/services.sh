#!/usr/bin/env bash
# Starts private servers for the peers, on loopback, with durable settings, each below its own directory.
#   services.sh start pg|redis|restate|etcd DIRECTORY PORT     prints the process id when the server answers
# Whoever started a server ends it, by that id.
set -eu
NAME=$2 D=$3 PORT=$4
HERE=$(cd "$(dirname "$0")" && pwd)

die() { echo "$*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || die "$1 is not installed ($2)"; }
until_answers() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; tail -5 "$D/log" >&2; die "$NAME does not answer"; }

start_pg() {
  local bin; bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1) || true
  [ -n "$bin" ] || bin=$(dirname "$(command -v postgres || die 'PostgreSQL is not installed (apt-get install postgresql)')")
  # PostgreSQL refuses to run as root.
  local as=(); [ "$(id -u)" != 0 ] || { as=(runuser -u postgres --); chown postgres "$D"; }
  "${as[@]}" "$bin/initdb" -D "$D/data" -A trust -U postgres -E UTF8 >/dev/null
  cat >>"$D/data/postgresql.conf" <<CONF
listen_addresses='127.0.0.1'
port=$PORT
unix_socket_directories=''
max_connections=300
shared_buffers=512MB
fsync=on
synchronous_commit=on
max_wal_size=4GB
CONF
  "${as[@]}" "$bin/postgres" -D "$D/data" >"$D/log" 2>&1 </dev/null &
  until_answers "$bin/pg_isready" -q -h 127.0.0.1 -p "$PORT"
  "$bin/psql" -h 127.0.0.1 -p "$PORT" -U postgres -qc 'create database bench'
  head -1 "$D/data/postmaster.pid"
}

start_redis() {
  need redis-server 'apt-get install redis-server'
  redis-server --port "$PORT" --bind 127.0.0.1 --dir "$D" --appendonly yes --appendfsync always --save '' >"$D/log" 2>&1 </dev/null &
  local pid=$!
  until_answers redis-cli -p "$PORT" ping
  echo $pid
}

# Takes PORT for calls, PORT+1 for administration and PORT+2 for itself.
start_restate() {
  local bin; bin=$(ls "$HERE"/node_modules/@restatedev/restate-server-*/bin/restate-server 2>/dev/null | head -1)
  [ -n "$bin" ] || die 'restate-server is not installed (npm ci in bench/peers)'
  cat >"$D/restate.toml" <<CONF
base-dir = "$D/data"
disable-telemetry = true
bind-address = "127.0.0.1:$((PORT + 2))"
advertised-address = "http://127.0.0.1:$((PORT + 2))/"
[ingress]
bind-address = "127.0.0.1:$PORT"
[admin]
bind-address = "127.0.0.1:$((PORT + 1))"
CONF
  RUST_LOG=warn "$bin" --node-name n1 --config-file "$D/restate.toml" >"$D/log" 2>&1 </dev/null &
  local pid=$!
  until_answers curl -sf "http://127.0.0.1:$((PORT + 1))/health"
  echo $pid
}

# Takes PORT for clients and PORT+1 for its own kind.
start_etcd() {
  need etcd 'apt-get install etcd-server'
  etcd --data-dir "$D/data" --listen-client-urls "http://127.0.0.1:$PORT" --advertise-client-urls "http://127.0.0.1:$PORT" \
    --listen-peer-urls "http://127.0.0.1:$((PORT + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((PORT + 1))" \
    --initial-cluster "default=http://127.0.0.1:$((PORT + 1))" --quota-backend-bytes 8589934592 >"$D/log" 2>&1 </dev/null &
  local pid=$!
  until_answers curl -sf "http://127.0.0.1:$PORT/health"
  echo $pid
}

[ "$1" = start ] || die "usage: $0 start pg|redis|restate|etcd DIRECTORY PORT"
mkdir -p "$D"
"start_$NAME"
