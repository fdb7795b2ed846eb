import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { Task } from "../../contract.ts";

/** Programs that change a child's view of the file system, as absolute paths because they run as root. */
export interface NamespaceTools {
  readonly unshare: string;
  readonly mount: string;
  readonly setpriv: string;
  readonly shell: string;
}

export interface HostCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The user the kernel switches to; absent if the command does it itself. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Descriptor 3 is a pipe for the reason of a failed preparation; the exit code is then 125. */
  readonly reportsOn3: boolean;
}

const systemPath = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/**
 * The tools, or why mounts are impossible, as a sentence. Namespaces need Linux, mounts root. A container that forbids
 * unshare(2) is noticed by the first task that needs it.
 */
export async function findNamespaceTools(): Promise<NamespaceTools | string> {
  if (process.platform !== "linux") return "mount namespaces exist on Linux only";
  if (process.getuid?.() !== 0) return "mounting needs root";
  const names = ["unshare", "mount", "setpriv", "sh"] as const;
  const [unshare, mount, setpriv, shell] = await Promise.all(names.map(findProgram));
  if (unshare && mount && setpriv && shell) return { unshare, mount, setpriv, shell };
  return "unshare, mount and setpriv of util-linux are needed";
}

/** Independent of PATH. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const directory of systemPath) {
    const path = join(directory, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

// Arguments: working directory, then source, target, ro|rw of each mount, then --, then the command. The program is replaced
// at every step, so the process keeps the pid that it was spawned with. Descriptor 3 is closed before the command starts.
// Nothing of the task becomes text of the script: paths with spaces, quotes or dollars are arguments like any other.
// A read-only bind needs a second mount(2): the kernel ignores the flag when the bind is made.
const script = (tools: NamespaceTools): string => `
directory=$1; shift
while [ "$1" != -- ]; do
  message=$(${tools.mount} --bind "$1" "$2" 2>&1) || { echo "$message" >&3; exit 125; }
  if [ "$3" = ro ]; then message=$(${tools.mount} -o remount,bind,ro "$2" 2>&1) || { echo "$message" >&3; exit 125; }; fi
  shift 3
done
shift
message=$(cd "$directory" 2>&1) || { echo "$message" >&3; exit 125; }
cd "$directory"
exec "$@" 3>&-`;

/**
 * How to start a task: directly, or inside a private mount namespace when it has mounts. Pure.
 *
 *     unshare --mount … sh -c SCRIPT slipway DIR  SRC DST ro  …  -- setpriv --reuid=… -- PROGRAM ARGS…
 */
export function hostCommand(task: Task, tools: NamespaceTools | undefined): HostCommand {
  const [program, ...args] = task.command;
  const user = task.user;
  if (tools === undefined || (task.mounts ?? []).length === 0) {
    return { program, args, cwd: task.workingDirectory, ...(user === undefined ? {} : { user }), reportsOn3: false };
  }
  const mounts = (task.mounts ?? []).flatMap((mount) => [mount.source, mount.target, mount.readOnly ? "ro" : "rw"]);
  const asUser =
    user === undefined ? [] : [tools.setpriv, `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", "--"];
  const inside = [task.workingDirectory, ...mounts, "--", ...asUser, program, ...args];
  return {
    program: tools.unshare,
    args: ["--mount", "--propagation", "private", "--", tools.shell, "-c", script(tools), "slipway", ...inside],
    cwd: "/",
    reportsOn3: true,
  };
}
