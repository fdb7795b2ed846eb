/**
 * The library that scripts of public content load with `. helper`. Function and variable names are the original's; they
 * are what content calls.
 */
export const helperScript = String.raw`# Functions for scripts of tasks. Loaded with: . helper
set -o errexit -o pipefail
shopt -s nullglob extglob globstar
export LC_ALL=C LANG=C LANGUAGE=C
export DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true

for __dir in /usr/sbin /usr/bin /sbin /bin /usr/local/sbin /usr/local/bin; do
  case ":$PATH:" in
    *":$__dir:"*) ;;
    *) PATH="$PATH:$__dir" ;;
  esac
done
export PATH
unset __dir

# Describes the system: OS_TYPE=ubuntu OS_VER=22.04 OS_NAME=ubuntu-22.04 OS_FAMILY=debian
__describe_system() {
  local like=""
  OS_TYPE="" OS_VER=""
  if [[ -r /etc/os-release ]]; then
    # A subshell, since the file sets many variables.
    { read -r OS_TYPE; read -r OS_VER; read -r like; } < <(
      . /etc/os-release
      printf '%s\n%s\n%s\n' "$ID" "$VERSION_ID" "$ID_LIKE"
    ) || true
  elif [[ -r /etc/redhat-release ]]; then
    OS_TYPE=centos like=rhel
    OS_VER=$(sed -n 's/[^0-9]*\([0-9][0-9.]*\).*/\1/p' /etc/redhat-release)
  elif [[ -r /etc/debian_version ]]; then
    OS_TYPE=debian
    OS_VER=$(< /etc/debian_version)
  else
    OS_TYPE=$(uname -s) OS_VER=$(uname -r)
  fi
  OS_TYPE=$(tr A-Z a-z <<< "$OS_TYPE") OS_VER=$(tr A-Z a-z <<< "$OS_VER")
  OS_NAME="$OS_TYPE-$OS_VER"
  case " $OS_TYPE $like " in
    *" rhel "* | *" fedora "* | *" centos "* | *" redhat "* | *" scientificlinux "*) OS_FAMILY=rhel ;;
    *" debian "* | *" ubuntu "*) OS_FAMILY=debian ;;
    *) OS_FAMILY=$OS_TYPE ;;
  esac
  if command -v systemctl > /dev/null; then
    INITSTYLE=systemd
  elif command -v initctl > /dev/null; then
    INITSTYLE=upstart
  else
    INITSTYLE=sysv
  fi
  export OS_TYPE OS_VER OS_NAME OS_FAMILY INITSTYLE
}
__describe_system

# How a script ends: the agent reads these exit codes.
__sane_exit() { : > "$RS_TASK_DIR/.sane-exit-codes"; }
__exit() {
  __sane_exit
  exit "$1"
}
exit_stop() { __exit 16; }
exit_shutdown() { __exit 32; }
exit_reboot() { __exit 64; }
exit_incomplete() { __exit 128; }
exit_incomplete_shutdown() { __exit 160; }
exit_incomplete_reboot() { __exit 192; }

# get_param NAME: the value as JSON, from the machine or where it inherits from
get_param() { drpcli machines get "$RS_UUID" param "$1" --aggregate; }

# set_param NAME [VALUE]: without a value it is read from standard input
set_param() {
  if [[ -z $2 ]]; then set -- "$1" -; fi
  drpcli machines set "$RS_UUID" param "$1" to "$2"
}

# if_update_needed COMMAND...: runs it unless it ran in the last day
if_update_needed() {
  local mark=/tmp/pkg_cache_update
  if [[ -z $(find "$mark" -mmin -1440 2> /dev/null) ]]; then
    "$@"
    : > "$mark"
  fi
}

install() {
  case $OS_FAMILY in
    rhel)
      if_update_needed yum -y makecache
      yum -y install "$@"
      ;;
    debian)
      if_update_needed apt-get -y update
      apt-get -y install "$@"
      ;;
    alpine)
      if_update_needed apk update
      apk add "$@"
      ;;
    *)
      echo "cannot install packages on $OS_NAME" >&2
      return 1
      ;;
  esac
}

# service NAME VERB, where the verb may also be enable or disable
service() {
  local name=$1 verb=$2
  if [[ $INITSTYLE == systemd ]]; then
    systemctl "$verb" "$name.service"
  elif [[ $verb == enable || $verb == disable ]]; then
    if command -v chkconfig > /dev/null; then
      chkconfig "$name" "$([[ $verb == enable ]] && echo on || echo off)"
    elif command -v rc-update > /dev/null; then
      rc-update "$([[ $verb == enable ]] && echo add || echo del)" "$name"
    else
      update-rc.d "$name" "$verb"
    fi
  elif [[ -x /etc/init.d/$name ]]; then
    "/etc/init.d/$name" "$verb"
  else
    command service "$name" "$verb"
  fi
}

# addr_port ADDRESS PORT: ADDRESS:PORT, with brackets around IPv6 addresses
addr_port() {
  case $1 in
    *:*) echo "[$1]:$2" ;;
    *) echo "$1:$2" ;;
  esac
}
`;
