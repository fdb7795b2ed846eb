import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { RuntimeCapabilities, Task } from "../../contract.ts";

/** Programs that set up a mount namespace, by absolute path: PATH does not decide what runs as root. */
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
  /** The user to spawn the child as; absent if the command switches by itself. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** If preparation fails, its message is written to descriptor 3 and the exit code is 125. */
  readonly reportsOn3: boolean;
}

const systemPath = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** The tools, or why mounts are impossible. The first task notices a container that forbids unshare(2). */
export async function findNamespaceTools(): Promise<NamespaceTools | string> {
  if (process.platform !== "linux") return "mount namespaces exist on Linux only";
  if (process.getuid?.() !== 0) return "mounting needs root";
  const names = ["unshare", "mount", "setpriv", "sh"] as const;
  const [unshare, mount, setpriv, shell] = await Promise.all(names.map(findProgram));
  if (unshare && mount && setpriv && shell) return { unshare, mount, setpriv, shell };
  return "unshare, mount and setpriv of util-linux are needed";
}

/** Looks for the tools at the first call only. */
export function onceFoundTools(): () => Promise<NamespaceTools | string> {
  let found: Promise<NamespaceTools | string> | undefined;
  return () => (found ??= findNamespaceTools());
}

/** What host processes can be given. Images and limits need a container. */
export const capabilitiesWith = (tools: NamespaceTools | string): RuntimeCapabilities => ({
  images: false,
  mounts: typeof tools === "string" ? { supported: false, reason: tools } : { supported: true },
  users: process.getuid?.() === 0,
  limits: false,
});

/** Finds a program in the system's directories, whatever PATH is. */
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

// Arguments: working directory, then source, target, ro|rw of each mount, then --, then the command. Each step replaces
// the program, so the pid stays. Nothing of the task becomes script text. A read-only bind needs a second mount(2): the
// kernel ignores the flag on the first.
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
 * How to start a task: directly, or in a private mount namespace if it has mounts. Pure.
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
